// ocellus latency: runs operators at a camera's frame rate or back to back, and checks a latency
// budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/json_sink.h"
#include "apps/common/operator_options.h"
#include "apps/common/operator_text.h"
#include "apps/common/printable.h"
#include "apps/io/frames.h"
#include "apps/io/output_file.h"
#include "apps/measure/clip.h"
#include "apps/measure/latency_report.h"
#include "apps/measure/machine.h"
#include "apps/measure/miss_trace.h"
#include "apps/neocognitron/recognition_report.h"

namespace ocellus::app {
namespace {

// ---- arguments

/// The kinds of memory to measure, each once, in the order host, pinned, device.
std::vector<MemorySpace> parse_memory(const std::string& text, bool on_cpu) {
  constexpr MemorySpace kSpaces[] = {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda};
  std::vector<std::string> names = split(text, ',');
  if (text == "auto") {
    names = {"host"};
    if (!on_cpu) names.emplace_back("device");
  } else if (text == "all") {
    names = {"host"};
    if (!on_cpu) names.insert(names.end(), {"pinned", "device"});
  }
  for (const std::string& name : names) {
    if (name != "host" && name != "pinned" && name != "device") {
      throw InputError(fmt::format(
          "--memory is '{}'; it must be auto, all, or a list of host, pinned and device, separated "
          "by commas",
          text));
    }
    if (on_cpu && name != "host") {
      throw InputError(fmt::format(
          "--memory {}: the backend is cpu, which has host memory only; use --memory host, or "
          "--backend cuda where a device is available",
          text));
    }
  }
  std::vector<MemorySpace> spaces;
  for (const MemorySpace space : kSpaces) {
    if (std::find(names.begin(), names.end(), memory_name(space)) != names.end())
      spaces.push_back(space);
  }
  return spaces;
}

/// The operator whose options are also options of the command line.
constexpr const char* kCommandLineOperator = "flow";

std::vector<OperatorText> parse_chain(const std::string& text,
                                      const OperatorOptions& of_command_line) {
  std::vector<OperatorText> links;
  for (const std::string& part : split(text, '!'))
    links.push_back(parse_operator_text("--pipeline", part, &of_command_line));
  const bool taken = std::any_of(links.begin(), links.end(), [](const OperatorText& link) {
    return link.name == kCommandLineOperator;
  });
  if (const OptionTexts given = of_command_line.given(); !taken && !given.empty()) {
    const Option& option = *find_option(of_command_line.description().options, given.front().first);
    throw InputError(fmt::format(
        "{} has no meaning here: it applies to the operator {}, which --pipeline does not contain; "
        "give options of other operators in --pipeline, as in \"halftone preset=fast\"",
        flag_of(option), kCommandLineOperator));
  }
  return links;
}

/// What the first operator that reads characters must read. Nothing if no operator does, or if the
/// characters of the frames are not known.
std::optional<ExpectedReading> expected_reading(const std::vector<OperatorConfig>& operators,
                                                const Clip& clip) {
  if (clip.texts.empty()) return std::nullopt;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    const auto* const config = operators[op].get_if<NeocognitronConfig>();
    if (config == nullptr) continue;
    const CharacterNames names(config->model.c_str());
    ExpectedReading expected;
    expected.op = op;
    for (const std::string& text : clip.texts) {
      std::vector<std::int32_t>& labels = expected.labels.emplace_back();
      for (const char character : text) labels.push_back(names.find(std::string(1, character)));
    }
    return expected;
  }
  return std::nullopt;
}

int run_latency(const CLI::App& command, const LatencyCommand& o) {
  const std::vector<OperatorText> links = parse_chain(o.pipeline, o.flow);
  if (!o.plot.empty() && file_extension(o.plot) != ".svg")
    throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o.plot));
  check_distinct_outputs({{"--plot", o.plot},
                          {"--samples", o.samples},
                          {"--break-on-miss", o.break_on_miss},
                          {"--json-to", json_target()},
                          {"--metrics", o.common.metrics}});
  std::string input = o.input;
  if (input.empty()) {
    const ImageSize size = parse_size(o.size.empty() ? "640x480" : o.size, "--size");
    input = fmt::format("test:{}x{},frames=60", size.width, size.height);
  }

  LatencyPlan plan{o};
  plan.engine = engine_config(o.common);
  plan.engine.realtime_priority = o.realtime_priority;
  plan.engine.lock_memory = o.lock_memory;
  plan.engine.workers_only = o.workers_only;
  const EngineInfo info = take(Engine::probe(plan.engine), "engine");
  const bool on_cpu = info.backend == BackendKind::kCpu;
  const std::vector<MemorySpace> spaces = parse_memory(o.memory, on_cpu);
  check_options(
      command,
      {{on_cpu, {"--wait"}, "it sets how to wait for a CUDA device, and the backend is cpu"},
       {on_cpu,
        {"--zero-copy"},
        "the backend is cpu, which uses frames and results where they lie"},
       {on_cpu && o.copy_threads > 0,
        {"--copy-threads"},
        "the backend is cpu, which copies nothing"}});
  if (o.wait == "yield") plan.engine.device_wait = DeviceWait::kYield;
  if (o.wait == "block") plan.engine.device_wait = DeviceWait::kBlock;
  if (o.copy_threads > 0 && spaces.front() != MemorySpace::kHost) {
    throw InputError(fmt::format(
        "--copy-threads has no meaning with --memory {}: these threads copy from and to ordinary "
        "memory (--memory host)",
        o.memory));
  }
  plan.engine.device_copy_threads = o.copy_threads;
  const Clip clip =
      read_clip(input, o.source, {{}, static_cast<std::size_t>(o.frames), std::size_t{256} << 20});
  const GrayImage& first = clip.frames.front();
  std::vector<OperatorInfo> infos;
  for (const OperatorText& link : links) {
    plan.names.push_back(link.name);
    OperatorConfig& config = plan.operators.emplace_back(link.config);
    config.set_input(first.size, first.format);
    try {
      infos.push_back(info_of(config));
    } catch (const InputError& error) {
      throw InputError(link.in_context(error.what()));
    }
  }
  plan.frames = &clip.frames;
  plan.reading = expected_reading(plan.operators, clip);
  if (o.budget_ms > 0.0)
    plan.budget_ns = std::llround(o.budget_ms * 1e6);
  else if (!o.back_to_back)
    plan.budget_ns = std::llround(1e9 / o.fps);

  Monitor monitor(o.common.metrics, input);
  plan.monitor = &monitor;
  for (std::size_t op = 0; op < links.size(); ++op)
    plan.metrics.push_back(
        &monitor.add_operator(links[op].name, device_name(info), links[op].text));
  json_sink();  // a bad target is an error before the measurement
  std::optional<SampleFile> samples;
  if (!o.samples.empty()) plan.samples = &samples.emplace(o.samples);

  std::optional<MissTrace> trace;
  if (!o.break_on_miss.empty()) {
    if (!plan.budget_ns)
      throw InputError("--break-on-miss needs a budget: give --budget-ms, or no --back-to-back");
    require_writable(o.break_on_miss);
    plan.trace = &trace.emplace(o.break_on_miss);
  }

  const GpuMeter meter = gpu_meter(info);
  LatencyReport report{o, plan, clip, meter, std::move(infos), named_files(plan.operators), {}};
  {
    const StopsEarly stops_early;
    for (const MemorySpace space : spaces) {
      plan.title = fmt::format("{} {}, {} memory", o.pipeline, report.pace(), memory_name(space));
      auto run = measure_latency(plan, space, meter);
      const std::int64_t due = run->due();
      const bool missed = run->stopped_at_miss;
      if (run->measured > 0) report.runs.push_back(std::move(run));
      if (missed) {
        tell(fmt::format("ocellus: stopped at frame {}, which missed its deadline; written: {}\n",
                         due - 1, printable(o.break_on_miss)));
        break;
      }
      if (due == o.frames) continue;
      tell(fmt::format("ocellus: interrupted after {} of {} frames{}{}\n", due, o.frames,
                       spaces.size() > 1 ? fmt::format(" in {} memory", memory_name(space)) : "",
                       !report.runs.empty() ? "; the report covers these frames"
                                            : "; there is nothing to report"));
      break;
    }
    monitor.stopping();
  }
  if (report.runs.empty()) return kAnswerIsNo;
  if (samples) samples->commit();
  const bool good = report.good(spaces.size());
  if (!o.plot.empty()) plot_report(report);
  if (o.common.json)
    print_json(report_json(report, good));
  else
    print_report(report);
  return good ? kDone : kAnswerIsNo;
}

}  // namespace

void add_latency_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("latency",
                             "Run operators at a camera's frame rate or back to back, and check a "
                             "latency budget (exit code 1 if missed)");
  command->footer(
      "The latency of a frame is the time from the moment when it is due to its result. It\n"
      "includes any wait for the frame before. Its parts are the delay of the start, the queue,\n"
      "the copies and the computation. Back to back, a frame is due when the one before is done.\n"
      "Jitter is the standard deviation of the interval between results; the difference between\n"
      "the longest and the shortest interval is printed, too. Power and clocks are read from NVML\n"
      "by a separate thread every --sample-ms. docs/latency.md describes how to verify a budget.\n"
      "\n"
      "Ctrl-C (or SIGTERM) ends the run early. The table, --json, --plot and --samples then show\n"
      "the frames measured so far, and the exit code is 130 (143). A second Ctrl-C ends the "
      "program\n"
      "immediately.");
  const auto o = std::make_shared<LatencyCommand>();
  add_value(
      *command, "--pipeline", o->pipeline,
      fmt::format("Operators separated by !, each followed by its options as option=value "
                  "(\"halftone preset=fast ! flow\"). Each reads the camera's frame, one after "
                  "the other. The operators are: {}. The options of optical flow below apply "
                  "to every flow in the pipeline",
                  operator_names()));
  command->add_option("--input", o->input, "FRAMES to replay (default: a synthetic scene)");
  add_source_options(*command, o->source);
  command->add_option("--size", o->size, "WIDTHxHEIGHT of the synthetic scene (default 640x480)");
  add_value(*command, "--fps", o->fps, "Frame rate of the camera")
      ->check(finite_range(0.1, 10000.0));
  command->add_flag(
      "--back-to-back", o->back_to_back,
      "Submit each frame as soon as the one before is done, not at a camera's frame rate");
  command->add_flag("--newest", o->newest,
                    "Drop a frame that waits when the next one is due, as a camera with one buffer "
                    "does. Without it, frames that wait form a queue. Dropped frames count as "
                    "misses of the budget");
  add_value(*command, "--budget-ms", o->budget_ms,
            "Most time from the moment when a frame is due to its result; 0: the time "
            "between two frames (with --back-to-back: no budget)")
      ->check(finite_range(0.0, 10000.0));
  add_value(*command, "--budget-percentile", o->budget_percentile,
            "Percentage of the frames that must keep the budget")
      ->check(finite_range(1.0, 100.0));
  add_value(*command, "--frames", o->frames, "Number of frames to measure, dropped ones included")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  add_value(*command, "--warm-up", o->warm_up,
            "Number of frames to run back to back before the measurement")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}));
  command->add_option(
      "--plot", o->plot,
      "Write a plot of the latency's distribution and of the latency over time (.svg)");
  command->add_option("--samples", o->samples,
                      "Write the times of each measured frame in ns (CSV, with a header)");
  command->add_option("--break-on-miss", o->break_on_miss,
                      "Stop at the first missed deadline and write what all threads did in the "
                      "second before it (JSON for Perfetto); also a note to the kernel's "
                      "trace_marker where it may be written");
  add_value(
      *command, "--memory", o->memory,
      "Memory of frames and results: host, pinned, device (the last two need CUDA), several of "
      "them separated by commas, or all. Each is a separate run of --frames. auto: host, and "
      "on CUDA also device");
  command
      ->add_option(
          "--wait", o->wait,
          "How to wait for a CUDA device: spin (default; keeps one CPU busy), yield or block")
      ->check(CLI::IsMember({"spin", "yield", "block"}));
  add_value(
      *command, "--copy-threads", o->copy_threads,
      "Threads that help to copy between host memory and a CUDA device; each keeps a CPU busy")
      ->check(CLI::Range(0, 16));
  add_value(*command, "--sample-ms", o->sample_ms,
            "Interval between samples of the GPU's power and clocks; 0: only before and "
            "after the run")
      ->check(CLI::Range(0, 60000));
  add_value(*command, "--realtime-priority", o->realtime_priority,
            "SCHED_FIFO priority (1 to 99) of the workers, the copy threads and the thread "
            "that waits; 0: the default scheduler")
      ->check(CLI::Range(0, 99));
  command->add_flag("--workers-only", o->workers_only,
                    "Only the workers compute. By default, the thread that waits takes part");
  command->add_flag("--lock-memory", o->lock_memory, "Lock the engine's memory with mlock");
  o->flow.add_to(*command);
  add_common_options(*command, o->common);
  add_metrics_option(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(
        *command,
        {{!o->input.empty(),
          {"--size"},
          "it sets the size of the synthetic scene, and --input has its own size"},
         {o->input.empty(), {kSourceTimeout}, "it applies to a video or a camera given by --input"},
         {o->back_to_back, {"--fps", "--newest"}, "--back-to-back has no frame rate"},
         {o->newest,
          {"--break-on-miss"},
          "with --newest a late frame is dropped and the run goes on"}});
    exit_code = run_latency(*command, *o);
  });
}

}  // namespace ocellus::app
