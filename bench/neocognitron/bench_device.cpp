// The rows of `ocellus bench digits` on a CUDA device, with frames and results in device memory.
#include "bench/neocognitron/bench.h"

#include <fmt/format.h>

#include "apps/common/printable.h"
#include "bench/bench_command.h"
#include "bench/device_rows.h"

namespace ocellus::app {
namespace {

Json measure(const DigitsBenchOptions& o, const EngineConfig& engine, const DigitsBenchCase& made) {
  std::vector<const GrayImage*> frames;
  for (const GrayImage& frame : made.frames) frames.push_back(&frame);
  DeviceRow row{made.model, {}, {}, {}};
  Footprint memory;
  row.measure(engine, maker_of<Neocognitron>(made.config), MemorySpace::kCuda, frames,
              o.device_frames(), 0, [&](const DeviceRun& run) { memory = run.footprint(); });
  Json r;
  r["model"] = made.model;
  r["patches"] = made.patches;
  if (made.accuracy) r["accuracy"] = *made.accuracy;
  if (!row.has_figures()) {
    r["not_run"] = row.refusal;
    return r;
  }
  add_times(r, row.times);
  r["device_bytes"] = memory.device;
  return r;
}

}  // namespace

int bench_digits_on_device(const DigitsBenchOptions& o, const EngineConfig& engine,
                           const EngineInfo& info) {
  const std::vector<DigitsBenchCase> cases = digits_bench_cases(o, engine, o.in_flight());
  BenchReport report;
  BenchRows& rows = report.tables.emplace_back();
  {
    Progress progress("bench digits", static_cast<std::int64_t>(cases.size()));
    for (const DigitsBenchCase& made : cases) {
      rows.rows.push_back(measure(o, engine, made));
      progress.update(static_cast<std::int64_t>(rows.rows.size()));
    }
  }
  if (!o.plot.empty()) {
    std::vector<double> ms;
    for (const Json& row : rows.rows) ms.push_back(row.value("device_median_ms", 0.0));
    plot_digits_bench(o.plot, cases, ms, info.device_name);
  }
  report.json = bench_head("digits", info);
  report.json["device"] = info.device_name;
  report.json["depth"] = o.in_flight();
  report.json["memory"] = "device";
  report.begin = fmt::format(
      "ocellus {} bench digits: {}, frames and results in device memory, {} in flight\n", version(),
      printable(info.device_name), counted(o.in_flight(), "frame"));
  report.columns = {{"model", "model", -32},
                    {"patches", "patches", 8},
                    {"frames/s", "frames_per_s", 10},
                    {"us each", "frame_ms", 10, 1, 1e3},
                    {"alone p50 us", "median_ms", 12, 1, 1e3},
                    {"device p50 us", "device_median_ms", 12, 1, 1e3}};
  report.names = 2;
  report.row_end = accuracy_text;
  if (!o.labels.empty()) rows.heading_end = kAccuracyHeading;
  report.end =
      "\nframes/s and us each: the median of several runs. alone: from submit until wait has "
      "returned, one\nframe at a time. device: the time of the kernels alone, by the device's "
      "clock.\n";
  return report.print(o.common.json);
}

}  // namespace ocellus::app
