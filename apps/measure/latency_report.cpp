#include "apps/measure/latency_report.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "apps/common/build_info.h"
#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/measure/machine.h"
#include "apps/measure/svg_plot.h"

namespace ocellus::app {
namespace {

double ms(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

std::int64_t as_signed(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

nlohmann::ordered_json build_json() {
  const BuildInfo info = build_info();
  return {{"version", info.version},
          {"commit", info.commit},
          {"compiler", info.compiler},
          {"type", info.type},
          {"flags", info.flags}};
}

/// "ocellus 0.1.0, commit 0123456789ab, GNU 12.2.0, Release".
std::string build_line() {
  const BuildInfo info = build_info();
  // Twelve digits name a commit. What follows the 40 remains.
  std::string commit = info.commit;
  if (commit.size() >= 40) commit.erase(12, 28);
  return fmt::format("ocellus {}, commit {}, {}, {}", info.version, commit, info.compiler,
                     info.type);
}

/// The percentiles of a report.
constexpr double kShownPercents[] = {50.0, 90.0, 99.0, 99.9};

std::string percentile_name(double percent) {
  return fmt::format("p{:g}", percent);
}

/// A percentile that too few values tell is null, and one beyond the histogram a text.
nlohmann::ordered_json percentile_json(const LatencyHistogram& h, double percent) {
  if (!percentile_is_known(as_signed(h.count()), percent)) return nullptr;
  const std::optional<double> known = percentile_ms(h, percent);
  return known ? nlohmann::ordered_json(*known) : nlohmann::ordered_json(kBeyondHistogram);
}

nlohmann::ordered_json histogram_json(const LatencyHistogram& h) {
  nlohmann::ordered_json json = {{"min", ms(h.min_ns())}, {"mean", h.mean_ns() * 1e-6}};
  for (const double percent : kShownPercents)
    json[percentile_name(percent)] = percentile_json(h, percent);
  json["max"] = ms(h.max_ns());
  json["overflow"] = h.overflow();
  return json;
}

/// The bound of a percentile, like percentile_json.
nlohmann::ordered_json bound_json(const LatencyHistogram& h, double percent) {
  const std::optional<std::int64_t> rank = bound_rank(as_signed(h.count()), percent);
  if (!rank) return nullptr;
  const std::optional<double> known =
      percentile_ms(h, 100.0 * static_cast<double>(*rank) / static_cast<double>(h.count()));
  return known ? nlohmann::ordered_json(*known) : nlohmann::ordered_json(kBeyondHistogram);
}

nlohmann::ordered_json bounds_json(const LatencyHistogram& h) {
  nlohmann::ordered_json json = {{"confidence_percent", kBoundConfidence}};
  for (const double percent : kShownPercents)
    json[percentile_name(percent)] = {{"at_most", bound_json(h, percent)},
                                      {"frames_needed", frames_for_bound(percent)}};
  return json;
}

/// The buckets that hold a frame. Those beyond the histogram are in no bucket.
nlohmann::ordered_json buckets_json(const LatencyHistogram& h) {
  nlohmann::ordered_json upper = nlohmann::ordered_json::array();
  nlohmann::ordered_json count = nlohmann::ordered_json::array();
  for (int bucket = 0; bucket < LatencyHistogram::bucket_count(); ++bucket) {
    if (h.bucket_value(bucket) == 0) continue;
    upper.push_back(LatencyHistogram::bucket_upper_ns(bucket));
    count.push_back(h.bucket_value(bucket));
  }
  return {{"upper_ns", std::move(upper)}, {"count", std::move(count)}};
}

nlohmann::ordered_json worst_frames_json(const WorstFrames& worst) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LatencyTimes& frame : worst.frames()) {
    json.push_back({{"frame", frame.frame},
                    {"due_ms", ms(frame.due)},
                    {"latency_ms", ms(frame.latency)},
                    {"wake_ms", ms(frame.wake)},
                    {"work_ms", ms(frame.work)},
                    {"queue_ms", ms(frame.queue)},
                    {"copy_ms", ms(frame.copy)},
                    {"compute_ms", ms(frame.compute)}});
  }
  return json;
}

void print_worst_frames(const WorstFrames& worst) {
  fmt::print("  {:<16}{:>11}{:>11}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "worst frames, ms", "due at",
             "latency", "delay", "work", "queue", "copy", "compute");
  for (const LatencyTimes& frame : worst.frames()) {
    fmt::print("    frame {:<8}{:>11.3f}{:>11.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}\n",
               frame.frame, ms(frame.due), ms(frame.latency), ms(frame.wake), ms(frame.work),
               ms(frame.queue), ms(frame.copy), ms(frame.compute));
  }
}

void print_bounds(const LatencyHistogram& h) {
  std::vector<std::string> texts;
  for (const double percent : kShownPercents) {
    const nlohmann::ordered_json value = bound_json(h, percent);
    texts.push_back(percentile_name(percent) +
                    (value.is_null() ? fmt::format(" from {} frames on", frames_for_bound(percent))
                     : value.is_number() ? fmt::format(" at most {:.3f} ms", value.get<double>())
                                         : std::string(" ") + kBeyondHistogram));
  }
  fmt::print("  latency with {:g} % confidence: {}\n", kBoundConfidence, fmt::join(texts, ", "));
}

void print_histogram(const std::string& name, const LatencyHistogram& h) {
  fmt::print("  {:<24}", name);
  for (const double percent : kShownPercents) {
    const nlohmann::ordered_json value = percentile_json(h, percent);
    fmt::print(" {:>9}", value.is_number() ? fmt::format("{:.3f}", value.get<double>())
                         : value.is_null() ? "-"
                                           : kBeyondHistogram);
  }
  fmt::print(" {:>9.3f}", ms(h.max_ns()));
  if (h.overflow() > 0)
    fmt::print("  {}: {}", kBeyondHistogram, counted(as_signed(h.overflow()), "frame"));
  fmt::print("\n");
}

/// Tells which columns have a dash, and why.
void print_unknown_percentiles(std::int64_t frames) {
  std::vector<std::string> unknown;
  for (const double percent : kShownPercents) {
    if (percentile_is_known(frames, percent)) continue;
    unknown.push_back(fmt::format("{} needs {} frames", percentile_name(percent),
                                  std::llround(100.0 / (100.0 - percent))));
  }
  if (!unknown.empty()) {
    fmt::print("  -: {} measured; {}\n", counted(frames, "frame"), fmt::join(unknown, ", "));
  }
}

/// All operators of the pipeline.
std::string summary_of(const LatencyReport& report) {
  std::vector<std::string> summaries;
  for (const OperatorInfo& op : report.infos) summaries.emplace_back(op.summary);
  return fmt::format("{}", fmt::join(summaries, " ! "));
}

/// Where and how the figures were measured, beside the machine.
std::string conditions_line(const LatencyReport& report) {
  const EngineConfig& engine = report.plan.engine;
  const std::string cpus = allowed_cpus();
  return fmt::format(
      "measured {} on host {}; CPUs allowed: {}; {}; {}; the engine's memory is {}",
      report.runs.front()->date, printable(host_name()), cpus.empty() ? "unknown" : cpus,
      engine.realtime_priority > 0
          ? fmt::format("real-time priority {} (SCHED_FIFO)", engine.realtime_priority)
          : std::string("no real-time priority"),
      engine.workers_only ? "only workers compute" : "the thread that waits computes, too",
      engine.lock_memory ? "locked" : "not locked");
}

nlohmann::ordered_json run_json(const LatencyReport& report, const LatencyResult& run) {
  nlohmann::ordered_json json;
  json["memory"] = memory_name(run.space);
  json["frames"] = run.measured;
  json["dropped"] = or_null(report.o.newest, run.dropped);
  json["seconds"] = run.seconds;
  json["frames_per_s"] = LatencyReport::frames_per_s(run);
  json["misses"] = or_null(report.with_budget(), run.misses);
  if (report.plan.reading) json["frames_read_correctly"] = run.read_correctly;
  json["stopped_at_miss"] = run.stopped_at_miss;
  json["longest_burst"] = run.longest_burst;
  json["late_starts"] = run.late_starts;
  json["latency_ms"] = histogram_json(run.latency);
  json["latency_bounds_ms"] = bounds_json(run.latency);
  json["latency_histogram"] = buckets_json(run.latency);
  json["worst_frames"] = worst_frames_json(run.worst);
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
    json["operators"].push_back({{"operator", report.plan.names[op]},
                                 {"work_ms", histogram_json(*run.operators[op])},
                                 {"delay_frames", run.delays[op]},
                                 {"least_bytes", report.infos[op].least_bytes},
                                 {"least_flops", report.infos[op].least_flops}});
  }
  json["footprint"] = {{"host", run.footprint.host},
                       {"pinned", run.footprint.pinned},
                       {"device", run.footprint.device}};
  json["gb_per_s_at_least"] = report.least_bytes() * LatencyReport::frames_per_s(run) * 1e-9;
  json["gpu_activity"] = activity_json(report.meter, run.gpu, run.measured);
  json["machine_state"] = {{"start", run.at_start.json()}, {"end", run.at_end.json()}};
  json["page_faults"] = run.page_faults;
  json["steal_percent"] = or_null(run.steal_percent >= 0.0, run.steal_percent);
  json["ok"] = report.keeps_budget(run);
  return json;
}

std::string state_text(const MachineState& state) {
  std::string clocks = "unknown clocks";
  if (state.cpu_mhz) {
    const auto [low, high] = *state.cpu_mhz;
    clocks = low == high ? fmt::format("{:.0f} MHz", low)
                         : fmt::format("{:.0f} to {:.0f} MHz", low, high);
  }
  return fmt::format("load {}, CPUs at {}, {}",
                     state.load.empty() ? "unknown" : state.load.substr(0, state.load.find(' ')),
                     clocks,
                     state.celsius ? fmt::format("{:.0f} degrees Celsius", *state.celsius)
                                   : std::string("temperature unknown"));
}

void print_gpu_activity(const GpuMeter& meter, const LatencyResult& run) {
  const GpuActivity& a = run.gpu;
  const std::optional<double> power = a.mean_power_w();
  if (power) {
    fmt::print("  power: mean {:.0f} W", *power);
    if (!a.power_w.empty()) fmt::print(", largest {:.0f} W", a.power_w.high);
    fmt::print(" ({}), {} mJ per frame", counted(a.samples, "sample"),
               short_number(*power * a.seconds * 1e3 / static_cast<double>(run.measured)));
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

void print_run(const LatencyReport& report, const LatencyResult& run) {
  fmt::print("\n  {:<24}", fmt::format("{} memory, ms", memory_name(run.space)));
  for (const double percent : kShownPercents) fmt::print(" {:>9}", percentile_name(percent));
  fmt::print(" {:>9}\n", "max");
  if (report.o.rate() > 0.0) {
    print_histogram("latency", run.latency);
    print_histogram("  delay of the start", run.wake);
  }
  print_histogram("work", run.work);
  if (run.operators.size() > 1) {
    for (std::size_t op = 0; op < run.operators.size(); ++op)
      print_histogram(fmt::format("  operator {}: {}", op + 1, report.plan.names[op]),
                      *run.operators[op]);
  }
  print_histogram("  queue", run.queue);
  print_histogram("  copy", run.copy);
  print_histogram("  compute", run.compute);
  print_unknown_percentiles(run.measured);
  print_bounds(run.latency);
  print_worst_frames(run.worst);
  fmt::print(
      "  jitter {:.3f} ms (standard deviation of the interval between results); longest minus "
      "shortest interval {:.3f} ms\n",
      run.intervals.deviation_ns() * 1e-6, ms(run.intervals.spread_ns()));
  if (report.o.newest) {
    fmt::print("  {} of {} dropped: a newer one was due{}\n", run.dropped,
               counted(run.due(), "frame"), report.with_budget() ? "; they count as misses" : "");
  }
  constexpr double kKept = 0.95;
  if (report.o.rate() > 0.0 && !report.o.newest &&
      LatencyReport::frames_per_s(run) < kKept * report.o.rate())
    fmt::print("  {:.1f} frames/s do not come near {:g}, so frames queue; --newest drops some\n",
               LatencyReport::frames_per_s(run), report.o.rate());
  if (report.with_budget()) {
    fmt::print("  budget {:.3f} ms{}: {} of {}", report.budget_ms(), report.percentile_text(),
               counted(run.misses, "miss", "misses"), counted(run.due(), "frame"));
    if (run.misses > 0) fmt::print(", at most {} in a row", run.longest_burst);
    fmt::print(": {}\n",
               report.undecided(run)
                   ? fmt::format("not decided, because {} of {} were not measured",
                                 report.o.frames - run.due(), counted(report.o.frames, "frame"))
               : report.keeps_budget(run) ? "kept"
                                          : "NOT KEPT");
  }
  if (report.plan.reading)
    fmt::print("  {} of {} read correctly\n", run.read_correctly, counted(run.measured, "frame"));
  fmt::print("  {:.1f} frames/s; memory traffic at least {:.2f} GB/s; {} page faults",
             LatencyReport::frames_per_s(run),
             report.least_bytes() * LatencyReport::frames_per_s(run) * 1e-9, run.page_faults);
  if (run.steal_percent >= 0.0)
    fmt::print("; {:.2f} % of the CPU time stolen by other guests", run.steal_percent);
  fmt::print("\n  machine at the start: {}; at the end: {}\n", state_text(run.at_start),
             state_text(run.at_end));
  fmt::print("  memory used: {:.1f} MB host, {:.1f} MB pinned, {:.1f} MB device\n",
             static_cast<double>(run.footprint.host) * 1e-6,
             static_cast<double>(run.footprint.pinned) * 1e-6,
             static_cast<double>(run.footprint.device) * 1e-6);
  if (run.engine.backend == BackendKind::kCuda) print_gpu_activity(report.meter, run);
}

}  // namespace

std::optional<std::int64_t> bound_rank(std::int64_t frames, double percent) {
  if (frames <= 0 || percent <= 0.0 || percent >= 100.0) return std::nullopt;
  const double p = percent / 100.0;
  const auto n = static_cast<double>(frames);
  // The number of frames within the true percentile has a binomial distribution. Its upper tail is
  // added up from 10 standard deviations above the mean; what lies beyond is below 1e-20.
  double k = std::min(n, std::ceil(n * p + 10.0 * std::sqrt(n * p * (1.0 - p))));
  double term = std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                         k * std::log(p) + (n - k) * std::log1p(-p));
  std::optional<std::int64_t> rank;
  for (double tail = term; tail <= 1.0 - kBoundConfidence / 100.0 && k >= 1.0; tail += term) {
    rank = static_cast<std::int64_t>(k);
    term *= k / (n - k + 1.0) * (1.0 - p) / p;
    k -= 1.0;
  }
  return rank;
}

std::int64_t frames_for_bound(double percent) {
  return static_cast<std::int64_t>(
      std::ceil(std::log(1.0 - kBoundConfidence / 100.0) / std::log(percent / 100.0)));
}

nlohmann::ordered_json report_json(const LatencyReport& report, bool good) {
  const LatencyResult& first = *report.runs.front();
  nlohmann::ordered_json json;
  json["version"] = version();
  json["build"] = build_json();
  json["pipeline"] = report.plan.names;
  json["input"] = report.clip.name;
  json["input_frames"] = report.clip.frames.size();
  json["size"] = {report.size().width, report.size().height};
  json["pace"] = report.o.rate() > 0.0 ? "camera" : "back to back";
  json["newest"] = report.o.newest;
  json["fps"] = or_null(report.o.rate() > 0.0, report.o.rate());
  json["warm_up"] = report.o.warm_up;
  json["date"] = first.date;
  json["host"] = host_name();
  json["interrupted"] = report.interrupted();
  json["budget_ms"] = or_null(report.with_budget(), report.budget_ms());
  json["budget_percentile"] = report.o.budget_percentile;
  json["backend"] = backend_name(first.engine.backend);
  json["device"] = first.engine.device_name;
  json["workers"] = first.engine.workers;
  json["simd"] = first.engine.simd_target;
  const std::string cpus = allowed_cpus();
  json["cpu_affinity"] = or_null(!cpus.empty(), cpus);
  json["realtime_priority"] = report.plan.engine.realtime_priority;
  json["workers_only"] = report.plan.engine.workers_only;
  json["memory_locked"] = report.plan.engine.lock_memory;
  json["copy_threads"] = report.plan.engine.device_copy_threads;
  json["zero_copy"] = first.engine.zero_copy;
  json["machine"] = machine_json();
  json["gpu"] = gpu_json(first.engine, report.meter);
  json["config"] = config_json(report.plan.operators.front());
  json["configs"] = nlohmann::ordered_json::array();
  for (const OperatorConfig& op : report.plan.operators) json["configs"].push_back(config_json(op));
  json["files"] = nlohmann::ordered_json::array();
  for (const NamedFile& file : report.files)
    json["files"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"xxh64", file.xxh64}});
  json["delay_frames"] = first.delays.front();
  // The keys of the first run are repeated at the top level, so that a reader of a single run needs
  // no index. The long ones are not.
  json["runs"] = nlohmann::ordered_json::array();
  for (const auto& run : report.runs) json["runs"].push_back(run_json(report, *run));
  nlohmann::ordered_json copy = json["runs"].front();
  for (const char* key : {"latency_histogram", "worst_frames"}) copy.erase(key);
  json.update(copy);
  json["ok"] = good;
  return json;
}

void print_report(const LatencyReport& report) {
  const EngineInfo& info = report.runs.front()->engine;
  fmt::print("{}: {} from {} of {}, back and forth, {}x{} {}\n", printable(report.o.pipeline),
             counted(report.runs.front()->measured, "frame"),
             counted(report.clip.frames.size(), "frame"), printable(report.clip.name),
             report.size().width, report.size().height, report.pace());
  fmt::print("{}; {}, {}\n", printable(summary_of(report)), info.device_name, cpu_text(info));
  fmt::print("build: {}\n", build_line());
  for (const NamedFile& file : report.files)
    fmt::print("file: {}, XXH64 {}\n", printable(file.path), file.xxh64);
  fmt::print("machine: {}\n", machine_line());
  fmt::print("{}\n", conditions_line(report));
  if (info.backend == BackendKind::kCuda) fmt::print("GPU: {}\n", gpu_line(info, report.meter));
  for (const auto& run : report.runs) print_run(report, *run);
  if (!report.o.plot.empty()) fmt::print("  written: {}\n", printable(report.o.plot));
  if (!report.o.samples.empty()) fmt::print("  written: {}\n", printable(report.o.samples));
}

void plot_report(const LatencyReport& report) {
  const EngineInfo& info = report.runs.front()->engine;
  LatencyPlot plot;
  plot.title = fmt::format("Latency of {}, {}x{} pixels, {}", report.o.pipeline,
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
      summary_of(report));
  const double stolen = report.runs.front()->steal_percent;
  plot.machine = fmt::format(
      "{}, {}{}{}", info.device_name, cpu_text(info),
      report.meter.driver().empty() ? std::string() : ", driver " + report.meter.driver(),
      stolen >= 0.05 ? fmt::format("; {:.1f} % of the CPU time stolen", stolen) : "");
  for (const auto& run : report.runs) {
    const double fps = LatencyReport::frames_per_s(*run);
    plot.series.push_back({fmt::format("{} memory", memory_name(run->space)), &run->latency,
                           &run->latencies_ms, fps > 0.0 ? fps : 1.0});
  }
  plot.budget_ms = report.budget_ms();
  plot.budget_name =
      fmt::format("budget {} ms{}", short_number(report.budget_ms()), report.percentile_text());
  write_latency_svg(report.o.plot, plot);
}

}  // namespace ocellus::app
