// The rows of `ocellus bench restore` on a CUDA device, with frames and results in device memory.
// It compares both schedules with those of the paper, as figure 3 of the paper does.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "apps/common/printable.h"
#include "bench/device_machine.h"
#include "bench/device_rows.h"
#include "bench/device_run.h"
#include "bench/papers/restoration/paper_restoration.h"
#include "bench/restoration/bench.h"

namespace ocellus::app {
namespace {

using paper::PaperAllocation;
using paper::PaperRestoration;
using paper::PaperRestorationConfig;

/// The paper's schedules take up to 0.2 s for a frame.
constexpr int kPaperFrames = 5;

enum class Group { kRecursion, kFrequency, kFixed, kFlexible };

const char* group_name(Group group) {
  switch (group) {
    case Group::kRecursion:
      return "recursion";
    case Group::kFrequency:
      return "frequency";
    case Group::kFixed:
      return "paper: fixed allocation";
    case Group::kFlexible:
      return "paper: flexible allocation";
  }
  return "";
}

struct Row : DeviceRow<Group> {
  using DeviceRow::DeviceRow;

  double us() const { return 1e3 * times.frame_ms(); }
  double device_us() const { return 1e3 * percentile(times.device_ms, 50.0); }

  int support = 0;
  int response = 0;
  bool chosen = false;  ///< by the schedule auto
};

struct FilterDeviceTable {
  const Clip* clip;
  std::vector<Row> rows;

  const Row* find(int support, Group group) const {
    for (const Row& row : rows)
      if (row.support == support && row.group == group && row.has_figures()) return &row;
    return nullptr;
  }
  /// The faster one of the paper's schedules, or null.
  const Row* paper(int support) const {
    const Row* const fixed = find(support, Group::kFixed);
    const Row* const flexible = find(support, Group::kFlexible);
    if (fixed == nullptr || flexible == nullptr) return fixed != nullptr ? fixed : flexible;
    return fixed->us() < flexible->us() ? fixed : flexible;
  }
  const Row* chosen(int support) const {
    for (const Row& row : rows)
      if (row.support == support && row.chosen && row.has_figures()) return &row;
    return nullptr;
  }
};

class RestorationDeviceBench {
 public:
  RestorationDeviceBench(const RestoreBenchOptions& options, const EngineConfig& engine,
                         const Clip& clip)
      : options_(options), engine_(engine), clip_(clip) {
    for (int i = 0; i < depth(); ++i) frames_.push_back(&clip.cyclic(static_cast<std::size_t>(i)));
  }

  static int rows_of(const RestoreBenchOptions& options) {
    const int each = (options.ours() ? 2 : 0) + (options.papers() ? 2 : 0);
    return each * static_cast<int>(options.supports.size());
  }

  FilterDeviceTable run(const std::vector<BenchFilter>& filters,
                        const std::function<void()>& done) {
    FilterDeviceTable table{&clip_, {}};
    const auto add = [&](Row row) {
      table.rows.push_back(std::move(row));
      done();
    };
    for (const BenchFilter& filter : filters) {
      if (options_.ours()) {
        add(ours(Group::kRecursion, filter, RestorationSchedule::kRecursion));
        add(ours(Group::kFrequency, filter, RestorationSchedule::kFrequency));
      }
      if (options_.papers()) {
        add(of_paper(Group::kFixed, filter, PaperAllocation::kFixed));
        add(of_paper(Group::kFlexible, filter, PaperAllocation::kFlexible));
      }
    }
    return table;
  }

 private:
  RestorationConfig config_of(const BenchFilter& filter, RestorationSchedule schedule) const {
    RestorationConfig config;
    config.size = clip_.size();
    config.format = clip_.format();
    config.depth = depth();
    config.coefficients = &filter.filter;
    config.schedule = schedule;
    return config;
  }

  Row row_of(Group group, const BenchFilter& filter, const RestorationConfig& config,
             RestorationSchedule schedule) const {
    const OperatorInfo info = take(Restoration::info_for(config), "operator");
    Row row(group, fmt::format("m = {}, {}", filter.filter.support, group_name(group)),
            restoration_work(info, filter, schedule), {});
    row.support = filter.filter.support;
    row.response = filter.response;
    return row;
  }

  Row ours(Group group, const BenchFilter& filter, RestorationSchedule schedule) const {
    const RestorationConfig config = config_of(filter, schedule);
    Row row = row_of(group, filter, config, schedule);
    const std::string summary =
        measure(row, maker_of<Restoration>(config), options_.device_frames());
    row.chosen = row.has_figures() && summary == automatic_summary(filter);
    if (row.chosen) row.name += " *";
    return row;
  }

  /// What the operator with the schedule auto says; empty if the device has too little memory.
  std::string automatic_summary(const BenchFilter& filter) const {
    try {
      return DeviceRun(engine_,
                       maker_of<Restoration>(config_of(filter, RestorationSchedule::kAuto)),
                       MemorySpace::kCuda, frames_)
          .summary();
    } catch (const RowRefused&) {
      return {};
    }
  }

  Row of_paper(Group group, const BenchFilter& filter, PaperAllocation allocation) const {
    PaperRestorationConfig config{config_of(filter, RestorationSchedule::kRecursion)};
    config.allocation = allocation;
    Row row = row_of(group, filter, config, RestorationSchedule::kRecursion);
    if (allocation == PaperAllocation::kFlexible) row.config["blocks"] = config.blocks;
    measure(row, maker_of<PaperRestoration>(config),
            std::min(options_.device_frames(), kPaperFrames));
    return row;
  }

  /// Returns the operator's summary, which names the schedule.
  std::string measure(Row& row, const OperatorMaker& maker, int frames) const {
    try {
      DeviceRun run(engine_, maker, MemorySpace::kCuda, frames_);
      row.times = run.measure(frames);
      return run.summary();
    } catch (const RowRefused& refused) {
      row.refusal = refused.what();
      return {};
    }
  }

  int depth() const { return options_.in_flight(); }

  const RestoreBenchOptions& options_;
  const EngineConfig& engine_;
  const Clip& clip_;
  std::vector<const GrayImage*> frames_;
};

nlohmann::ordered_json row_json(const Row& row, const FilterDeviceTable& table,
                                const cuda::DeviceLimits& limits) {
  nlohmann::ordered_json r;
  r["name"] = row.name;
  r["group"] = group_name(row.group);
  r["input"] = table.clip->name;
  r["size"] = {table.clip->size().width, table.clip->size().height};
  r["format"] = format_name(table.clip->format());
  r["support"] = row.support;
  r["response"] = row.response;
  if (!row.has_figures()) {
    r["not_run"] = row.refusal;
    return r;
  }
  const DeviceTimes& t = row.times;
  r["chosen"] = row.chosen;
  add_times(r, t);
  add_floor(r, row.work, limits);
  r["ratio"] = t.frame_ms() / floor_of(row.work, limits).ms;
  if (const Row* const paper = table.paper(row.support); paper != nullptr && row.chosen)
    r["times_paper"] = paper->us() / row.us();
  if (!row.config.is_null()) r["config"] = row.config;
  return r;
}

void print_table(const FilterDeviceTable& table, const cuda::DeviceLimits& limits) {
  fmt::print("\n{}, {}\n{:<40} {:>8} {:>9} {:>10} {:>10} {:>10} {:>9} {:>6}\n",
             printable(table.clip->name), format_name(table.clip->format()), "", "response",
             "frames/s", "us each", "alone p50", "device", "floor us", "ratio");
  for (const Row& row : table.rows) {
    if (!row.has_figures()) {
      fmt::print("{:<40} not run: {}\n", row.name, row.refusal);
      continue;
    }
    const Floor floor = floor_of(row.work, limits);
    fmt::print("{:<40} {:>8} {:>9.0f} {:>10.1f} {:>10.1f} {:>10.1f} {:>9.1f} {:>6.1f}", row.name,
               row.response, row.times.rate(), row.us(), 1e3 * percentile(row.times.alone_ms, 50.0),
               row.device_us(), 1e3 * floor.ms, row.times.frame_ms() / floor.ms);
    const Row* const paper = table.paper(row.support);
    if (row.chosen && paper != nullptr)
      fmt::print("  {:.0f} times the paper's", paper->us() / row.us());
    fmt::print("\n");
  }
}

/// Figure 3 of the paper: time against support.
void plot_table(const RestoreBenchOptions& o, const FilterDeviceTable& table,
                const EngineInfo& info) {
  CurvePlot plot = time_plot(table.clip->size(), table.clip->format(), info.device_name);
  for (const Group group :
       {Group::kRecursion, Group::kFrequency, Group::kFixed, Group::kFlexible}) {
    Curve curve{group_name(group), {}};
    for (const int support : o.supports)
      if (const Row* const row = table.find(support, group))
        curve.points.emplace_back(support, row->times.frame_ms());
    plot.curves.push_back(std::move(curve));
  }
  write_curves_svg(o.plot, plot);
}

}  // namespace

int bench_restoration_on_device(const RestoreBenchOptions& o, const EngineConfig& engine,
                                const EngineInfo& info, const std::vector<Clip>& clips) {
  const cuda::DeviceLimits limits = device_limits(engine);
  std::vector<BenchFilter> filters;
  for (const int support : o.supports) filters.push_back(bench_filter(support));
  std::vector<FilterDeviceTable> tables;
  {
    Progress progress("bench restore",
                      static_cast<std::int64_t>(clips.size()) * RestorationDeviceBench::rows_of(o));
    std::int64_t done = 0;
    for (const Clip& clip : clips) {
      RestorationDeviceBench bench(o, engine, clip);
      tables.push_back(bench.run(filters, [&] { progress.update(++done); }));
    }
  }
  if (!o.plot.empty()) plot_table(o, tables.front(), info);
  if (o.common.json) {
    nlohmann::ordered_json json = bench_head("restore", info);
    json["depth"] = o.in_flight();
    json["memory"] = "device";
    json["machine"] = machine_json(info, limits);
    json["rows"] = nlohmann::ordered_json::array();
    for (const FilterDeviceTable& table : tables)
      for (const Row& row : table.rows) json["rows"].push_back(row_json(row, table, limits));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench restore: frames and results in device memory, {} in flight\n",
             version(), counted(o.in_flight(), "frame"));
  print_machine(info, limits);
  for (const FilterDeviceTable& table : tables) print_table(table, limits);
  fmt::print(
      "\n*: the schedule that the library chooses. response: pixels by which the image is "
      "continued.\nframes/s and us each: with {} in flight, the median of several runs. alone: "
      "from submit until wait\nhas returned, one frame at a time. device: the time of the kernels "
      "in it. floor: the least bytes and\noperations of the schedule at the limits above. ratio: "
      "us each / floor.\n",
      counted(o.in_flight(), "frame"));
  return kDone;
}

}  // namespace ocellus::app
