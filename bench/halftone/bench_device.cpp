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

enum class Group {
  kOurs,
  kTask,   ///< the paper's task, computed by this library
  kPaper,  ///< the same by one of the paper's schedules, with as many sweeps
  kSafe,   ///< the same by the paper's best schedule, with kSafeSweeps
  kCore,   ///< the same by this library on one core of the CPU
};

const char* group_name(Group group) {
  switch (group) {
    case Group::kOurs:
      return "ours";
    case Group::kTask:
      return "ours, the paper's task";
    case Group::kPaper:
      return "paper";
    case Group::kSafe:
      return "paper, without a look at the fixed point";
    case Group::kCore:
      return "ours, one core of the CPU";
  }
  return "";
}

/// One row of the table.
struct Row : DeviceRow<Group> {
  using DeviceRow::DeviceRow;

  double ms() const { return times.frame_ms(); }

  std::optional<CellQuality> quality;
};

struct CellDeviceTable {
  const Clip* clip;
  std::vector<Row> rows;

  const Row* first(Group group) const {
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
      : options_(options), engine_(engine), clip_(clip) {
    for (int i = 0; i < depth(); ++i) frames_.push_back(&clip.cyclic(static_cast<std::size_t>(i)));
  }

  static int rows_of(const HalftoneBenchOptions& options) {
    return (options.ours() ? static_cast<int>(cell_methods().size()) : 0) +
           (options.papers() ? 9 : 0);
  }

  CellDeviceTable run(const std::function<void()>& done) {
    CellDeviceTable table{&clip_, {}};
    const auto add = [&](Row row) {
      table.rows.push_back(std::move(row));
      done();
    };
    if (options_.ours())
      for (const CellMethod& method : cell_methods()) {
        add(ours(Group::kOurs, method.name,
                 operator_config("halftone", method.options, clip_.size(), clip_.format())));
      }
    if (!options_.papers()) return table;
    // The paper's figures show halftones of a 3x3 template in nine colors.
    const OperatorConfig task =
        operator_config("cnn", {{"template", "hlf3"}, {"start", "noise"}, {"color_spacing", "3"}},
                        clip_.size(), clip_.format());
    add(ours(Group::kTask, "hlf3 in nine colors", task));
    const int sweeps = table.rows.back().quality ? table.rows.back().quality->record.sweeps : 1;
    for (const CellMemory memory :
         {CellMemory::kGlobal, CellMemory::kSharedX, CellMemory::kSharedXY})
      for (int rows = 1; rows <= 2; ++rows)
        add(of_paper(Group::kPaper, task, {memory, rows}, sweeps));
    add(of_paper(Group::kSafe, task, best_, kSafeSweeps));
    add(one_core(task));
    return table;
  }

 private:
  Row ours(Group group, const std::string& name, OperatorConfig config) {
    Row row = row_of(group, name, config);
    take(config.set_option("depth", fmt::format("{}", depth())), "--depth");
    measure(row, maker_of(config));
    row.quality = quality_of(engine_, config, clip_, options_.sigma);
    return row;
  }

  static Row row_of(Group group, const std::string& name, const OperatorConfig& config) {
    return {group, name, least_work(info_of(config)), config_json(config)};
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

  Row of_paper(Group group, const OperatorConfig& task, const CellSchedule& schedule, int sweeps) {
    Row row = row_of(group, schedule_name(schedule), task);
    if (group == Group::kSafe) row.name += fmt::format(", {} sweeps", sweeps);
    row.config["sweeps"] = sweeps;
    row.config["rows"] = schedule.rows;
    PaperCellularNetworkConfig config{network(), schedule};
    config.stages[0].max_sweeps = sweeps;
    measure(row, maker_of<PaperCellularNetwork>(config));
    if (group == Group::kPaper && row.has_figures() && row.ms() < best_ms_) {
      best_ms_ = row.ms();
      best_ = schedule;
    }
    return row;
  }

  Row one_core(const OperatorConfig& task) {
    Row row = row_of(Group::kCore, "hlf3 in nine colors on one CPU core", task);
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

  void measure(Row& row, const OperatorMaker& maker) {
    try {
      DeviceRun run(engine_, maker, MemorySpace::kCuda, frames_);
      row.times = run.measure(options_.device_frames());
    } catch (const RowRefused& refused) {
      row.refusal = refused.what();
    }
  }

  int depth() const { return options_.in_flight(); }

  const HalftoneBenchOptions& options_;
  const EngineConfig& engine_;
  const Clip& clip_;
  std::vector<const GrayImage*> frames_;
  CellSchedule best_;
  double best_ms_ = 1e300;
};

/// The speedup over one core or over the paper's schedule, as in the paper's tables.
std::string speed_text(const Row& row, const CellDeviceTable& table) {
  const Row* const core = table.first(Group::kCore);
  const Row* const task = table.first(Group::kTask);
  std::string text;
  const bool of_task = row.group != Group::kOurs && row.group != Group::kCore;
  if (of_task && core != nullptr)
    text += fmt::format("  {:.1f} times one core", core->ms() / row.ms());
  if ((row.group == Group::kPaper || row.group == Group::kSafe) && task != nullptr)
    text += fmt::format(", ours {:.1f} times as fast", row.ms() / task->ms());
  return text;
}

nlohmann::ordered_json row_json(const Row& row, const CellDeviceTable& table,
                                const cuda::DeviceLimits& limits) {
  nlohmann::ordered_json r;
  const ImageSize size = table.clip->size();
  r["name"] = row.name;
  r["group"] = group_name(row.group);
  r["input"] = table.clip->name;
  r["size"] = {size.width, size.height};
  if (!row.has_figures()) {
    r["not_run"] = row.refusal;
    return r;
  }
  const DeviceTimes& t = row.times;
  add_times(r, t);
  r["mpixel_per_s"] = table.clip->pixels() * 1e-3 / t.frame_ms();
  if (row.group != Group::kCore) {
    add_floor(r, row.work, limits);
    r["ratio"] = t.frame_ms() / floor_of(row.work, limits).ms;
  }
  if (row.quality) add_quality(r, *row.quality);
  const Row* const core = table.first(Group::kCore);
  const Row* const task = table.first(Group::kTask);
  if (core != nullptr && row.group != Group::kOurs) r["times_one_core"] = core->ms() / row.ms();
  if (task != nullptr && (row.group == Group::kPaper || row.group == Group::kSafe))
    r["ours_faster_by"] = row.ms() / task->ms();
  r["config"] = row.config;
  return r;
}

void print_table(const CellDeviceTable& table, const cuda::DeviceLimits& limits) {
  fmt::print("\n{:<46} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7} {:>8}\n",
             printable(table.clip->name), "frames/s", "us each", "alone p50", "p99", "device",
             "floor us", "ratio", "sweeps", "seen dB");
  for (const Row& row : table.rows) {
    if (!row.has_figures()) {
      fmt::print("{:<46} not run: {}\n", row.name, row.refusal);
      continue;
    }
    const DeviceTimes& t = row.times;
    const Floor floor = floor_of(row.work, limits);
    const bool device = row.group != Group::kCore;
    fmt::print("{:<46} {:>8.0f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9} {:>9} {:>6} {:>7} {:>8}{}\n",
               row.name, t.rate(), 1e3 * t.frame_ms(), 1e3 * percentile(t.alone_ms, 50.0),
               1e3 * percentile(t.alone_ms, 99.0),
               device ? fmt::format("{:.1f}", 1e3 * percentile(t.device_ms, 50.0)) : "-",
               device ? fmt::format("{:.1f}", 1e3 * floor.ms) : "-",
               device ? fmt::format("{:.1f}", t.frame_ms() / floor.ms) : "-",
               row.quality ? fmt::format("{}", row.quality->record.sweeps) : "-",
               row.quality ? seen_text(*row.quality) : "-", speed_text(row, table));
  }
  const Row* const best = fastest_of(table.rows, Group::kPaper);
  const Row* const task = table.first(Group::kTask);
  if (best == nullptr || task == nullptr) return;
  fmt::print("the paper's best{}; ours is {:.1f} times as fast with as many sweeps\n",
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
  const int depth = o.in_flight();
  if (o.common.json) {
    nlohmann::ordered_json json = bench_head("halftone", info);
    json["depth"] = depth;
    json["memory"] = "device";
    json["sigma"] = o.sigma;
    json["machine"] = machine_json(info, limits);
    json["rows"] = nlohmann::ordered_json::array();
    for (const CellDeviceTable& table : tables)
      for (const Row& row : table.rows) json["rows"].push_back(row_json(row, table, limits));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench halftone: frames and results in device memory, {} in flight\n",
             version(), counted(depth, "frame"));
  print_machine(info, limits);
  for (const CellDeviceTable& table : tables) print_table(table, limits);
  fmt::print(
      "\nframes/s and us each: with {} in flight, the median of several runs. alone: from submit "
      "until wait has\nreturned, one frame at a time. device: the time of the kernels in it. "
      "floor: if each pixel is read and written once and each stage\ncomputes its sums once, at "
      "the limits above. ratio: us each / floor. sweeps and seen dB: {};\nseen dB: PSNR after a "
      "Gaussian of sigma {:g} on both images.\n",
      counted(depth, "frame"), kQualityOf, o.sigma);
  return kDone;
}

}  // namespace ocellus::app
