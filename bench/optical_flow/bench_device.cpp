// The rows of `ocellus bench flow` on a CUDA device, with frames and results in device memory: this
// library, and the paper's schedules as in its figures 10 to 12.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/optical_flow/run.h"
#include "bench/device_rows.h"
#include "bench/optical_flow/bench.h"
#include "bench/papers/optical_flow/paper_flow.h"

namespace ocellus::app {
namespace {

using cuda::DeviceLimits;
using paper::FrameMemory;
using paper::PaperFilter;
using paper::PaperFlow;
using paper::Schedule;

std::string results_memory(const FlowBenchOptions& options) {
  return options.results.value_or("device");
}

// Groups of rows.
constexpr std::string_view kOurs = "ours";
/// The whole flow by one of the paper's schedules.
constexpr std::string_view kPaper = "paper";
/// Packages of convolutions without the flow.
constexpr std::string_view kFigure10 = "paper, figure 10";
/// With frames and results in host memory, as in the paper.
constexpr std::string_view kFigure11 = "paper, figures 11 and 12";

struct Row : DeviceRow {
  Footprint footprint{};
  std::optional<FlowErrors> errors{};
};

/// The rows for one input.
struct FlowDeviceTable {
  const BenchInput* input;
  std::vector<Row> rows;

  /// The row of this library for the paper's task: kernels for each pixel, stored as float.
  const Row* ours() const {
    return find_row(rows, [](const Row& row) {
      return row.group == kOurs && row.config.value("kernels", "") == "per-pixel" &&
             row.config["storage"] == "float";
    });
  }
  /// The row of a single convolution on the same schedule. Figure 10 expects a package to take a
  /// multiple of its time.
  const Row* single(const Row& package) const {
    return find_row(rows, [&](const Row& row) {
      return row.group == kFigure10 && row.config["package"] == 1 &&
             row.config["frames_in"] == package.config["frames_in"];
    });
  }
};

// ---- measurement

class DeviceBench {
 public:
  DeviceBench(const FlowBenchOptions& options, const EngineConfig& engine, const BenchInput& input)
      : options_(options), engine_(engine), input_(input) {
    const KernelConfig kernels = paper_config().kernels;
    taps_ = {kernels.nx, kernels.ny, kernels.nt};
    if (options.ours()) add_ours();
    if (options.papers()) add_papers();
  }

  std::size_t rows() const { return jobs_.size(); }
  FlowDeviceTable run(const std::function<void()>& done) {
    FlowDeviceTable table{&input_, {}};
    for (Job& job : jobs_) {
      job.measure(job.row);
      table.rows.push_back(std::move(job.row));
      done();
    }
    return table;
  }

 private:
  struct Job {
    Row row;
    std::function<void(Row&)> measure;
  };

  void add_ours() {
    for (BenchMethod& method : bench_methods(options_, input_.clip)) {
      OpticalFlowConfig config = method.config;
      config.depth = depth();
      const OperatorConfig described(config);
      Row row{
          {std::move(method.name), kOurs, least_work(info_of(described)), config_json(described)}};
      add_flow<OpticalFlow>(std::move(row), config);
    }
  }

  void add_papers() {
    for (const FrameMemory memory : {FrameMemory::kGlobal, FrameMemory::kShared})
      for (int package = 1; package <= 3; ++package) add_schedule({memory, package});
    for (const FrameMemory memory : {FrameMemory::kGlobal, FrameMemory::kShared})
      for (int package = 1; package <= paper::kMaxPackage; ++package)
        add_package({memory, package});
    add_with_transfers(false);
    add_with_transfers(true);
  }

  /// Measures the row, and its accuracy if the truth is known.
  template <typename Operator, typename Config>
  void add_flow(Row row, const Config& config) {
    jobs_.push_back({std::move(row), [this, config](Row& to) {
                       measure(to, maker_of<Operator>(config), {MemorySpace::kCuda, results()}, 0,
                               [&](DeviceRun& run) {
                                 if (input_.truth) to.errors = errors_of<Operator>(run, config);
                               });
                     }});
  }

  /// The errors with the largest temporal support that fits in the frames.
  template <typename Operator, typename Config>
  FlowErrors errors_of(DeviceRun& run, Config config) {
    const Clip& clip = input_.clip;
    const int wanted = run.info().support_frames;
    const auto support = choose_support(config, input_.number, clip.first, clip.last());
    std::vector<const GrayImage*> seen;
    for (long n = input_.number - support->before(); n <= input_.number + support->after(); ++n)
      seen.push_back(&clip.number(n));
    if (support->frames == wanted) return input_.errors(flow_after(run, seen));
    config.kernels.nt = support->frames;
    DeviceRun shorter(engine_, maker_of<Operator>(config), MemorySpace::kCuda, seen);
    return input_.errors(flow_after(shorter, seen));
  }

  static FlowField flow_after(DeviceRun& run, const std::vector<const GrayImage*>& frames) {
    FlowField field(run.info().planes[0].size, false);
    std::vector<std::vector<float>> planes = run.planes_after(frames, 2);
    field.u = std::move(planes[0]);
    field.v = std::move(planes[1]);
    return field;
  }

  void add_schedule(const Schedule& schedule) {
    paper::WithSchedule<OpticalFlowConfig> config;
    static_cast<OpticalFlowConfig&>(config) = paper_config();
    config.schedule = schedule;
    Row row{
        {fmt::format("paper: {} memory, package of {}", memory_name(schedule), schedule.package),
         kPaper, paper_work(3, 3, true), schedule_json(schedule, 3)}};
    add_flow<PaperFlow>(std::move(row), config);
  }

  /// Adds a package of convolutions. The first three are the derivatives.
  void add_package(const Schedule& schedule) {
    paper::WithSchedule<SpatioTemporalFilterConfig> config = filter_config(schedule.package);
    config.schedule = schedule;
    Row row{{fmt::format("figure 10: {} memory, {}", memory_name(schedule),
                         counted(schedule.package, "convolution")),
             kFigure10, paper_work(schedule.package, schedule.package, false),
             schedule_json(schedule, schedule.package)}};
    add_filter(std::move(row), config, MemorySpace::kCuda);
  }

  /// Figure 11: three planes of derivatives, or two planes of flow, are copied to the host.
  void add_with_transfers(bool flow) {
    const Schedule schedule;
    Row row{{flow ? "figure 11: 3 convolutions and flow" : "figure 11: 3 convolutions", kFigure11,
             paper_work(3, flow ? 2 : 3, flow), schedule_json(schedule, 3)}};
    row.config["memory"] = "pinned";
    row.config["planes"] = flow ? 2 : 3;
    if (!flow) return add_filter(std::move(row), filter_config(3), MemorySpace::kPinned);
    paper::WithSchedule<OpticalFlowConfig> config;
    static_cast<OpticalFlowConfig&>(config) = paper_config();
    jobs_.push_back({std::move(row), [this, config](Row& to) {
                       measure(to, maker_of<PaperFlow>(config), MemorySpace::kPinned, 2);
                     }});
  }

  void add_filter(Row row, const paper::WithSchedule<SpatioTemporalFilterConfig>& config,
                  MemorySpace space) {
    jobs_.push_back({std::move(row), [this, config, space](Row& to) {
                       measure(to, maker_of<PaperFilter>(config), space);
                     }});
  }

  void measure(Row& row, const OperatorMaker& maker, const RunMemory& memory, int planes = 0,
               const std::function<void(DeviceRun&)>& then = {}) const {
    row.measure(engine_, maker, memory, frames_in_flight(input_.clip, depth()),
                options_.device_frames(), planes, [&](DeviceRun& run) {
                  row.footprint = run.footprint();
                  if (then) then(run);
                });
  }

  OpticalFlowConfig paper_config() const {
    const OperatorConfig described = operator_config(
        "flow", {{"method", "kernels"}, {"kernels", "per-pixel"}, {"taps", options_.taps}},
        input_.clip.size(), input_.clip.format());
    OpticalFlowConfig config = *described.get_if<OpticalFlowConfig>();
    config.depth = depth();
    return config;
  }

  /// The library makes three convolutions. For another number, the taps are made here.
  paper::WithSchedule<SpatioTemporalFilterConfig> filter_config(int convolutions) {
    paper::WithSchedule<SpatioTemporalFilterConfig> config;
    const OpticalFlowConfig flow = paper_config();
    config.size = flow.size;
    config.format = flow.format;
    config.depth = flow.depth;
    config.kernels = flow.kernels;
    config.schedule.package = convolutions;
    if (convolutions == 3) return config;
    config.kernels.convolutions = convolutions;
    config.kernels.origin = KernelOrigin::kCallback;
    config.kernels.callback = write_taps;
    config.kernels.user = &taps_;
    return config;
  }

  /// Taps of a mean. The time does not depend on the taps.
  static void write_taps(void* user, int, int, int, int, float* wx, float* wy, float* wt) {
    const auto& taps = *static_cast<const std::vector<int>*>(user);
    float* const arrays[] = {wx, wy, wt};
    for (std::size_t axis = 0; axis < 3; ++axis)
      std::fill_n(arrays[axis], taps[axis], 1.0f / static_cast<float>(taps[axis]));
  }

  /// The least cost of the paper's method: reading every tap and every stored frame once, and the
  /// operations of its equation (4).
  Workload paper_work(int convolutions, int planes, bool flow) const {
    const OpticalFlowConfig config = paper_config();
    const KernelConfig& k = config.kernels;
    const double pixels = static_cast<double>(config.size.width) * config.size.height;
    const double taps = static_cast<double>(convolutions) * (k.nx + k.ny + k.nt);
    Workload work;
    work.bytes = pixels * (4.0 * (taps + k.nt + planes) + bytes_per_pixel(config.format));
    work.flops = pixels * convolutions * paper::operations(k) + (flow ? solution_flops() : 0.0);
    return work;
  }

  /// The operations that flow has and the filter has not: the sums of the window and the solution
  /// from the derivatives.
  double solution_flops() const {
    const OpticalFlowConfig flow = paper_config();
    SpatioTemporalFilterConfig filter;
    filter.size = flow.size;
    filter.format = flow.format;
    filter.kernels = flow.kernels;
    return info_of(OperatorConfig(flow)).least_flops - info_of(OperatorConfig(filter)).least_flops;
  }

  static const char* memory_name(const Schedule& schedule) {
    return schedule.frames == FrameMemory::kShared ? "shared" : "global";
  }
  nlohmann::ordered_json schedule_json(const Schedule& schedule, int convolutions) const {
    return {{"frames_in", memory_name(schedule)},
            {"package", schedule.package},
            {"convolutions", convolutions},
            {"taps", taps_}};
  }

  int depth() const { return options_.in_flight(); }
  MemorySpace results() const {
    return results_memory(options_) == "pinned" ? MemorySpace::kPinned : MemorySpace::kCuda;
  }

  const FlowBenchOptions& options_;
  const EngineConfig& engine_;
  const BenchInput& input_;
  std::vector<int> taps_;
  std::vector<Job> jobs_;
};

// ---- reports

Json row_json(const Row& row, const FlowDeviceTable& table, const DeviceLimits& limits) {
  Json r = row_of(row.name, std::string(row.group), table.input->clip);
  r["config"] = row.config;
  if (!add_figures(r, row, limits)) return r;
  r["fits_l2"] = row.work.bytes <= static_cast<double>(limits.l2_bytes);
  if (row.group == kPaper && table.ours() != nullptr)
    r["ours_faster_by"] = table.ours()->times.rate() / row.times.rate();
  if (row.group == kFigure10 && table.single(row) != nullptr)
    r["expected_ms"] = row.config["package"].get<int>() * table.single(row)->ms();
  r["footprint"] = {{"host", row.footprint.host},
                    {"pinned", row.footprint.pinned},
                    {"device", row.footprint.device}};
  if (row.errors && row.errors->compared > 0) r["accuracy"] = errors_json(*row.errors);
  return r;
}

/// What follows the figures of a row.
std::string row_end(const Json& row) {
  std::string text = row["fits_l2"].get<bool>() ? "*" : " ";
  text += errors_text(row);
  if (row.contains("ours_faster_by"))
    text += fmt::format("  ours {:.1f} times as fast", row["ours_faster_by"].get<double>());
  if (row.contains("expected_ms") && row["config"]["package"] != 1)
    text += fmt::format("  expected from single convolutions {:.1f}",
                        1e3 * row["expected_ms"].get<double>());
  return text;
}

/// The line below a table.
std::string best_of_paper(const FlowDeviceTable& table) {
  const Row* const ours = table.ours();
  const Row* const best = fastest_of(table.rows, kPaper);
  if (best == nullptr) return "";
  const std::string text =
      fmt::format("the paper's best: {}", best->name.substr(best->name.find(' ') + 1));
  if (ours == nullptr) return text;
  return text + fmt::format("; {} is {:.1f} times as fast", ours->name,
                            ours->times.rate() / best->times.rate());
}

}  // namespace

int bench_on_device(const FlowBenchOptions& o, const EngineConfig& engine, const EngineInfo& info,
                    const std::vector<BenchInput>& inputs) {
  const DeviceLimits limits = device_limits(engine);
  std::vector<DeviceBench> benches;
  std::size_t row_count = 0;
  benches.reserve(inputs.size());  // the rows refer to the elements
  for (const BenchInput& input : inputs) {
    benches.emplace_back(o, engine, input);
    row_count += benches.back().rows();
  }
  std::vector<FlowDeviceTable> tables;
  {
    Progress progress("bench flow", static_cast<std::int64_t>(row_count));
    std::int64_t done = 0;
    for (DeviceBench& bench : benches)
      tables.push_back(bench.run([&] { progress.update(++done); }));
  }

  BenchReport report;
  report.json = bench_json(o, info, inputs);
  report.json["depth"] = o.in_flight();
  report.json["memory"] = "device";
  report.json["results"] = results_memory(o);
  report.json["machine"] = machine_json(info, limits);
  report.begin = fmt::format(
      "ocellus {} bench flow: frames in device memory, results in {} memory, {} in flight\n{}",
      version(), results_memory(o), counted(o.in_flight(), "frame"), machine_text(info, limits));
  report.columns = {{"", "name", -38},
                    {"frames/s", "frames_per_s", 8},
                    {"us each", "frame_ms", 9, 1, 1e3},
                    {"alone p50", "median_ms", 9, 1, 1e3},
                    {"p99", "p99_ms", 9, 1, 1e3},
                    {"device", "device_median_ms", 9, 1, 1e3},
                    {"MB", "mb_per_frame", 8, 1},
                    {"MFLOP", "mflop_per_frame", 8},
                    {"floor us", "floor_ms", 9, 1, 1e3},
                    {"ratio", "ratio", 6, 2}};
  report.row_end = row_end;
  for (const FlowDeviceTable& table : tables) {
    BenchRows& rows = report.tables.emplace_back();
    rows.name = table.input->clip.name;
    rows.heading_end = table.input->truth ? " " + errors_heading() : " ";
    for (const Row& row : table.rows) rows.rows.push_back(row_json(row, table, limits));
    rows.end = best_of_paper(table);
  }
  report.end = fmt::format(
      "\nframes/s and us each: with {} in flight, the median of several runs. alone: from submit "
      "until wait has\nreturned, one frame at a time. device: the time of the kernels in it. MB "
      "and MFLOP: the least that a frame needs (for the paper's\nrows: by its method). floor: the "
      "time for these at the limits above. ratio: us each / floor. *: all data fits in the "
      "L2\ncache, which is faster than the memory of the floor.\n",
      counted(o.in_flight(), "frame"));
  if (o.papers())
    report.end +=
        "Figures 11 and 12 (one node): frames and results in pinned host memory, one frame at a "
        "time and with frames in flight.\n";
  return report.print(o.common.json);
}

}  // namespace ocellus::app
