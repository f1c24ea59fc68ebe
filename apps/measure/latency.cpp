// ocellus latency: runs operators at a camera's frame rate or back to back, and checks a latency
// budget.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/frames.h"
#include "apps/measure/latency_run.h"
#include "apps/measure/machine.h"
#include "apps/measure/svg_plot.h"

namespace ocellus::app {
namespace {

struct LatencyCommand {
  CommonOptions common;
  OperatorOptions flow{"flow"};
  std::string pipeline = "flow";
  std::string input;
  SourceOptions source;
  std::string plot;
  std::string size;
  double fps = 30.0;
  bool back_to_back = false;
  double budget_ms = 0.0;
  double budget_percentile = 100.0;
  std::int64_t frames = 10000;
  std::int64_t warm_up = 100;
  std::string memory = "auto";
  std::string wait;
  int copy_threads = 0;
  int sample_ms = 100;
  int realtime_priority = 0;
  bool lock_memory = false;
};

// ---- arguments

const char* memory_name(MemorySpace space) {
  return space == MemorySpace::kCuda ? "device" : space == MemorySpace::kPinned ? "pinned" : "host";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The kinds of memory to measure, each once, in the order host, pinned, device.
std::vector<MemorySpace> parse_memory(const std::string& text, bool on_cpu) {
  constexpr MemorySpace kAll[] = {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda};
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
  for (const MemorySpace space : kAll) {
    if (std::find(names.begin(), names.end(), memory_name(space)) != names.end())
      spaces.push_back(space);
  }
  return spaces;
}

/// One operator of the pipeline with its own options.
struct Link {
  std::string text;  ///< as given, without surrounding blanks
  std::string name;
  OperatorConfig config;

  /// An error text. The operator's text precedes it if it contains options.
  std::string in_context(const std::string& error) const {
    return text == name ? error : fmt::format("--pipeline: '{}': {}", text, error);
  }
};

/// The operator whose options are also options of the command line.
constexpr const char* kCommandLineOperator = "flow";

/// Parses one word of an operator's text: option=value.
std::pair<std::string, std::string> parse_word(const std::string& word, const std::string& link,
                                               OptionTable table) {
  if (word.front() == '|' || word.back() == '|') {
    throw InputError(
        fmt::format("--pipeline: '{}': blanks are not allowed around a bar here; write "
                    "template=erosion|edge",
                    link));
  }
  const std::size_t equals = word.find('=');
  if (const Option* const option = find_option(table, word);
      option != nullptr && option->type == OptionType::kBool) {
    throw InputError(fmt::format(
        "--pipeline: '{0}' in '{1}' is not of the form option=value; write {0}=true", word, link));
  }
  if (equals == std::string::npos || equals == 0) {
    throw InputError(
        fmt::format("--pipeline: '{}' in '{}' is not of the form option=value, such as preset=fast",
                    word, link));
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// Parses the text of one operator: its name, then option=value with the names of its options. If
/// the command line has options of this operator, it provides the values that the text does not
/// set.
Link parse_link(const std::string& text, const OperatorOptions& of_command_line) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  const std::string whole = fmt::format("{}", fmt::join(words, " "));
  const std::string name = words.empty() ? "" : words.front();
  try {
    const OperatorDescription& description = operator_description(name);
    Link link{whole, name, OperatorConfig(description)};
    OptionTexts options;
    if (name == kCommandLineOperator) options = of_command_line.given();
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto [option, value] = parse_word(words[i], whole, description.options);
      if (option == "config") {
        const OptionTexts file = read_config_file(value, description);
        options.insert(options.end(), file.begin(), file.end());
        continue;
      }
      const Option* const row = find_option(description.options, option);
      std::erase_if(options, [&](const auto& given) {
        return row != nullptr && find_option(description.options, given.first) == row;
      });
      options.emplace_back(option, value);
    }
    if (const Expected<void> set = set_options(link.config, options); !set) {
      // Without options in the text, all options are from the command line.
      const std::string reason = set.error().text;
      throw InputError(
          link.in_context(words.size() == 1 ? with_flag(link.config, reason) : reason));
    }
    return link;
  } catch (const InputError& error) {
    const std::string reason = error.what();
    throw InputError(reason.rfind("--", 0) == 0 ? reason : "--pipeline: " + reason);
  }
}

std::string operator_names() {
  std::vector<const char*> names;
  for (const OperatorDescription& description : operators()) names.push_back(description.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Link> parse_chain(const std::string& text, const OperatorOptions& of_command_line) {
  std::string blank = text;
  std::replace(blank.begin(), blank.end(), '\t', ' ');
  std::vector<Link> links;
  for (const std::string& part : split(blank, '!'))
    links.push_back(parse_link(part, of_command_line));
  const bool taken = std::any_of(links.begin(), links.end(), [](const Link& link) {
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

/// The frames to replay: as many as requested, up to a limit of memory.
struct Clip {
  std::string name;
  std::vector<GrayImage> frames;
};

Clip read_clip(const std::string& input, const SourceOptions& options, std::int64_t count) {
  const auto source = open_frames({input}, options);
  constexpr std::size_t kMemory = std::size_t{256} << 20;
  Clip clip;
  clip.name = source->name();
  std::size_t bytes = 0;
  InputFrame frame;
  while (static_cast<std::int64_t>(clip.frames.size()) < count && bytes < kMemory &&
         source->next(frame)) {
    bytes += frame.image.pixels.size();
    clip.frames.push_back(frame.image);
  }
  return clip;
}

// ---- reports

double ms(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

nlohmann::ordered_json histogram_json(const LatencyHistogram& h) {
  return {{"min", ms(h.min_ns())},
          {"mean", h.mean_ns() * 1e-6},
          {"p50", ms(h.percentile_ns(50.0))},
          {"p90", ms(h.percentile_ns(90.0))},
          {"p99", ms(h.percentile_ns(99.0))},
          {"p99.9", ms(h.percentile_ns(99.9))},
          {"max", ms(h.max_ns())}};
}

void print_histogram(const std::string& name, const LatencyHistogram& h) {
  fmt::print("  {:<24} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}\n", name,
             ms(h.percentile_ns(50.0)), ms(h.percentile_ns(90.0)), ms(h.percentile_ns(99.0)),
             ms(h.percentile_ns(99.9)), ms(h.max_ns()));
}

/// All data for the report.
struct Report {
  const LatencyCommand& o;
  const std::vector<Link>& links;
  const LatencyPlan& plan;
  const Clip& clip;
  const GpuMeter& meter;
  std::vector<OperatorInfo> infos;
  std::vector<std::unique_ptr<LatencyResult>> runs;

  bool with_budget() const { return plan.budget_ns.has_value(); }
  double budget_ms() const { return with_budget() ? ms(*plan.budget_ns) : 0.0; }
  bool interrupted() const {
    return std::any_of(runs.begin(), runs.end(),
                       [this](const auto& run) { return run->measured < plan.count; });
  }
  bool keeps_budget(const LatencyResult& run) const {
    const double share = 1.0 - o.budget_percentile / 100.0;
    // A run that was interrupted does not keep the budget, because frames are missing.
    return run.measured == plan.count &&
           static_cast<double>(run.misses) <=
               std::floor(share * static_cast<double>(run.measured) + 1e-9);
  }
  bool good(std::size_t wanted) const {
    return runs.size() == wanted && std::all_of(runs.begin(), runs.end(), [this](const auto& run) {
             return keeps_budget(*run);
           });
  }
  /// The least memory traffic per frame of all operators, in bytes.
  double least_bytes() const {
    double bytes = 0.0;
    for (const OperatorInfo& op : infos) bytes += op.least_bytes;
    return bytes;
  }
  static double frames_per_s(const LatencyResult& run) {
    return run.seconds > 0.0 ? static_cast<double>(run.measured) / run.seconds : 0.0;
  }
  std::string pace() const {
    return plan.fps > 0.0 ? fmt::format("at {:g} fps", plan.fps) : std::string("back to back");
  }
  ImageSize size() const { return clip.frames.front().size; }
};

nlohmann::ordered_json run_json(const Report& report, const LatencyResult& run) {
  nlohmann::ordered_json json;
  json["memory"] = memory_name(run.space);
  json["frames"] = run.measured;
  json["seconds"] = run.seconds;
  json["frames_per_s"] = Report::frames_per_s(run);
  json["misses"] =
      report.with_budget() ? nlohmann::ordered_json(run.misses) : nlohmann::ordered_json(nullptr);
  json["longest_burst"] = run.longest_burst;
  json["late_starts"] = run.late_starts;
  json["latency_ms"] = histogram_json(run.latency);
  json["wake_ms"] = histogram_json(run.wake);
  json["work_ms"] = histogram_json(run.work);
  json["queue_ms"] = histogram_json(run.queue);
  json["copy_ms"] = histogram_json(run.copy);
  json["compute_ms"] = histogram_json(run.compute);
  json["jitter_ms"] = {{"mean_interval", run.intervals.mean_ns() * 1e-6},
                       {"deviation", run.intervals.deviation_ns() * 1e-6},
                       {"spread", ms(run.intervals.spread_ns())}};
  json["operators"] = nlohmann::ordered_json::array();
  for (std::size_t op = 0; op < run.operators.size(); ++op) {
    json["operators"].push_back({{"operator", report.links[op].name},
                                 {"work_ms", histogram_json(*run.operators[op])},
                                 {"delay_frames", run.delays[op]}});
  }
  json["footprint"] = {{"host", run.footprint.host},
                       {"pinned", run.footprint.pinned},
                       {"device", run.footprint.device}};
  json["gb_per_s_at_least"] = report.least_bytes() * Report::frames_per_s(run) * 1e-9;
  json["gpu_activity"] = activity_json(report.meter, run.gpu, run.measured);
  json["page_faults"] = run.page_faults;
  json["steal_percent"] = run.steal_percent >= 0.0 ? nlohmann::ordered_json(run.steal_percent)
                                                   : nlohmann::ordered_json(nullptr);
  json["ok"] = report.keeps_budget(run);
  return json;
}

nlohmann::ordered_json report_json(const Report& report, bool good) {
  const LatencyResult& first = *report.runs.front();
  nlohmann::ordered_json json;
  json["version"] = version();
  json["pipeline"] = nlohmann::ordered_json::array();
  for (const auto& link : report.links) json["pipeline"].push_back(link.name);
  json["input"] = report.clip.name;
  json["input_frames"] = report.clip.frames.size();
  json["size"] = {report.size().width, report.size().height};
  json["pace"] = report.plan.fps > 0.0 ? "camera" : "back to back";
  json["fps"] = report.plan.fps > 0.0 ? nlohmann::ordered_json(report.plan.fps) : nullptr;
  json["warm_up"] = report.plan.warm_up;
  json["interrupted"] = report.interrupted();
  json["budget_ms"] = report.with_budget() ? nlohmann::ordered_json(report.budget_ms()) : nullptr;
  json["budget_percentile"] = report.o.budget_percentile;
  json["backend"] = backend_name(first.engine.backend);
  json["device"] = first.engine.device_name;
  json["workers"] = first.engine.workers;
  json["simd"] = first.engine.simd_target;
  json["realtime_priority"] = report.plan.engine.realtime_priority;
  json["copy_threads"] = report.plan.engine.device_copy_threads;
  json["machine"] = machine_json();
  json["gpu"] = gpu_json(first.engine, report.meter);
  json["config"] = config_json(report.plan.operators.front());
  json["configs"] = nlohmann::ordered_json::array();
  for (const OperatorConfig& op : report.plan.operators) json["configs"].push_back(config_json(op));
  json["delay_frames"] = first.delays.front();
  // The keys of the first run are repeated at the top level, so that a reader of a single run needs
  // no index.
  json["runs"] = nlohmann::ordered_json::array();
  for (const auto& run : report.runs) json["runs"].push_back(run_json(report, *run));
  const nlohmann::ordered_json copy = json["runs"].front();
  json.update(copy);
  json["ok"] = good;
  return json;
}

void print_gpu_activity(const GpuMeter& meter, const LatencyResult& run) {
  const GpuActivity& a = run.gpu;
  const std::optional<double> power = a.mean_power_w();
  if (power) {
    fmt::print("  power: mean {:.0f} W", *power);
    if (!a.power_w.empty()) fmt::print(", largest {:.0f} W", a.power_w.high);
    fmt::print(" ({}), {:.3g} mJ per frame", counted(a.samples, "sample"),
               *power * a.seconds * 1e3 / static_cast<double>(run.measured));
  } else {
    fmt::print("  power unknown: {}", meter.power_missing());
  }
  const auto range = [](const char* name, const Range<unsigned>& r) {
    if (r.empty()) return;
    if (r.low == r.high)
      fmt::print("; {} {} MHz throughout", name, r.low);
    else
      fmt::print("; {} {} to {} MHz", name, r.low, r.high);
  };
  range("SM", a.sm_mhz);
  range("memory", a.memory_mhz);
  if (a.reasons_known) {
    fmt::print("; clocks limited by: {}",
               a.reasons == 0 ? std::string("nothing")
                              : fmt::format("{}", fmt::join(clock_reason_names(a.reasons), ", ")));
  }
  fmt::print("\n");
}

void print_run(const Report& report, const LatencyResult& run) {
  fmt::print("\n  {:<24} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
             fmt::format("{} memory, ms", memory_name(run.space)), "p50", "p90", "p99", "p99.9",
             "max");
  if (report.plan.fps > 0.0) {
    print_histogram("latency", run.latency);
    print_histogram("  delay of the start", run.wake);
  }
  print_histogram("work", run.work);
  if (run.operators.size() > 1) {
    for (std::size_t op = 0; op < run.operators.size(); ++op)
      print_histogram(fmt::format("  operator {}: {}", op + 1, report.links[op].name),
                      *run.operators[op]);
  }
  print_histogram("  queue", run.queue);
  print_histogram("  copy", run.copy);
  print_histogram("  compute", run.compute);
  fmt::print(
      "  jitter {:.3f} ms (standard deviation of the interval between results); longest minus "
      "shortest interval {:.3f} ms\n",
      run.intervals.deviation_ns() * 1e-6, ms(run.intervals.spread_ns()));
  if (report.with_budget()) {
    fmt::print("  budget {:.3f} ms: {} of {}", report.budget_ms(),
               counted(run.misses, "miss", "misses"), counted(run.measured, "frame"));
    if (run.misses > 0) fmt::print(", at most {} in a row", run.longest_burst);
    fmt::print(": {}\n", report.keeps_budget(run) ? "kept" : "NOT KEPT");
  }
  fmt::print("  {:.1f} frames/s; memory traffic at least {:.2f} GB/s; {} page faults",
             Report::frames_per_s(run), report.least_bytes() * Report::frames_per_s(run) * 1e-9,
             run.page_faults);
  if (run.steal_percent >= 0.0)
    fmt::print("; {:.2f} % of the CPU time stolen by other guests", run.steal_percent);
  fmt::print("\n  memory used: {:.1f} MB host, {:.1f} MB pinned, {:.1f} MB device\n",
             static_cast<double>(run.footprint.host) * 1e-6,
             static_cast<double>(run.footprint.pinned) * 1e-6,
             static_cast<double>(run.footprint.device) * 1e-6);
  if (run.engine.backend == BackendKind::kCuda) print_gpu_activity(report.meter, run);
}

void print_report(const Report& report) {
  const EngineInfo& info = report.runs.front()->engine;
  fmt::print("{}: {} from {} of {}, back and forth, {}x{} {}\n", printable(report.o.pipeline),
             counted(report.runs.front()->measured, "frame"),
             counted(static_cast<std::int64_t>(report.clip.frames.size()), "frame"),
             printable(report.clip.name), report.size().width, report.size().height, report.pace());
  for (std::size_t op = 0; op < report.infos.size(); ++op)
    fmt::print("{}{}", op == 0 ? "" : " ! ", printable(report.infos[op].summary));
  fmt::print("; {}, {}\n", info.device_name, cpu_text(info));
  fmt::print("machine: {}\n", machine_line());
  if (info.backend == BackendKind::kCuda) fmt::print("GPU: {}\n", gpu_line(info, report.meter));
  for (const auto& run : report.runs) print_run(report, *run);
  if (!report.o.plot.empty()) fmt::print("  written: {}\n", printable(report.o.plot));
}

void plot_report(const Report& report) {
  const EngineInfo& info = report.runs.front()->engine;
  LatencyPlot plot;
  plot.title = fmt::format("ocellus latency: {} on {}x{} {}", report.o.pipeline,
                           report.size().width, report.size().height, report.pace());
  std::vector<std::string> misses;
  for (const auto& run : report.runs)
    misses.push_back(fmt::format(
        "{}{} misses",
        report.runs.size() > 1 ? fmt::format("{} memory ", memory_name(run->space)) : std::string(),
        run->misses));
  plot.subtitle = fmt::format(
      "{} of {}{}; {}", counted(report.runs.front()->measured, "frame"),
      std::filesystem::path(report.clip.name).filename().string(),
      report.with_budget() ? fmt::format(", {}", fmt::join(misses, ", ")) : std::string(),
      report.infos.front().summary);
  const double stolen = report.runs.front()->steal_percent;
  plot.machine = fmt::format(
      "{}, {}{}{}", info.device_name, cpu_text(info),
      report.meter.driver().empty() ? std::string() : ", driver " + report.meter.driver(),
      stolen >= 0.05 ? fmt::format("; {:.1f} % of the CPU time stolen", stolen) : "");
  for (const auto& run : report.runs) {
    const double fps = Report::frames_per_s(*run);
    plot.series.push_back({fmt::format("{} memory", memory_name(run->space)), &run->latency,
                           &run->latencies_ms, fps > 0.0 ? fps : 1.0});
  }
  plot.budget_ms = report.budget_ms();
  write_latency_svg(report.o.plot, plot);
}

int run_latency(const LatencyCommand& o) {
  const std::vector<Link> links = parse_chain(o.pipeline, o.flow);
  if (!o.plot.empty() && file_extension(o.plot) != ".svg")
    throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o.plot));
  std::string input = o.input;
  if (input.empty()) {
    const ImageSize size = parse_size(o.size.empty() ? "640x480" : o.size, "--size");
    input = fmt::format("test:{}x{},frames=60", size.width, size.height);
  }

  LatencyPlan plan;
  plan.engine = engine_config(o.common);
  plan.engine.realtime_priority = o.realtime_priority;
  plan.engine.lock_memory = o.lock_memory;
  const EngineInfo info = take(Engine::probe(plan.engine), "engine");
  const bool on_cpu = info.backend == BackendKind::kCpu;
  const std::vector<MemorySpace> spaces = parse_memory(o.memory, on_cpu);
  if (!o.wait.empty()) {
    if (on_cpu)
      throw InputError(
          "--wait has no meaning here: it sets how to wait for a CUDA device, and the backend is "
          "cpu");
    plan.engine.device_wait = o.wait == "spin"    ? DeviceWait::kSpin
                              : o.wait == "yield" ? DeviceWait::kYield
                                                  : DeviceWait::kBlock;
  }
  if (o.copy_threads > 0 && on_cpu)
    throw InputError(
        "--copy-threads has no meaning here: the backend is cpu, which copies nothing");
  if (o.copy_threads > 0 && spaces.front() != MemorySpace::kHost) {
    throw InputError(fmt::format(
        "--copy-threads has no meaning with --memory {}: these threads copy from and to ordinary "
        "memory (--memory host)",
        o.memory));
  }
  plan.engine.device_copy_threads = o.copy_threads;
  const Clip clip = read_clip(input, o.source, o.frames);
  const GrayImage& first = clip.frames.front();
  std::vector<OperatorInfo> infos;
  for (const Link& link : links) {
    OperatorConfig& config = plan.operators.emplace_back(link.config);
    config.set_input(first.size, first.format);
    try {
      infos.push_back(info_of(config));
    } catch (const InputError& error) {
      throw InputError(link.in_context(error.what()));
    }
  }
  plan.frames = &clip.frames;
  plan.fps = o.back_to_back ? 0.0 : o.fps;
  plan.count = o.frames;
  plan.warm_up = o.warm_up;
  plan.sample_ms = o.sample_ms;
  if (o.budget_ms > 0.0)
    plan.budget_ns = std::llround(o.budget_ms * 1e6);
  else if (!o.back_to_back)
    plan.budget_ns = std::llround(1e9 / o.fps);

  const GpuMeter meter(info.device_bus);
  Report report{o, links, plan, clip, meter, std::move(infos), {}};
  {
    const StopsEarly stops_early;
    for (const MemorySpace space : spaces) {
      plan.title = fmt::format("{} {}, {} memory", o.pipeline, report.pace(), memory_name(space));
      auto run = measure_latency(plan, space, meter);
      const std::int64_t measured = run->measured;
      if (measured > 0) report.runs.push_back(std::move(run));
      if (measured == o.frames) continue;
      tell(fmt::format("ocellus: interrupted after {} of {} frames{}{}\n", measured, o.frames,
                       spaces.size() > 1 ? fmt::format(" in {} memory", memory_name(space)) : "",
                       !report.runs.empty() ? "; the report covers these frames"
                                            : "; there is nothing to report"));
      break;
    }
  }
  if (report.runs.empty()) return kAnswerIsNo;
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
      "Ctrl-C (or SIGTERM) ends the run early. The table, --json and --plot then show the frames\n"
      "measured so far, and the exit code is 130 (143). A second Ctrl-C ends the program\n"
      "immediately.");
  const auto o = std::make_shared<LatencyCommand>();
  command
      ->add_option(
          "--pipeline", o->pipeline,
          fmt::format("Operators separated by !, each followed by its options as option=value "
                      "(\"halftone preset=fast ! flow\"). Each reads the camera's frame, one after "
                      "the other. The operators are: {}. The options of optical flow below apply "
                      "to every flow in the pipeline",
                      operator_names()))
      ->capture_default_str();
  command->add_option("--input", o->input, "FRAMES to replay (default: a synthetic scene)");
  add_source_options(*command, o->source);
  command->add_option("--size", o->size, "WIDTHxHEIGHT of the synthetic scene (default 640x480)");
  command->add_option("--fps", o->fps, "Frame rate of the camera")
      ->check(finite_range(0.1, 10000.0))
      ->capture_default_str();
  command->add_flag(
      "--back-to-back", o->back_to_back,
      "Submit each frame as soon as the one before is done, not at a camera's frame rate");
  command
      ->add_option("--budget-ms", o->budget_ms,
                   "Most time from the moment when a frame is due to its result; 0: the time "
                   "between two frames (with --back-to-back: no budget)")
      ->check(finite_range(0.0, 10000.0))
      ->capture_default_str();
  command
      ->add_option("--budget-percentile", o->budget_percentile,
                   "Percentage of the frames that must keep the budget")
      ->check(finite_range(1.0, 100.0))
      ->capture_default_str();
  command->add_option("--frames", o->frames, "Number of frames to measure")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}))
      ->capture_default_str();
  command
      ->add_option("--warm-up", o->warm_up,
                   "Number of frames to run back to back before the measurement")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option(
      "--plot", o->plot,
      "Write a plot of the latency's distribution and of the latency over time (.svg)");
  command
      ->add_option(
          "--memory", o->memory,
          "Memory of frames and results: host, pinned, device (the last two need CUDA), several of "
          "them separated by commas, or all. Each is a separate run of --frames. auto: host, and "
          "on CUDA also device")
      ->capture_default_str();
  command
      ->add_option(
          "--wait", o->wait,
          "How to wait for a CUDA device: spin (default; keeps one CPU busy), yield or block")
      ->check(CLI::IsMember({"spin", "yield", "block"}));
  command
      ->add_option(
          "--copy-threads", o->copy_threads,
          "Threads that help to copy between host memory and a CUDA device; each keeps a CPU busy")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  command
      ->add_option("--sample-ms", o->sample_ms,
                   "Interval between samples of the GPU's power and clocks; 0: only before and "
                   "after the run")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  command
      ->add_option("--realtime-priority", o->realtime_priority,
                   "SCHED_FIFO priority (1 to 99) of the workers, the copy threads and the thread "
                   "that waits; 0: the default scheduler")
      ->check(CLI::Range(0, 99))
      ->capture_default_str();
  command->add_flag("--lock-memory", o->lock_memory, "Lock the engine's memory with mlock");
  o->flow.add_to(*command);
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(
        *command,
        {{!o->input.empty(),
          {"--size"},
          "it sets the size of the synthetic scene, and --input has its own size"},
         {o->input.empty(), {kSourceTimeout}, "it applies to a video or a camera given by --input"},
         {o->back_to_back, {"--fps"}, "--back-to-back has no frame rate"}});
    exit_code = run_latency(*o);
  });
}

}  // namespace ocellus::app
