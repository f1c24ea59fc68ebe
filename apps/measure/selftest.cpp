// ocellus selftest: tests of the library on this machine, against results that the program holds.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "apps/common/common.h"
#include "apps/common/device_list.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"
#include "apps/common/threads.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "apps/io/video.h"
#include "apps/measure/junit.h"
#include "apps/measure/machine.h"
#include "apps/measure/selftest_cases.h"
#include "ocellus/cpus.h"

namespace ocellus::app {
namespace {

using SelfTestJson = nlohmann::ordered_json;
using SelfTestClock = std::chrono::steady_clock;

/// Values of the command line.
struct SelfTestCommand {
  std::vector<std::string> only;
  std::string junit;
  std::string results;  ///< file with stored results; empty: those in the program
  std::string write_results;
  bool list = false;
  bool full = false;
  bool json = false;
};

struct SkippedTest {
  std::string reason;
};
struct FailedTest {
  std::string reason;
};

struct SelfTest {
  std::string name;
  std::string fails_when;
  /// Returns a note. Throws FailedTest, SkippedTest and what the program throws.
  std::function<std::string()> run;
};

struct TestedResult {
  const char* word = "passed";
  std::string note;
  double ms = 0.0;
};

void fail_if(bool wrong, const std::string& reason) {
  if (wrong) throw FailedTest{reason};
}

SelfTestJson read_results(const SelfTestCommand& o) {
  if (o.results.empty()) return stored_selftest_results();
  InputText file(o.results);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return json_object(text);
  } catch (const InputError& error) {
    throw InputError(o.results + ": " + error.what());
  }
}

/// A member of the stored results. Skips the test if it is missing, as for a new operator.
SelfTestJson stored_member(const SelfTestJson& stored, std::initializer_list<std::string> path) {
  SelfTestJson found = stored;
  for (const std::string& name : path) {
    if (!found.is_object() || !found.contains(name))
      throw SkippedTest{fmt::format("no result of {} is stored", fmt::join(path, " "))};
    found = SelfTestJson(found[name]);
  }
  return found;
}

EngineConfig with_workers(EngineConfig engine, int workers) {
  engine.workers = workers;
  return engine;
}

/// What the process holds of the system.
struct ProcessUse {
  long resident_kb = 0;
  long descriptors = 0;

  static ProcessUse now() {
    ProcessUse use;
#ifdef __GLIBC__
    malloc_trim(0);  // what the allocator keeps of freed memory depends on the order of the calls
#endif
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;  // the second number
    use.resident_kb = pages * (sysconf(_SC_PAGESIZE) / 1024);
    use.descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    return use;
  }
};

/// The memory that the system keeps of each thread that has ended: none, but an emulator of another
/// processor does (qemu-user 7.2: 280 kB).
long kept_of_thread_kb() {
  constexpr long kThreads = 64;
  const auto run = [] {
    for (long i = 0; i < kThreads; ++i) std::thread([] {}).join();
  };
  run();  // the allocator reaches its size
  const ProcessUse before = ProcessUse::now();
  run();
  return (ProcessUse::now().resident_kb - before.resident_kb) / kThreads;
}

/// Starts and ends an engine with one operator after the other: 1,000 times with --full, else for
/// two seconds.
std::string start_and_stop(const std::vector<SelfTestCase>& cases, const EngineConfig& engine,
                           bool full) {
  constexpr long kMostGrowthKb = 4096;
  constexpr long kLeastKeptKb = 16;
  const auto start = [&](std::size_t i) {
    const SelfTestCase& tested = cases[i % cases.size()];
    OperatorRun run(engine, tested.config);
    run.op().step(tested.clip.frames[0].view(0, 0));
  };
  // The allocator reaches its size in the first rounds.
  for (std::size_t i = 0; i < 3 * cases.size(); ++i) start(i);
  const ProcessUse before = ProcessUse::now();
  const SelfTestClock::time_point end = SelfTestClock::now() + std::chrono::seconds(2);
  std::size_t count = 0;
  while (full ? count < 1000 : count < cases.size() || SelfTestClock::now() < end) start(count++);
  const ProcessUse after = ProcessUse::now();
  const long growth = after.resident_kb - before.resident_kb;
  std::string note = fmt::format("{} starts, memory {:+} kB", count, growth);
  if (const long kept = kept_of_thread_kb(); kept >= kLeastKeptKb)
    note += fmt::format(", not tested: this system keeps {} kB of each thread that ended", kept);
  else
    fail_if(growth > kMostGrowthKb, note);
  fail_if(after.descriptors != before.descriptors,
          fmt::format("{}, {} file descriptors before and {} after", note, before.descriptors,
                      after.descriptors));
  return note;
}

/// Ends each operator, and then each engine before its operator, while frames are in flight.
std::string end_in_flight(const std::vector<SelfTestCase>& cases, const EngineConfig& engine) {
  constexpr int kFrames = 4;
  int ended = 0;
  for (const SelfTestCase& tested : cases) {
    for (const bool engine_first : {false, true}) {
      OperatorConfig config = tested.config;
      take(config.set_option("depth", std::to_string(kFrames)));
      const OperatorInfo info = info_of(config);
      const ResultLayout layout(info, false);
      std::vector<std::vector<char>> planes(kFrames, std::vector<char>(layout.bytes()));
      std::vector<std::vector<std::uint64_t>> records(
          kFrames, std::vector<std::uint64_t>(info.record == nullptr ? 1 : kMaxRecordBytes / 8));
      std::optional<Engine> own = take(create_engine(engine, {config}));
      OperatorHandle op = take(config.create(*own));
      for (std::size_t i = 0; i < kFrames; ++i, ++ended) {
        OperatorOutput output = layout.output(planes[i].data(), MemorySpace::kHost);
        if (info.record != nullptr) output.record = records[i].data();
        take(op.submit(tested.clip.frames[i % 2].view(i, 0), output));
      }
      if (engine_first) own.reset();
    }
  }
  return fmt::format("{} frames in flight", ended);
}

/// The operators on eight engines, each in a thread of its own.
std::string in_threads(const std::vector<SelfTestCase>& cases, const EngineConfig& engine) {
  constexpr int kThreads = 8;
  std::vector<std::uint64_t> alone;
  for (const SelfTestCase& tested : cases)
    alone.push_back(selftest_result(tested, engine).checksum);
  run_on_threads(kThreads, [&](int thread) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::size_t own = (i + static_cast<std::size_t>(thread)) % cases.size();
      fail_if(selftest_result(cases[own], engine).checksum != alone[own],
              cases[own].name + ": another result than alone");
    }
  });
  return fmt::format("{} engines in each of {} threads", cases.size(), kThreads);
}

std::string run_element(const std::string& op) {
  constexpr int kFrames = 3;
  const std::string text = fmt::format(
      "videotestsrc num-buffers={} ! video/x-raw,format=GRAY8,width=96,height=64 ! ocellus{}",
      kFrames, op);
  int frames = 0;
  try {
    const std::unique_ptr<FrameSource> source = open_pipeline(text, {});
    for (InputFrame frame; source->next(frame);) ++frames;
  } catch (const InputError& error) {
    for (const char* missing : {"no element", "need GStreamer", "cannot be initialized"})
      if (std::string_view(error.what()).find(missing) != std::string_view::npos)
        throw SkippedTest{error.what()};
    throw;
  }
  fail_if(frames != kFrames, fmt::format("{} of {} frames came", frames, kFrames));
  return counted(frames, "frame");
}

/// Information: the ratio depends on the processor and on what else it does.
std::string measure_budget(const SelfTestCase& tested, const SelfTestJson& stored) {
  const std::string simd = cpu_device({}).info.simd_target;
  const double found = selftest_ratio(tested);
  const std::string note = fmt::format("{:.3g} times the fixed work", found);
  try {
    const auto ratio = stored_member(stored, {"budgets", simd, tested.name}).get<double>();
    return fmt::format("{}, {:.2f} of the stored {:.3g}", note, found / ratio, ratio);
  } catch (const SkippedTest& missing) {
    return fmt::format("{}; {}", note, missing.reason);
  }
}

/// Writes the results and the times of this machine, in the form of selftest_results.json.
void write_results(const std::string& path, const std::vector<SelfTestCase>& cases) {
  require_writable(path);
  constexpr int kMeasurements = 5;
  const ListedDevice cpu = cpu_device({});
  SelfTestJson budgets = stored_selftest_results().value("budgets", SelfTestJson::object());
  SelfTestJson& own = budgets[cpu.info.simd_target] = SelfTestJson::object();
  std::string text = fmt::format("{{\"frames\": \"{}\",\n\"cases\": {{", selftest_frames(cases));
  const char* separator = "\n";
  for (const SelfTestCase& tested : cases) {
    text += fmt::format("{}\"{}\": {}", std::exchange(separator, ",\n"), tested.name,
                        json_line(selftest_result(tested, cpu.engine).values));
    std::vector<double> ratios;
    for (int i = 0; i < kMeasurements; ++i) ratios.push_back(selftest_ratio(tested));
    own[tested.name] = std::stod(fmt::format("{:.3g}", percentile(ratios, 50.0)));
  }
  text += fmt::format("}},\n\"budgets\": {}}}\n", json_line(budgets));
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

std::vector<SelfTest> all_selftests(const SelfTestCommand& o,
                                    const std::vector<SelfTestCase>& cases,
                                    const SelfTestJson& stored) {
  std::vector<SelfTest> tests;
  const auto add = [&tests](std::string name, std::string fails_when,
                            std::function<std::string()> run) {
    tests.push_back({std::move(name), std::move(fails_when), std::move(run)});
  };
  add("frames", "the synthetic frames differ from those of the stored results", [&] {
    const std::string difference = selftest_difference(
        stored_member(stored, {"frames"}), selftest_frames(cases), "the checksum of the frames");
    fail_if(!difference.empty(), difference);
    return std::string();
  });
  std::vector<ListedDevice> devices = cuda_devices({});
  devices.insert(devices.begin(), cpu_device({}));
  for (const ListedDevice& device : devices) {
    const EngineConfig engine = device.engine;
    const bool cpu = device.info.backend == BackendKind::kCpu;
    for (const SelfTestCase& tested : cases) {
      add(fmt::format("conformance.{}.{}", tested.name, device.name),
          "a result differs from the stored one by more than the stored tolerance", [&, engine] {
            const SelfTestJson expected = stored_member(stored, {"cases", tested.name});
            const std::string difference =
                selftest_difference(expected, selftest_result(tested, engine).values, tested.name);
            fail_if(!difference.empty(), difference);
            return std::string();
          });
      add(fmt::format("determinism.{}.{}", tested.name, device.name),
          cpu ? "a bit of a result depends on the number of workers or on the run"
              : "a bit of a result depends on the run",
          [&, engine, cpu] {
            std::vector<int> workers = {engine.workers, engine.workers};
            if (cpu) workers.insert(workers.end(), {1, 2, 3, usable_cpus().count});
            std::optional<std::uint64_t> first;
            for (const int count : workers) {
              const std::uint64_t sum =
                  selftest_result(tested, with_workers(engine, count)).checksum;
              fail_if(sum != first.value_or(sum),
                      fmt::format("another result with {} workers", count));
              first = sum;
            }
            return std::string();
          });
    }
    add("lifecycle.starts." + device.name,
        "an engine does not start or end, or memory or file descriptors are left",
        [&, engine] { return start_and_stop(cases, engine, o.full); });
    add("lifecycle.in_flight." + device.name,
        "an operator or its engine does not end while frames are in flight",
        [&, engine] { return end_in_flight(cases, engine); });
    add("lifecycle.threads." + device.name, "engines in eight threads disturb one another",
        [&, engine] { return in_threads(cases, engine); });
  }
  for (const SelfTestCase& tested : cases) {
    add("budget." + tested.name, "frames cannot be computed; their time is information",
        [&] { return measure_budget(tested, stored); });
  }
  for (const SelfTestCase& tested : cases) {
    if (!tested.is_default()) continue;
    add("element." + tested.name, "the element of GStreamer does not pass on each frame",
        [&] { return run_element(tested.name); });
  }
  return tests;
}

/// Whether the test has one of these names, or one of them and further parts behind it.
bool is_named(const std::string& test, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return test == name || test.rfind(name + ".", 0) == 0;
         });
}

TestedResult run_selftest(const SelfTest& test) {
  TestedResult result;
  const SelfTestClock::time_point begin = SelfTestClock::now();
  try {
    result.note = test.run();
  } catch (const SkippedTest& skipped) {
    result = {"skipped", skipped.reason};
  } catch (const FailedTest& failed) {
    result = {"failed", failed.reason};
  } catch (const Stopped&) {
    throw;
  } catch (const std::exception& error) {
    result = {"failed", error.what()};
  }
  result.ms = std::chrono::duration<double, std::milli>(SelfTestClock::now() - begin).count();
  return result;
}

int run_selftests(const SelfTestCommand& o) {
  const std::vector<SelfTestCase> cases = selftest_cases();
  if (!o.write_results.empty()) {
    write_results(o.write_results, cases);
    return kDone;
  }
  if (!o.junit.empty()) require_writable(o.junit);
  const SelfTestJson stored = read_results(o);
  std::vector<SelfTest> tests = all_selftests(o, cases, stored);
  for (const std::string& name : o.only) {
    if (std::none_of(tests.begin(), tests.end(),
                     [&](const SelfTest& test) { return is_named(test.name, {name}); }))
      throw InputError(fmt::format("--only {}: there is no such test; --list prints all",
                                   printable(name, kMostOfValue)));
  }
  std::erase_if(tests, [&](const SelfTest& test) { return !is_named(test.name, o.only); });

  SelfTestJson report = {{"version", version()},
                         {"cpu", cpu_name()},
                         {"simd", cpu_device({}).info.simd_target},
                         {"tests", SelfTestJson::array()},
                         {"passed", 0},
                         {"failed", 0},
                         {"skipped", 0}};
  for (const SelfTest& test : tests) {
    if (o.list) {
      if (o.json)
        report["tests"].push_back({{"name", test.name}, {"fails_when", test.fails_when}});
      else
        fmt::print("{:<32} fails when {}\n", test.name, test.fails_when);
      continue;
    }
    const TestedResult result = run_selftest(test);
    report[result.word] = report[result.word].get<int>() + 1;
    report["tests"].push_back({{"name", test.name},
                               {"fails_when", test.fails_when},
                               {"result", result.word},
                               {"ms", result.ms},
                               {"note", result.note}});
    if (o.json) continue;
    fmt::print("{:<7} {:>7.0f} ms  {:<32} fails when {}\n", result.word, result.ms, test.name,
               test.fails_when);
    if (!result.note.empty()) fmt::print("{:>20} {}\n", "", printable(result.note));
    std::fflush(stdout);
  }
  if (o.json) print_json(report);
  if (o.list) return kDone;
  if (!o.json) {
    fmt::print("{} passed, {} failed, {} skipped\n", report["passed"].dump(),
               report["failed"].dump(), report["skipped"].dump());
  }
  if (!o.junit.empty()) write_junit(o.junit, "ocellus selftest", report["tests"]);
  return report["failed"] == 0 ? kDone : kAnswerIsNo;
}

}  // namespace

void add_selftest_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "selftest", "Test the operators on this machine against stored results");
  const auto o = std::make_shared<SelfTestCommand>();
  command
      ->add_option("--only", o->only,
                   "Run this test, or those whose names begin with this and a period, such as "
                   "conformance.flow; may be given several times")
      ->allow_extra_args(false);
  command->add_flag("--list", o->list, "Print the tests and when they fail, and run none");
  command->add_flag("--full", o->full, "Start and end engines 1,000 times");
  command->add_option("--junit", o->junit, "File for a report in the form of JUnit");
  command->add_option("--results", o->results,
                      "JSON file with stored results in place of the program's");
  command->add_option("--write-results", o->write_results,
                      "Write the results and times of this machine to a file for --results; run no "
                      "test");
  add_json_option(*command, o->json);
  command->footer("Exits with code 1 if a test fails.");
  command->callback([command, o, &exit_code] {
    const std::vector<const char*> of_tests = {"--junit", "--full"};
    check_options(*command, {{o->list, of_tests, "--list runs no test"},
                             {!o->write_results.empty(), of_tests, "--write-results runs no test"},
                             {!o->write_results.empty(),
                              {"--list", "--only", "--results", "--json"},
                              "--write-results runs no test"}});
    exit_code = run_selftests(*o);
  });
}

}  // namespace ocellus::app
