// The rows of `ocellus bench halftone` on a CUDA device, with frames and results in device memory.
// It compares this library with the paper's schedules and with one core of the CPU, as tables 1 and
// 2 of the paper do.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apps/common/printable.h"
#include "bench/device_machine.h"
#include "bench/device_rows.h"
#include "bench/device_run.h"
#include "bench/halftone/bench.h"
#include "bench/papers/halftone/paper_cellular_network.h"

namespace ocellus::app {
namespace {

using paper::CellMemory;
using paper::CellSchedule;
using paper::PaperCellularNetwork;
using paper::PaperCellularNetworkConfig;

/// Frames for the row of one CPU core.
constexpr int kCoreFrames = 20;
/// The paper's networks do not detect that they have converged. This number of sweeps is always
/// enough.
constexpr int kSafeSweeps = 60;

// Groups of rows.
constexpr std::string_view kOurs = "ours";
/// The paper's task, computed by this library.
constexpr std::string_view kTask = "ours, the paper's task";
/// The same by one of the paper's schedules, with as many sweeps.
constexpr std::string_view kPaper = "paper";
/// The same by the paper's best schedule, with kSafeSweeps.
constexpr std::string_view kSafe = "paper, without a look at the fixed point";
/// The same by this library on one core of the CPU.
constexpr std::string_view kCore = "ours, one core of the CPU";

struct Row : DeviceRow {
  std::optional<CellQuality> quality{};
};

struct CellDeviceTable {
  const Clip* clip;
  std::vector<Row> rows;

  const Row* first(std::string_view group) const {
    for (const Row& row : rows)
      if (row.group == group && row.has_figures()) return &row;
    return nullptr;
  }
};

std::string schedule_name(const CellSchedule& schedule) {
  const char* const memory = schedule.memory == CellMemory::kGlobal ? "global memory"
                             : schedule.memory == CellMemory::kSharedX
                                 ? "shared memory along x"
                                 : "shared memory along x and y";
  const bool groups = schedule.memory == CellMemory::kSharedXY;
  return fmt::format("paper: {}, {} {}{} a block", memory, schedule.rows, groups ? "group" : "row",
                     schedule.rows == 1 ? "" : "s");
}

class CellDeviceBench {
 public:
  CellDeviceBench(const HalftoneBenchOptions& options, const EngineConfig& engine, const Clip& clip)
      : options_(options),
        engine_(engine),
        clip_(clip),
        frames_(frames_in_flight(clip, options.in_flight())) {}

  static int rows_of(const HalftoneBenchOptions& options) {
    return (options.ours() ? static_cast<int>(std::size(kHalftones)) : 0) +
           (options.papers() ? 9 : 0);
  }

  CellDeviceTable run(const std::function<void()>& done) {
    CellDeviceTable table{&clip_, {}};
    const auto add = [&](Row row) {
      table.rows.push_back(std::move(row));
      done();
    };
    if (options_.ours())
      for (const BenchConfig& config : kHalftones) {
        add(ours(kOurs, config.name,
                 operator_config("halftone", options_of(config), clip_.size(), clip_.format())));
      }
    if (!options_.papers()) return table;
    const OperatorConfig task =
        operator_config("cnn", options_of(kPaperTask), clip_.size(), clip_.format());
    add(ours(kTask, kPaperTask.name, task));
    const int sweeps = table.rows.back().quality ? table.rows.back().quality->record.sweeps : 1;
    for (const CellMemory memory :
         {CellMemory::kGlobal, CellMemory::kSharedX, CellMemory::kSharedXY})
      for (int rows = 1; rows <= 2; ++rows) add(of_paper(kPaper, task, {memory, rows}, sweeps));
    add(of_paper(kSafe, task, best_, kSafeSweeps));
    add(one_core(task));
    return table;
  }

 private:
  Row ours(std::string_view group, const std::string& name, OperatorConfig config) {
    Row row = make_row(group, name, config);
    take(config.set_option("depth", fmt::format("{}", depth())), "--depth");
    measure(row, maker_of(config));
    row.quality = quality_of(engine_, config, clip_, options_.sigma);
    return row;
  }

  static Row make_row(std::string_view group, const std::string& name,
                      const OperatorConfig& config) {
    return {{name, group, least_work(info_of(config)), config_json(config)}};
  }

  /// The stages of the paper's task.
  CellularNetworkConfig network() const {
    CellularNetworkConfig network;
    network.size = clip_.size();
    network.format = clip_.format();
    network.depth = depth();
    network.stage_count = take(parse_cell_chain("hlf3", network.stages), "hlf3");
    network.stages[0].start = CellStart::kNoise;
    network.stages[0].color_spacing = 3;
    return network;
  }

  Row of_paper(std::string_view group, const OperatorConfig& task, const CellSchedule& schedule,
               int sweeps) {
    Row row = make_row(group, schedule_name(schedule), task);
    if (group == kSafe) row.name += fmt::format(", {} sweeps", sweeps);
    row.config["sweeps"] = sweeps;
    row.config["rows"] = schedule.rows;
    PaperCellularNetworkConfig config{network(), schedule};
    config.stages[0].max_sweeps = sweeps;
    measure(row, maker_of<PaperCellularNetwork>(config));
    if (group == kPaper && row.has_figures() && row.ms() < best_ms_) {
      best_ms_ = row.ms();
      best_ = schedule;
    }
    return row;
  }

  Row one_core(const OperatorConfig& task) {
    Row row = make_row(kCore, fmt::format("{} on one CPU core", kPaperTask.name), task);
    EngineConfig engine = engine_;
    engine.backend = {};
    engine.backend.choice = BackendChoice::kCpu;
    engine.workers = 1;
    CellRun run(engine, task);
    std::vector<double> ms;
    for (int i = 0; i < kCoreFrames; ++i) {
      const FrameInfo info =
          run.step(frames_[static_cast<std::size_t>(i) % frames_.size()]->view(0, 0));
      ms.push_back(static_cast<double>(info.compute_ns) * 1e-6);
    }
    row.times.alone_ms = row.times.device_ms = ms;
    row.times.frames_in_run = kCoreFrames;
    row.times.rates = {1e3 / percentile(ms, 50.0)};
    return row;
  }

  void measure(Row& row, const OperatorMaker& maker) const {
    row.measure(engine_, maker, MemorySpace::kCuda, frames_, options_.device_frames());
  }

  int depth() const { return options_.in_flight(); }

  const HalftoneBenchOptions& options_;
  const EngineConfig& engine_;
  const Clip& clip_;
  std::vector<const GrayImage*> frames_;
  CellSchedule best_;
  double best_ms_ = 1e300;
};

Json row_json(const Row& row, const CellDeviceTable& table, const cuda::DeviceLimits& limits) {
  Json r = row_of(row.name, std::string(row.group), *table.clip);
  if (!row.has_figures()) {
    r["not_run"] = row.refusal;
    return r;
  }
  add_times(r, row.times);
  r["mpixel_per_s"] = table.clip->pixels() * 1e-3 / row.ms();
  if (row.group != kCore) {
    add_floor(r, row.work, limits);
    r["ratio"] = row.ms() / floor_of(row.work, limits).ms;
  }
  if (row.quality) add_quality(r, *row.quality);
  const Row* const core = table.first(kCore);
  const Row* const task = table.first(kTask);
  if (core != nullptr && row.group != kOurs) r["times_one_core"] = core->ms() / row.ms();
  if (task != nullptr && (row.group == kPaper || row.group == kSafe))
    r["ours_faster_by"] = row.ms() / task->ms();
  r["config"] = row.config;
  return r;
}

/// The speedup over one core or over the paper's schedule, as in the paper's tables.
std::string row_end(const Json& row) {
  std::string text;
  if (row.contains("times_one_core") && row["group"] != kCore)
    text += fmt::format("  {:.1f} times one core", row["times_one_core"].get<double>());
  if (row.contains("ours_faster_by"))
    text += fmt::format(", ours {:.1f} times as fast", row["ours_faster_by"].get<double>());
  return text;
}

/// The line below a table.
std::string best_of_paper(const CellDeviceTable& table) {
  const Row* const best = fastest_of(table.rows, kPaper);
  const Row* const task = table.first(kTask);
  if (best == nullptr || task == nullptr) return "";
  return fmt::format("the paper's best{}; ours is {:.1f} times as fast with as many sweeps",
                     best->name.substr(best->name.find(':')), best->ms() / task->ms());
}

}  // namespace

int bench_cells_on_device(const HalftoneBenchOptions& o, const EngineConfig& engine,
                          const EngineInfo& info, const std::vector<Clip>& clips) {
  const cuda::DeviceLimits limits = device_limits(engine);
  std::vector<CellDeviceTable> tables;
  {
    Progress progress("bench halftone",
                      static_cast<std::int64_t>(clips.size()) * CellDeviceBench::rows_of(o));
    std::int64_t done = 0;
    for (const Clip& clip : clips) {
      CellDeviceBench bench(o, engine, clip);
      tables.push_back(bench.run([&] { progress.update(++done); }));
    }
  }
  BenchReport report;
  report.json = bench_head("halftone", info);
  report.json["depth"] = o.in_flight();
  report.json["memory"] = "device";
  report.json["sigma"] = o.sigma;
  report.json["machine"] = machine_json(info, limits);
  report.begin = fmt::format(
      "ocellus {} bench halftone: frames and results in device memory, {} in flight\n{}", version(),
      counted(o.in_flight(), "frame"), machine_text(info, limits));
  report.columns = {{"", "name", -46},
                    {"frames/s", "frames_per_s", 8},
                    {"us each", "frame_ms", 9, 1, 1e3},
                    {"alone p50", "median_ms", 9, 1, 1e3},
                    {"p99", "p99_ms", 9, 1, 1e3},
                    {"device", "device_median_ms", 9, 1, 1e3},
                    {"floor us", "floor_ms", 9, 1, 1e3},
                    {"ratio", "ratio", 6, 1},
                    {"sweeps", "sweeps", 7},
                    {"seen dB", "hvs_psnr", 8, 2}};
  report.row_end = row_end;
  for (const CellDeviceTable& table : tables) {
    BenchRows& rows = report.tables.emplace_back();
    rows.name = table.clip->name;
    for (const Row& row : table.rows) rows.rows.push_back(row_json(row, table, limits));
    rows.end = best_of_paper(table);
  }
  report.end = fmt::format(
      "\nframes/s and us each: with {} in flight, the median of several runs. alone: from submit "
      "until wait has\nreturned, one frame at a time. device: the time of the kernels in it. "
      "floor: if each pixel is read and written once and each stage\ncomputes its sums once, at "
      "the limits above. ratio: us each / floor. sweeps and seen dB: {};\nseen dB: PSNR after a "
      "Gaussian of sigma {:g} on both images.\n",
      counted(o.in_flight(), "frame"), kQualityOf, o.sigma);
  return report.print(o.common.json);
}

}  // namespace ocellus::app
