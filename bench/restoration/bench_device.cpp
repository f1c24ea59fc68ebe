// The rows of `ocellus bench restore` on a CUDA device, with frames and results in device memory.
// It compares both schedules with those of the paper, as figure 3 of the paper does.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "apps/common/printable.h"
#include "bench/device_rows.h"
#include "bench/papers/restoration/paper_launches.h"
#include "bench/papers/restoration/paper_restoration.h"
#include "bench/restoration/bench.h"

namespace ocellus::app {
namespace {

using paper::PaperAllocation;
using paper::PaperLaunches;
using paper::PaperRestoration;
using paper::PaperRestorationConfig;

/// The paper's schedules take up to 0.2 s for a frame.
constexpr int kPaperFrames = 5;
/// The paper's schedules in the order of their rows.
constexpr int kPaperRows = 5;

// Groups of rows.
constexpr std::string_view kRecursion = "recursion";
constexpr std::string_view kFrequency = "frequency";
constexpr std::string_view kFixed = "paper: fixed allocation";
constexpr std::string_view kFlexible = "paper: flexible allocation";
constexpr std::string_view kFromHost = "paper: fixed, from the host";
constexpr std::string_view kFixedFused = "paper: fixed, x1 in each step";
constexpr std::string_view kFlexibleFused = "paper: flexible, x1 in each step";

struct Row : DeviceRow {
  int support = 0;
  int response = 0;
  bool chosen = false;  ///< by the schedule auto
  Json counts{};        ///< of the flexible allocation
};

struct FilterDeviceTable {
  const Clip* clip;
  std::vector<Row> rows;

  const Row* find(int support, std::string_view group) const {
    return find_row(rows,
                    [&](const Row& row) { return row.support == support && row.group == group; });
  }
  /// The fastest one of the paper's schedules, or null.
  const Row* paper(int support) const {
    const Row* fastest = nullptr;
    for (const Row& row : rows) {
      if (row.support != support || !row.has_figures() || !row.group.starts_with("paper")) continue;
      if (fastest == nullptr || row.ms() < fastest->ms()) fastest = &row;
    }
    return fastest;
  }
};

class RestorationDeviceBench {
 public:
  RestorationDeviceBench(const RestoreBenchOptions& options, const EngineConfig& engine,
                         const Clip& clip)
      : options_(options),
        engine_(engine),
        clip_(clip),
        frames_(frames_in_flight(clip, options.in_flight())) {}

  static int rows_of(const RestoreBenchOptions& options) {
    const int each = (options.ours() ? 2 : 0) + (options.papers() ? kPaperRows : 0);
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
        add(ours(kRecursion, filter, RestorationSchedule::kRecursion));
        add(ours(kFrequency, filter, RestorationSchedule::kFrequency));
      }
      if (options_.papers()) {
        Row flexible = of_paper(kFlexible, filter, PaperAllocation::kFlexible, false);
        Row from_host = of_host(filter, flexible);
        add(of_paper(kFixed, filter, PaperAllocation::kFixed, false));
        add(std::move(flexible));
        add(std::move(from_host));
        add(of_paper(kFixedFused, filter, PaperAllocation::kFixed, true));
        add(of_paper(kFlexibleFused, filter, PaperAllocation::kFlexible, true));
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

  Row make_row(std::string_view group, const BenchFilter& filter, const RestorationConfig& config,
               RestorationSchedule schedule) const {
    const OperatorInfo info = take(Restoration::info_for(config), "operator");
    Row row{{fmt::format("m = {}, {}", filter.filter.support, group),
             group,
             restoration_work(info, filter, schedule),
             {}}};
    row.support = filter.filter.support;
    row.response = filter.response;
    return row;
  }

  Row ours(std::string_view group, const BenchFilter& filter, RestorationSchedule schedule) const {
    const RestorationConfig config = config_of(filter, schedule);
    Row row = make_row(group, filter, config, schedule);
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

  Row of_paper(std::string_view group, const BenchFilter& filter, PaperAllocation allocation,
               bool fused) const {
    PaperRestorationConfig config{config_of(filter, RestorationSchedule::kRecursion)};
    config.allocation = allocation;
    config.fused = fused;
    Row row = make_row(group, filter, config, RestorationSchedule::kRecursion);
    if (allocation == PaperAllocation::kFlexible) row.config["blocks"] = config.blocks;
    measure(row, maker_of<PaperRestoration>(config),
            std::min(options_.device_frames(), kPaperFrames));
    return row;
  }

  /// The image of a frame, continued as the operator continues it.
  std::vector<float> continued(ImageSize size, int padding) const {
    const GrayImage& frame = *frames_.front();
    std::vector<float> pixels;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        pixels.push_back(frame.brightness(
            detail::border_position(x - padding, frame.size.width, RestorationBorder::kReflect),
            detail::border_position(y - padding, frame.size.height, RestorationBorder::kReflect)));
      }
    }
    return pixels;
  }

  /// The fixed allocation, launched and copied by the host. Also counts what the blocks of the
  /// flexible one do, for its row.
  Row of_host(const BenchFilter& filter, Row& flexible) const {
    const RestorationConfig config = config_of(filter, RestorationSchedule::kRecursion);
    Row row = make_row(kFromHost, filter, config, RestorationSchedule::kRecursion);
    const int m = filter.filter.support;
    const ImageSize size{config.size.width + 2 * filter.response,
                         config.size.height + 2 * filter.response};
    EngineConfig settings = engine_;
    settings.memory = PaperLaunches::footprint(size, m);
    Expected<Engine> engine = Engine::create(settings);
    if (!engine && engine.error().status == Status::kOutOfMemory) {
      row.refusal = engine.error().text;
      return row;
    }
    Engine made = take(std::move(engine), "engine");
    const auto launches = take(PaperLaunches::create(made, size, filter.filter), row.name);
    const std::vector<float> image = continued(size, filter.response);
    for (int i = 0; i < kPaperFrames; ++i) {
      const double ms = take(launches->fixed(image), row.name);
      row.times.alone_ms.push_back(ms);
      row.times.rates.push_back(1e3 / ms);
    }
    row.times.frames_in_run = 1;
    const paper::StepCounts counts =
        take(launches->flexible(image, PaperRestorationConfig{}.blocks), flexible.name);
    const auto pixels = static_cast<double>(counts.pixels);
    const cuda::ContinuedImage shape{nullptr, size.width, size.height, 0, 0};
    flexible.counts = {{"p1", counts.p1()},
                       {"c1", counts.c1()},
                       {"saved_accesses", paper::saved_accesses(m, counts.p1(), counts.c1())},
                       {"rows_per_pixel", static_cast<double>(counts.rows) / pixels},
                       {"accesses_per_pixel", static_cast<double>(counts.accesses) / pixels},
                       {"operations", paper::kernel_operations(shape, m)},
                       {"operations_of_equation_11", paper::paper_operations(shape, m)}};
    return row;
  }

  /// Returns the operator's summary, which names the schedule.
  std::string measure(Row& row, const OperatorMaker& maker, int frames) const {
    std::string summary;
    row.measure(engine_, maker, MemorySpace::kCuda, frames_, frames, 0,
                [&](const DeviceRun& run) { summary = run.summary(); });
    return summary;
  }

  int depth() const { return options_.in_flight(); }

  const RestoreBenchOptions& options_;
  const EngineConfig& engine_;
  const Clip& clip_;
  std::vector<const GrayImage*> frames_;
};

Json row_json(const Row& row, const FilterDeviceTable& table, const cuda::DeviceLimits& limits) {
  Json r = row_of(row.name, std::string(row.group), *table.clip);
  r["format"] = format_name(table.clip->format());
  r["support"] = row.support;
  r["response"] = row.response;
  if (!add_figures(r, row, limits)) return r;
  r["chosen"] = row.chosen;
  if (const Row* const paper = table.paper(row.support); paper != nullptr && row.chosen)
    r["times_paper"] = paper->ms() / row.ms();
  if (!row.config.is_null()) r["config"] = row.config;
  if (!row.counts.is_null()) r["counts"] = row.counts;
  return r;
}

std::string row_end(const Json& row) {
  if (row.contains("counts")) {
    const Json& counts = row["counts"];
    return fmt::format("  p1 {:.4f}, c1 {:.1f}, {:.1f} saved accesses", counts["p1"].get<double>(),
                       counts["c1"].get<double>(), counts["saved_accesses"].get<double>());
  }
  if (!row.contains("times_paper")) return "";
  return fmt::format("  {:.0f} times the paper's", row["times_paper"].get<double>());
}

/// Figure 3 of the paper: time against support.
void plot_table(const RestoreBenchOptions& o, const FilterDeviceTable& table,
                const EngineInfo& info) {
  CurvePlot plot = time_plot(table.clip->size(), table.clip->format(), info.device_name);
  for (const std::string_view group :
       {kRecursion, kFrequency, kFixed, kFlexible, kFromHost, kFixedFused, kFlexibleFused}) {
    // A plot has five curves.
    if (o.ours() && (group == kFixedFused || group == kFlexibleFused)) continue;
    Curve curve{std::string(group), {}};
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
  BenchReport report;
  report.json = bench_head("restore", info);
  report.json["depth"] = o.in_flight();
  report.json["memory"] = "device";
  report.json["machine"] = machine_json(info, limits);
  report.begin =
      fmt::format("ocellus {} bench restore: frames and results in device memory, {} in flight\n{}",
                  version(), counted(o.in_flight(), "frame"), machine_text(info, limits));
  report.columns = {{"", "name", -40},
                    {"response", "response", 8},
                    {"frames/s", "frames_per_s", 9},
                    {"us each", "frame_ms", 10, 1, 1e3},
                    {"alone p50", "median_ms", 10, 1, 1e3},
                    {"device", "device_median_ms", 10, 1, 1e3},
                    {"floor us", "floor_ms", 9, 1, 1e3},
                    {"ratio", "ratio", 6, 1}};
  report.row_end = row_end;
  for (const FilterDeviceTable& table : tables) {
    BenchRows& rows = report.tables.emplace_back();
    rows.title = fmt::format("{}, {}", table.clip->name, format_name(table.clip->format()));
    for (const Row& row : table.rows) rows.rows.push_back(row_json(row, table, limits));
  }
  report.end = fmt::format(
      "\n*: the schedule that the library chooses. response: pixels by which the image is "
      "continued.\nframes/s and us each: with {} in flight, the median of several runs. alone: "
      "from submit until wait\nhas returned, one frame at a time. device: the time of the kernels "
      "in it. floor: the least bytes and\noperations of the schedule at the limits above. ratio: "
      "us each / floor.\np1, c1: the share of pixels for which a block changes its column, and by "
      "how many "
      "columns. saved accesses:\nequation (12). from the host: no frames are in flight.\n",
      counted(o.in_flight(), "frame"));
  return report.print(o.common.json);
}

}  // namespace ocellus::app
