// The rows of `ocellus bench flow` on the CPU: this library and other libraries, measured in turns.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/flow_file.h"
#include "apps/io/operator_run.h"
#include "apps/optical_flow/run.h"
#include "bench/bench_turns.h"
#include "bench/optical_flow/bench.h"
#include "bench/optical_flow/peers.h"

namespace ocellus::app {
namespace {

/// An engine with optical flow on it, and the field that it writes.
class FlowRun {
 public:
  /// Throws InputError with the library's reason.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config)
      : field_(info_of(OperatorConfig(config)).planes[0].size, true, config.deviation),
        output_(field_.output()),
        run_(engine, OperatorConfig(config), &output_) {}

  /// Submits the frame and waits. The result is in field().
  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }

  FlowField& field() { return field_; }
  const OperatorInfo& info() { return run_.op().info(); }
  const EngineInfo& engine() const { return run_.engine(); }
  const Footprint& footprint() const { return run_.footprint(); }

 private:
  FlowField field_;
  OperatorOutput output_;
  OperatorRun run_;
};

/// One row of the table.
class FlowRow : public TimedRow {
 public:
  explicit FlowRow(const Clip& clip) : clip_(&clip) {}

  int warm_up() const override { return peer != nullptr ? 2 : run->info().support_frames; }
  bool step(std::size_t position) override {
    if (peer == nullptr) {
      run->step(clip_->cyclic(position).view(position, 0));
      return true;
    }
    try {
      peer->compute(clip_->cyclic(position), clip_->cyclic(position + 1));
    } catch (const FlowPeer::Refusal& reason) {
      refusal = reason.what();
    }
    return refusal.empty();
  }

  std::string name;
  std::optional<OpticalFlowConfig> config;  ///< empty for a peer
  OperatorInfo info;                        ///< empty for a peer
  std::unique_ptr<FlowRun> run;
  FlowPeer* peer = nullptr;
  std::string refusal;  ///< why a peer cannot process these frames; the row then has no figures
  std::optional<FlowErrors> errors;

 private:
  const Clip* clip_;
};

/// The rows for one input.
struct FlowTable {
  std::vector<std::unique_ptr<FlowPeer>> peers;
  std::vector<FlowRow> rows;
};

/// The flow of frame `number` by a row's method, with the largest temporal support that fits in the
/// clip.
FlowField field_of(const FlowRow& row, const EngineConfig& engine, const Clip& clip, long number) {
  if (row.peer != nullptr) {
    row.peer->compute(clip.number(number), clip.number(number + 1));
    return row.peer->result();
  }
  OpticalFlowConfig config = *row.config;
  const auto support = choose_support(config, number, clip.first, clip.last());
  config.kernels.nt = support->frames;
  FlowRun run(engine, config);
  for (long n = number - support->before(); n <= number + support->after(); ++n)
    run.step(clip.number(n).view(static_cast<std::uint64_t>(n), 0));
  return run.field();
}

FlowTable make_table(const FlowBenchOptions& o, const EngineConfig& engine, const EngineInfo& info,
                     const BenchInput& input) {
  FlowTable table;
  for (BenchMethod& method : bench_methods(o, input.clip)) {
    FlowRow row(input.clip);
    row.name = std::move(method.name);
    row.config = method.config;
    row.run = std::make_unique<FlowRun>(engine, *row.config);
    row.info = row.run->info();
    table.rows.push_back(std::move(row));
  }
  // The peers process 8-bit frames only.
  if (!o.no_peers && input.clip.format() == PixelFormat::kGray8)
    table.peers = make_flow_peers(info.workers);
  for (const auto& peer : table.peers) {
    FlowRow row(input.clip);
    row.name = peer->name();
    row.peer = peer.get();
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json row_json(const FlowRow& row, const BenchInput& input, const HostMachine& machine) {
  Json r = row_of(row.name, row.peer != nullptr ? "peer" : "ours", input.clip);
  if (!row.refusal.empty()) {
    r["not_run"] = row.refusal;
    return r;
  }
  machine.add_times(r, row.ms);
  if (row.config) {
    machine.add_floor(r, least_work(row.info), percentile(row.ms, 50.0));
    r["config"] = config_json(OperatorConfig(*row.config));
  }
  if (row.errors && row.errors->compared > 0) r["accuracy"] = errors_json(*row.errors);
  return r;
}

}  // namespace

int bench_on_host(const FlowBenchOptions& o, const EngineConfig& engine, const EngineInfo& info,
                  const std::vector<BenchInput>& inputs) {
  const int frames = o.host_frames();
  const HostMachine machine(info);
  BenchReport report;
  bool with_peers = false;
  for (const BenchInput& input : inputs) {
    FlowTable table = make_table(o, engine, info, input);
    with_peers |= !table.peers.empty();
    std::vector<TimedRow*> rows;
    for (FlowRow& row : table.rows) rows.push_back(&row);
    time_in_turns(rows, frames, "bench flow " + size_text(input.clip.size()));
    for (FlowRow& row : table.rows) {
      row.run.reset();  // the next row needs its memory
      if (input.truth && row.refusal.empty())
        row.errors = input.errors(field_of(row, engine, input.clip, input.number));
    }
    BenchRows& told = report.tables.emplace_back();
    told.title = input.clip.name;
    if (input.truth) told.heading_end = errors_heading();
    for (const FlowRow& row : table.rows) told.rows.push_back(row_json(row, input, machine));
  }

  report.json = bench_json(o, info, inputs);
  report.json["frames"] = frames;
  machine.add_to(report.json);
  report.json["peers"] = with_peers ? Json(peer_library()) : Json(nullptr);
  report.begin = fmt::format("ocellus {} bench flow: {} for each row, the rows take turns\n{}",
                             version(), counted(frames, "frame"), machine.text());
  report.columns = {{"", "name", -28},
                    {"median ms", "median_ms", 9, 3},
                    {"p99 ms", "p99_ms", 9, 3},
                    {"frames/s", "frames_per_s", 8, 1},
                    {"MB", "mb_per_frame", 9, 1},
                    {"MFLOP", "mflop_per_frame", 9},
                    {"floor ms", "floor_ms", 9, 3},
                    {"ratio", "ratio", 6, 2}};
  report.row_end = errors_text;
  report.end =
      "\nMB and MFLOP: the least that a frame needs. floor: the time for these at the limits "
      "above. ratio: median / floor.\n";
  if (with_peers)
    report.end += fmt::format("peers: {}, on the same frames with {}\n", peer_library(),
                              counted(info.workers, "thread"));
  else
    report.end += o.no_peers ? "peers left out (--no-peers)\n"
                  : inputs.front().clip.format() != PixelFormat::kGray8
                      ? "peers left out: they process 8-bit frames only\n"
                      : "peers: this build has no OpenCV\n";
  return report.print(o.common.json);
}

}  // namespace ocellus::app
