// The rows of `ocellus bench restore` on the CPU: both schedules for each support, and other
// libraries, measured in turns.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "bench/bench_turns.h"
#include "bench/picture_run.h"
#include "bench/restoration/bench.h"
#include "bench/restoration/peers.h"

namespace ocellus::app {
namespace {

constexpr RestorationSchedule kSchedules[] = {RestorationSchedule::kRecursion,
                                              RestorationSchedule::kFrequency};

RestorationConfig config_for(const BenchFilter& filter, RestorationSchedule schedule) {
  RestorationConfig config;
  config.coefficients = &filter.filter;
  config.schedule = schedule;
  return config;
}

OperatorConfig config_for(const BenchFilter& filter, RestorationSchedule schedule,
                          const Clip& clip) {
  OperatorConfig config(config_for(filter, schedule));
  config.set_input(clip.size(), clip.format());
  return config;
}

/// One row of the table. All rows of a support compute the same picture.
class RestorationRow : public TimedRow {
 public:
  RestorationRow(const Clip& clip, const BenchFilter& bench_filter)
      : filter(&bench_filter), clip_(&clip) {}

  int warm_up() const override { return 2; }
  bool step(std::size_t position) override {
    if (peer != nullptr)
      peer->compute(clip_->cyclic(position));
    else
      run->step(clip_->cyclic(position).view(position, 0));
    return true;
  }
  GrayImage result() const { return peer != nullptr ? peer->result() : run->image(); }

  std::string name;
  const BenchFilter* filter;
  RestorationSchedule schedule = RestorationSchedule::kAuto;  ///< of a peer
  bool chosen = false;                                        ///< by the schedule auto
  std::unique_ptr<PictureRun> run;
  std::unique_ptr<RestorationPeer> peer;
  double difference = 0.0;  ///< the largest one from the first row of this support

 private:
  const Clip* clip_;
};

/// The impulse response of a filter, as the library computes it.
ImpulseResponse response_of(const EngineConfig& engine, const BenchFilter& filter) {
  const int side = 2 * filter.response + 1;
  RestorationConfig config = config_for(filter, RestorationSchedule::kRecursion);
  config.size = {side, side};
  config.format = PixelFormat::kFloat32;
  config.border = RestorationBorder::kZero;
  ImpulseResponse response{filter.response, std::vector<float>(static_cast<std::size_t>(side) *
                                                               static_cast<std::size_t>(side))};
  std::vector<float> impulse(response.values.size(), 0.0f);
  impulse[impulse.size() / 2] = 1.0f;
  Frame frame;
  frame.data = impulse.data();
  frame.size = config.size;
  frame.stride = static_cast<std::ptrdiff_t>(sizeof(float)) * side;
  frame.format = config.format;
  OperatorOutput output;
  output.planes[0] = {response.values.data(), frame.size,         frame.stride,
                      frame.format,           MemorySpace::kHost, nullptr};
  OperatorRun run(engine, OperatorConfig(config), &output);
  run.op().step(frame);
  return response;
}

double largest_difference(const GrayImage& a, const GrayImage& b) {
  double largest = 0.0;
  for (int y = 0; y < a.size.height; ++y)
    for (int x = 0; x < a.size.width; ++x)
      largest = std::max(largest, std::abs(static_cast<double>(a.brightness(x, y)) -
                                           static_cast<double>(b.brightness(x, y))));
  return largest;
}

struct FilterTable {
  const Clip& clip;
  std::vector<std::unique_ptr<RestorationRow>> rows{};
};

void add_rows(FilterTable& table, const RestoreBenchOptions& o, const EngineConfig& engine,
              const EngineInfo& info, const BenchFilter& filter, bool with_peers) {
  const std::size_t first = table.rows.size();
  const int m = filter.filter.support;
  const PictureRun automatic(engine, config_for(filter, RestorationSchedule::kAuto, table.clip));
  for (const RestorationSchedule schedule : kSchedules) {
    auto row = std::make_unique<RestorationRow>(table.clip, filter);
    row->schedule = schedule;
    row->run = std::make_unique<PictureRun>(engine, config_for(filter, schedule, table.clip));
    row->chosen = std::strcmp(row->run->info().summary, automatic.info().summary) == 0;
    row->name = fmt::format("m = {}, {}{}", m, schedule_name(schedule), row->chosen ? " *" : "");
    table.rows.push_back(std::move(row));
  }
  if (with_peers && !o.no_peers && table.clip.format() == PixelFormat::kGray8) {
    for (auto& peer :
         make_restoration_peers(response_of(engine, filter), table.clip.size(), info.workers)) {
      auto row = std::make_unique<RestorationRow>(table.clip, filter);
      row->name = fmt::format("m = {}, {}", m, peer->name());
      row->peer = std::move(peer);
      table.rows.push_back(std::move(row));
    }
  }
  for (std::size_t i = first; i < table.rows.size(); ++i) table.rows[i]->step(0);
  const GrayImage expected = table.rows[first]->result();
  for (std::size_t i = first; i < table.rows.size(); ++i)
    table.rows[i]->difference = largest_difference(table.rows[i]->result(), expected);
}

Json row_json(const RestorationRow& row, const Clip& clip, const HostMachine& machine) {
  Json r = row_of(row.name, row.peer ? "peer" : "ours", clip);
  r["format"] = format_name(clip.format());
  r["support"] = row.filter->filter.support;
  r["response"] = row.filter->response;
  machine.add_times(r, row.ms);
  if (!row.peer) {
    r["schedule"] = schedule_name(row.schedule);
    r["chosen"] = row.chosen;
    machine.add_floor(r, restoration_work(row.run->info(), *row.filter, row.schedule),
                      percentile(row.ms, 50.0));
  }
  r["largest_difference"] = row.difference;
  return r;
}

void plot_table(const RestoreBenchOptions& o, const FilterTable& table, const EngineInfo& info) {
  CurvePlot plot = time_plot(table.clip.size(), table.clip.format(), info.device_name);
  for (const RestorationSchedule schedule : kSchedules) {
    Curve curve{schedule_name(schedule), {}};
    for (const auto& row : table.rows)
      if (row->schedule == schedule)
        curve.points.emplace_back(row->filter->filter.support, percentile(row->ms, 50.0));
    plot.curves.push_back(std::move(curve));
  }
  write_curves_svg(o.plot, plot);
}

}  // namespace

int bench_restoration_on_host(const RestoreBenchOptions& o, const EngineConfig& engine,
                              const EngineInfo& info, const std::vector<Clip>& clips) {
  const HostMachine machine(info);
  std::vector<BenchFilter> filters;
  for (const int support : o.supports) filters.push_back(bench_filter(support));
  BenchReport report;
  for (const Clip& clip : clips) {
    FilterTable table{clip};
    // The time of the peers depends on the response alone, so one filter is enough.
    for (const BenchFilter& filter : filters)
      add_rows(table, o, engine, info, filter, &filter == filters.data());
    std::vector<TimedRow*> timed;
    for (const auto& row : table.rows) timed.push_back(row.get());
    time_in_turns(timed, o.host_frames(), "bench restore " + size_text(clip.size()));
    if (!o.plot.empty() && &clip == clips.data()) plot_table(o, table, info);
    BenchRows& rows = report.tables.emplace_back();
    rows.title = clip.name;
    for (const auto& row : table.rows) rows.rows.push_back(row_json(*row, clip, machine));
  }

  report.json = bench_head("restore", info);
  report.json["frames"] = o.host_frames();
  machine.add_to(report.json);
  report.begin = fmt::format("ocellus {} bench restore: {} for each row, the rows take turns\n{}",
                             version(), counted(o.host_frames(), "frame"), machine.text());
  report.columns = {{"", "name", -36},
                    {"response", "response", 8},
                    {"median ms", "median_ms", 9, 3},
                    {"p99 ms", "p99_ms", 9, 3},
                    {"frames/s", "frames_per_s", 8, 1},
                    {"MB", "mb_per_frame", 7, 1},
                    {"MFLOP", "mflop_per_frame", 8},
                    {"floor ms", "floor_ms", 9, 3},
                    {"ratio", "ratio", 6, 2},
                    {"diff", "largest_difference", 5, 1}};
  report.end =
      "\n*: the schedule that the library chooses. response: pixels by which the image is\n"
      "continued. MB: the frame and the result. MFLOP: the least operations of the schedule.\n"
      "floor: the time for these at the limits above. ratio: median / floor. diff: the largest\n"
      "difference from the recursion, in gray levels.\n";
  return report.print(o.common.json);
}

}  // namespace ocellus::app
