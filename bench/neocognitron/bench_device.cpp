// The rows of `ocellus bench digits` on a CUDA device, with frames and results in device memory.
#include "bench/neocognitron/bench.h"

#include <fmt/format.h>

#include "apps/common/printable.h"
#include "bench/bench_command.h"
#include "bench/device_run.h"

namespace ocellus::app {
namespace {

struct Row {
  std::string model;
  int patches = 0;
  std::optional<double> accuracy;
  DeviceTimes times;
  Footprint memory;
  std::string refusal;  ///< why the row has no figures
};

Row measure(const DigitsBenchOptions& o, const EngineConfig& engine, const DigitsBenchCase& made) {
  Row row;
  row.model = made.model;
  row.patches = made.patches;
  row.accuracy = made.accuracy;
  std::vector<const GrayImage*> frames;
  for (const GrayImage& frame : made.frames) frames.push_back(&frame);
  try {
    DeviceRun run(engine, maker_of<Neocognitron>(made.config), MemorySpace::kCuda, frames);
    row.times = run.measure(o.device_frames());
    row.memory = run.footprint();
  } catch (const RowRefused& refused) {
    row.refusal = refused.what();
  }
  return row;
}

nlohmann::ordered_json row_json(const Row& row) {
  nlohmann::ordered_json r;
  r["model"] = row.model;
  r["patches"] = row.patches;
  if (row.accuracy) r["accuracy"] = *row.accuracy;
  if (!row.refusal.empty()) {
    r["not_run"] = row.refusal;
    return r;
  }
  add_times(r, row.times);
  r["device_bytes"] = row.memory.device;
  return r;
}

void print_row(const Row& row) {
  fmt::print("{:<32} {:>8} ", printable(row.model), row.patches);
  if (!row.refusal.empty()) {
    fmt::print("not run: {}\n", row.refusal);
    return;
  }
  fmt::print("{:>10.0f} {:>10.1f} {:>12.1f} {:>12.1f}{}\n", row.times.rate(),
             1e3 * row.times.frame_ms(), 1e3 * percentile(row.times.alone_ms, 50.0),
             1e3 * percentile(row.times.device_ms, 50.0), accuracy_text(row.accuracy));
}

}  // namespace

int bench_digits_on_device(const DigitsBenchOptions& o, const EngineConfig& engine,
                           const EngineInfo& info) {
  const std::vector<DigitsBenchCase> cases = digits_bench_cases(o, engine, o.in_flight());
  std::vector<Row> rows;
  {
    Progress progress("bench digits", static_cast<std::int64_t>(cases.size()));
    for (const DigitsBenchCase& made : cases) {
      rows.push_back(measure(o, engine, made));
      progress.update(static_cast<std::int64_t>(rows.size()));
    }
  }
  if (!o.plot.empty()) {
    std::vector<double> ms;
    for (const Row& row : rows)
      ms.push_back(row.refusal.empty() ? percentile(row.times.device_ms, 50.0) : 0.0);
    plot_digits_bench(o.plot, cases, ms, info.device_name);
  }
  if (o.common.json) {
    nlohmann::ordered_json json = bench_head("digits", info);
    json["device"] = info.device_name;
    json["depth"] = o.in_flight();
    json["memory"] = "device";
    json["rows"] = nlohmann::ordered_json::array();
    for (const Row& row : rows) json["rows"].push_back(row_json(row));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench digits: {}, frames and results in device memory, {} in flight\n\n",
             version(), printable(info.device_name), counted(o.in_flight(), "frame"));
  fmt::print("{:<32} {:>8} {:>10} {:>10} {:>12} {:>12}{}\n", "model", "patches", "frames/s",
             "us each", "alone p50 us", "device p50 us", o.labels.empty() ? "" : "   accuracy");
  for (const Row& row : rows) print_row(row);
  fmt::print(
      "\nframes/s and us each: the median of several runs. alone: from submit until wait has "
      "returned, one\nframe at a time. device: the time of the kernels alone, by the device's "
      "clock.\n");
  return kDone;
}

}  // namespace ocellus::app
