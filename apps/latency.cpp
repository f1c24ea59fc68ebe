// ocellus latency: operators at a camera's pace, against a budget.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <memory>

#include "common.h"
#include "flow_run.h"
#include "frames.h"
#include "interrupt.h"
#include "machine.h"
#include "svg_plot.h"

namespace ocellus::app {
namespace {

struct LatencyCommand {
  CommonOptions common;
  FlowOptions flow;
  std::string pipeline = "flow";
  std::string input;
  std::string plot;
  std::string size;
  double fps = 30.0;
  double budget_ms = 0.0;
  std::int64_t frames = 10000;
  std::string memory = "host";
  int realtime_priority = 0;
  bool lock_memory = false;
};

MemorySpace parse_memory(const std::string& text) {
  return text == "device"   ? MemorySpace::kCuda
         : text == "pinned" ? MemorySpace::kPinned
                            : MemorySpace::kHost;
}

/// The operators that a chain may name.
constexpr const char* kOperators[] = {"flow"};

std::vector<std::string> parse_pipeline_text(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('!', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    while (!name.empty() && is_space(name.front())) name.erase(name.begin());
    while (!name.empty() && is_space(name.back())) name.pop_back();
    if (std::find(std::begin(kOperators), std::end(kOperators), name) == std::end(kOperators)) {
      throw InputError(fmt::format("--pipeline: '{}' is no operator; there are: {}", name,
                                   fmt::join(kOperators, ", ")));
    }
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

/// Frames that are replayed forwards and backwards, so that the motion never jumps.
class Replay {
 public:
  Replay(const std::string& input, std::int64_t frames) {
    const auto source = open_frames({input});
    name_ = source->name();
    constexpr std::size_t kMemory = std::size_t{256} << 20;
    std::size_t bytes = 0;
    InputFrame frame;
    while (static_cast<std::int64_t>(frames_.size()) < frames && bytes < kMemory &&
           source->next(frame)) {
      bytes += frame.image.pixels.size();
      frames_.push_back(frame.image);
    }
  }

  /// Which of the frames is the one at this time.
  std::size_t position(std::int64_t time) const {
    const auto count = static_cast<std::int64_t>(frames_.size());
    if (count == 1) return 0;
    const std::int64_t period = 2 * (count - 1);
    const std::int64_t phase = time % period;
    return static_cast<std::size_t>(phase < count ? phase : period - phase);
  }
  const std::vector<GrayImage>& frames() const { return frames_; }
  std::size_t count() const { return frames_.size(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<GrayImage> frames_;
};

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Or until a signal asks to stop.
void sleep_until(std::int64_t ns) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR &&
         stop_signal() == 0) {
  }
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

nlohmann::ordered_json histogram_json(const LatencyHistogram& h) {
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  return {{"min", ms(h.min_ns())},
          {"mean", h.mean_ns() * 1e-6},
          {"p50", ms(h.percentile_ns(50.0))},
          {"p90", ms(h.percentile_ns(90.0))},
          {"p99", ms(h.percentile_ns(99.0))},
          {"p99.9", ms(h.percentile_ns(99.9))},
          {"max", ms(h.max_ns())}};
}

void print_histogram(const char* name, const LatencyHistogram& h) {
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  fmt::print("  {:<22} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}\n", name,
             ms(h.percentile_ns(50.0)), ms(h.percentile_ns(90.0)), ms(h.percentile_ns(99.0)),
             ms(h.percentile_ns(99.9)), ms(h.max_ns()));
}

int run_latency(const LatencyCommand& o) {
  const std::vector<std::string> names = parse_pipeline_text(o.pipeline);
  if (!o.plot.empty() && file_extension(o.plot) != ".svg")
    throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o.plot));
  std::string input = o.input;
  if (input.empty()) {
    const ImageSize size = parse_size(o.size.empty() ? "640x480" : o.size, "--size");
    input = fmt::format("test:{}x{},frames=60", size.width, size.height);
  }
  const Replay replay(input, o.frames);
  const GrayImage& first = replay.frames().front();
  const double budget_ms = o.budget_ms > 0.0 ? o.budget_ms : 1000.0 / o.fps;

  EngineConfig engine = engine_config(o.common);
  engine.realtime_priority = o.realtime_priority;
  engine.lock_memory = o.lock_memory;
  const MemorySpace space = parse_memory(o.memory);
  if (space != MemorySpace::kHost &&
      take(Engine::probe(engine), "engine").backend == BackendKind::kCpu) {
    throw InputError(fmt::format(
        "--memory {}: the backend is cpu, which has host memory only; use --memory host, or "
        "--backend cuda where there is a device",
        o.memory));
  }
  const OpticalFlowConfig config = flow_config(o.flow, first.size, first.format);
  std::vector<std::unique_ptr<FlowRun>> chain;
  for (std::size_t i = 0; i < names.size(); ++i) {
    chain.push_back(std::make_unique<FlowRun>(engine, config, space, replay.frames()));
  }
  const EngineInfo& info = chain.front()->engine();
  Footprint footprint;
  for (const auto& run : chain) footprint += run->footprint();
  const double bytes = least_work(config).bytes * static_cast<double>(names.size());

  // Some frames before the first that counts: they touch the output and bring the ring to its
  // steady state.
  constexpr int kWarmUp = 30;
  std::int64_t number = 0;
  for (; number < kWarmUp; ++number) {
    for (const auto& run : chain)
      run->step(run->stored(replay.position(number), static_cast<std::uint64_t>(number), 0));
  }

  const auto latency = std::make_unique<LatencyHistogram>();
  const auto work = std::make_unique<LatencyHistogram>();
  const auto queueing = std::make_unique<LatencyHistogram>();
  const auto copying = std::make_unique<LatencyHistogram>();
  const auto computing = std::make_unique<LatencyHistogram>();
  std::vector<float> latencies(static_cast<std::size_t>(o.frames), 0.0f);
  const double period_ns = 1e9 / o.fps;
  std::int64_t misses = 0;
  std::int64_t burst = 0;
  std::int64_t longest_burst = 0;
  std::int64_t late_starts = 0;
  const long faults_before = page_faults();
  const StealMeter steal;
  std::int64_t measured = 0;
  const StopsEarly stops_early;
  {
    Progress progress(fmt::format("{} at {:g} fps", o.pipeline, o.fps), o.frames);
    const std::int64_t start = now_ns() + 10'000'000;
    for (std::int64_t i = 0; i < o.frames && stop_signal() == 0; ++i) {
      const std::int64_t scheduled = start + std::llround(static_cast<double>(i) * period_ns);
      const std::int64_t before = now_ns();
      // A frame that has to wait for the one before has been waiting since its own time: that is
      // when its clock starts.
      if (before > scheduled) ++late_starts;
      if (before < scheduled) sleep_until(scheduled);
      if (stop_signal() != 0) break;
      const std::int64_t begin = now_ns();
      FrameInfo times;
      for (const auto& run : chain) {
        const FrameInfo done = run->step(run->stored(
            replay.position(number + i), static_cast<std::uint64_t>(number + i), scheduled));
        times.queue_ns += done.queue_ns;
        times.copy_ns += done.copy_ns;
        times.compute_ns += done.compute_ns;
      }
      const std::int64_t end = now_ns();
      queueing->record(times.queue_ns);
      copying->record(times.copy_ns);
      computing->record(times.compute_ns);
      latency->record(end - scheduled);
      work->record(end - begin);
      const double ms = static_cast<double>(end - scheduled) * 1e-6;
      latencies[static_cast<std::size_t>(i)] = static_cast<float>(ms);
      if (ms > budget_ms) {
        ++misses;
        longest_burst = std::max(longest_burst, ++burst);
      } else {
        burst = 0;
      }
      progress.update(++measured);
    }
  }
  const bool interrupted = measured < o.frames;
  if (interrupted) {
    fmt::print(stderr, "ocellus: interrupted after {} of {} frames{}\n", measured, o.frames,
               measured > 0 ? "; they are reported" : "; there is nothing to report");
    if (measured == 0) return kAnswerIsNo;
    latencies.resize(static_cast<std::size_t>(measured));
  }
  // Frames that were not run cannot have kept the budget.
  const bool good = misses == 0 && !interrupted;
  const double stolen = steal.percent();
  const long faults = page_faults() - faults_before;
  const double traffic = bytes * o.fps * 1e-9;

  if (!o.plot.empty()) {
    LatencyPlot plot;
    plot.title = fmt::format("ocellus latency: {} on {}x{} at {:g} fps", o.pipeline,
                             first.size.width, first.size.height, o.fps);
    plot.subtitle = fmt::format("{} of {}, {} misses; {}", counted(measured, "frame"),
                                std::filesystem::path(replay.name()).filename().string(), misses,
                                describe(config));
    plot.machine = fmt::format(
        "{}, {} ({}){}", info.device_name, counted(info.workers, "thread"), info.simd_target,
        stolen >= 0.05 ? fmt::format("; {:.1f} % of the CPU time stolen", stolen) : "");
    plot.histogram = latency.get();
    plot.latencies_ms = &latencies;
    plot.budget_ms = budget_ms;
    plot.fps = o.fps;
    write_latency_svg(o.plot, plot);
  }
  if (o.common.json) {
    nlohmann::ordered_json json;
    json["pipeline"] = names;
    json["input"] = replay.name();
    json["input_frames"] = replay.count();
    json["size"] = {first.size.width, first.size.height};
    json["fps"] = o.fps;
    json["frames"] = measured;
    json["interrupted"] = interrupted;
    json["budget_ms"] = budget_ms;
    json["misses"] = misses;
    json["longest_burst"] = longest_burst;
    json["late_starts"] = late_starts;
    json["latency_ms"] = histogram_json(*latency);
    json["work_ms"] = histogram_json(*work);
    json["queue_ms"] = histogram_json(*queueing);
    json["copy_ms"] = histogram_json(*copying);
    json["compute_ms"] = histogram_json(*computing);
    json["memory"] = o.memory;
    json["footprint"] = {
        {"host", footprint.host}, {"pinned", footprint.pinned}, {"device", footprint.device}};
    json["gb_per_s_at_least"] = traffic;
    json["delay_frames"] = chain.front()->delay_frames();
    json["page_faults"] = faults;
    json["steal_percent"] =
        stolen >= 0.0 ? nlohmann::ordered_json(stolen) : nlohmann::ordered_json(nullptr);
    json["backend"] = backend_name(info.backend);
    json["device"] = info.device_name;
    json["workers"] = info.workers;
    json["simd"] = info.simd_target;
    json["config"] = config_json(config);
    json["ok"] = good;
    print_json(json);
    return good ? kDone : kAnswerIsNo;
  }
  fmt::print("{}: {} from {} of {}, back and forth, {}x{} at {:g} fps\n", o.pipeline,
             counted(measured, "frame"),
             counted(static_cast<std::int64_t>(replay.count()), "frame"), replay.name(),
             first.size.width, first.size.height, o.fps);
  fmt::print("{}; {}, {} ({})\n\n", describe(config), info.device_name,
             counted(info.workers, "thread"), info.simd_target);
  fmt::print("  {:<22} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "ms", "p50", "p90", "p99", "p99.9", "max");
  print_histogram("from the schedule", *latency);
  print_histogram("from its own start", *work);
  print_histogram("  in the queue", *queueing);
  print_histogram("  copying", *copying);
  print_histogram("  computing", *computing);
  fmt::print("\n  budget {:.3f} ms: {} of {}", budget_ms, counted(misses, "miss", "misses"),
             counted(measured, "frame"));
  if (misses > 0) fmt::print(", longest run of misses {}", longest_burst);
  fmt::print("\n  memory traffic at least {:.2f} GB/s; {} page faults", traffic, faults);
  if (stolen >= 0.0) fmt::print("; {:.2f} % of the CPU time stolen by other guests", stolen);
  fmt::print(
      "\n  frames and results in {} memory; {:.1f} MB of host, {:.1f} of pinned, {:.1f} of device "
      "memory taken\n",
      o.memory, static_cast<double>(footprint.host) * 1e-6,
      static_cast<double>(footprint.pinned) * 1e-6, static_cast<double>(footprint.device) * 1e-6);
  if (!o.plot.empty()) fmt::print("  written: {}\n", o.plot);
  return good ? kDone : kAnswerIsNo;
}

}  // namespace

void add_latency_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "latency", "Run operators at a camera's pace and count missed deadlines (exit code 1)");
  command->footer(
      "Ctrl-C (or SIGTERM) ends the run early: table, --json and --plot tell of the frames "
      "measured\n"
      "so far, and the exit code is 130 (143). A second Ctrl-C ends at once.");
  const auto o = std::make_shared<LatencyCommand>();
  command
      ->add_option("--pipeline", o->pipeline,
                   "Operators separated by !; each reads the camera's frame. There is: flow")
      ->capture_default_str();
  command->add_option("--input", o->input, "FRAMES to replay; without it a synthetic scene");
  command->add_option("--size", o->size, "WIDTHxHEIGHT of the synthetic scene (default 640x480)");
  command->add_option("--fps", o->fps, "Pace of the camera")
      ->check(finite_range(0.1, 10000.0))
      ->capture_default_str();
  command
      ->add_option("--budget-ms", o->budget_ms,
                   "Time from a frame's schedule to its result; 0 = the time between frames")
      ->check(finite_range(0.0, 10000.0))
      ->capture_default_str();
  command->add_option("--frames", o->frames, "Frames to run")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}))
      ->capture_default_str();
  command->add_option("--plot", o->plot, "Write the distribution and the latency over time as SVG");
  command
      ->add_option("--memory", o->memory,
                   "Where frames and results lie: host, pinned or device (the last two: CUDA)")
      ->check(CLI::IsMember({"host", "pinned", "device"}))
      ->capture_default_str();
  command
      ->add_option("--realtime-priority", o->realtime_priority,
                   "SCHED_FIFO priority of the workers, 1 to 99; 0 = the ordinary scheduler")
      ->check(CLI::Range(0, 99))
      ->capture_default_str();
  command->add_flag("--lock-memory", o->lock_memory, "Lock the engine's memory");
  add_flow_options(*command, o->flow);
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(*command, unused_flow_options(o->flow));
    check_options(*command, {{!o->input.empty(),
                              {"--size"},
                              "it is for the synthetic scene; --input has its own size"}});
    exit_code = run_latency(*o);
  });
}

}  // namespace ocellus::app
