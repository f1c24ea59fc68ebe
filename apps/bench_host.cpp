// The rows of `ocellus bench flow` on the CPU: ours and other libraries' methods, in turn.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "bench.h"
#include "flow_run.h"
#include "machine.h"
#include "peers.h"

namespace ocellus::app {
namespace {

/// Frames that a row is timed on before the next one's turn.
constexpr int kTurn = 10;

/// One line of the table.
struct Row {
  std::string name;
  std::optional<OpticalFlowConfig> config;  ///< of ours
  std::unique_ptr<FlowRun> run;
  FlowPeer* peer = nullptr;
  std::vector<double> ms;
  std::string refusal;  ///< why a peer could not take these frames; it has no figures then
  std::optional<FlowErrors> errors;
};

/// The rows of one input.
struct Table {
  const BenchInput* input;
  std::vector<std::unique_ptr<FlowPeer>> peers;
  std::vector<Row> rows;
};

/// Flow of the clip's frame `number` by a row's method, with the temporal support that fits.
FlowField field_of(const Row& row, const EngineConfig& engine, const Clip& clip, long number) {
  if (row.peer != nullptr) {
    row.peer->compute(clip.number(number), clip.number(number + 1));
    return row.peer->result();
  }
  OpticalFlowConfig config = *row.config;
  const auto support = choose_support(temporal_support(config), number, clip.first, clip.last());
  set_temporal_support(config, support->frames);
  FlowRun run(engine, config);
  for (long n = number - support->before(); n <= number + support->after(); ++n)
    run.step(clip.number(n).view(static_cast<std::uint64_t>(n), 0));
  return run.field();
}

Table make_table(const BenchOptions& o, const EngineConfig& engine, const EngineInfo& info,
                 const BenchInput& input) {
  Table table{&input, {}, {}};
  for (BenchMethod& method : bench_methods(o, input.clip)) {
    Row row;
    row.name = std::move(method.name);
    row.config = method.config;
    row.run = std::make_unique<FlowRun>(engine, *row.config);
    table.rows.push_back(std::move(row));
  }
  // The peers take 8 bits only.
  if (!o.no_peers && input.clip.format() == PixelFormat::kGray8)
    table.peers = make_flow_peers(info.workers);
  for (const auto& peer : table.peers) {
    Row row;
    row.name = peer->name();
    row.peer = peer.get();
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// All rows take turns, kTurn frames each, so that what else goes on in the machine hits all alike.
/// The first frame of a turn finds the caches full of another row's data and is not counted.
void time_rows(Table& table, int frames) {
  using Clock = std::chrono::steady_clock;
  const Clip& clip = table.input->clip;
  const int turns = (frames + kTurn - 1) / kTurn;
  Progress progress(
      "bench flow " + size_text(clip.size()),
      static_cast<std::int64_t>(turns) * static_cast<std::int64_t>(table.rows.size()));
  std::int64_t done = 0;
  for (Row& row : table.rows) row.ms.reserve(static_cast<std::size_t>(frames));
  for (int turn = -1; turn < turns; ++turn) {  // turn -1 fills rings and buffers
    for (Row& row : table.rows) {
      const int timed = std::min(kTurn, frames - turn * kTurn);
      const int count =
          turn < 0 ? (row.peer != nullptr ? 2 : temporal_support(*row.config)) : timed + 1;
      for (int i = 0; i < count && row.refusal.empty(); ++i) {
        const std::size_t position = static_cast<std::size_t>(std::max(turn, 0) * (kTurn + 1) + i);
        const Clock::time_point begin = Clock::now();
        if (row.peer != nullptr) {
          try {
            row.peer->compute(clip.cyclic(position), clip.cyclic(position + 1));
          } catch (const FlowPeer::Refusal& refusal) {
            row.refusal = refusal.what();
            break;
          }
        } else {
          row.run->step(clip.cyclic(position).view(position, 0));
        }
        const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
        if (turn >= 0 && i > 0) row.ms.push_back(ms);
      }
      if (turn >= 0) progress.update(++done);
    }
  }
}

double floor_ms(const Workload& work, const MachineLimits& limits) {
  return 1e3 * std::max(work.bytes / limits.read_bytes_per_s, work.flops / limits.flops);
}

nlohmann::ordered_json row_json(const Row& row, const BenchInput& input,
                                const MachineLimits& limits) {
  nlohmann::ordered_json r;
  r["name"] = row.name;
  r["group"] = row.peer != nullptr ? "peer" : "ours";
  r["input"] = input.clip.name;
  r["size"] = {input.clip.size().width, input.clip.size().height};
  if (!row.refusal.empty()) {
    r["not_run"] = row.refusal;
    return r;
  }
  const double median = percentile(row.ms, 50.0);
  r["median_ms"] = median;
  r["p99_ms"] = percentile(row.ms, 99.0);
  r["min_ms"] = percentile(row.ms, 0.0);
  r["frames_per_s"] = 1000.0 / median;
  if (row.config) {
    const Workload work = least_work(*row.config);
    r["mb_per_frame"] = work.bytes * 1e-6;
    r["mflop_per_frame"] = work.flops * 1e-6;
    r["floor_ms"] = floor_ms(work, limits);
    r["ratio"] = median / floor_ms(work, limits);
    r["config"] = config_json(*row.config);
  }
  if (row.errors && row.errors->compared > 0) r["accuracy"] = errors_json(*row.errors);
  return r;
}

void print_table(const Table& table, const MachineLimits& limits) {
  fmt::print("\n{}\n{:<28} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>6}", table.input->clip.name, "",
             "median ms", "p99 ms", "frames/s", "MB", "MFLOP", "floor ms", "ratio");
  fmt::print("{}\n", table.input->truth ? errors_heading() : "");
  for (const Row& row : table.rows) {
    if (!row.refusal.empty()) {
      fmt::print("{:<28} not run: {}\n", row.name, row.refusal);
      continue;
    }
    const double median = percentile(row.ms, 50.0);
    fmt::print("{:<28} {:>9.3f} {:>9.3f} {:>8.1f}", row.name, median, percentile(row.ms, 99.0),
               1000.0 / median);
    if (row.config) {
      const Workload work = least_work(*row.config);
      fmt::print(" {:>9.1f} {:>9.0f} {:>9.3f} {:>6.2f}", work.bytes * 1e-6, work.flops * 1e-6,
                 floor_ms(work, limits), median / floor_ms(work, limits));
    } else {
      fmt::print(" {:>9} {:>9} {:>9} {:>6}", "-", "-", "-", "-");
    }
    fmt::print("{}\n",
               row.errors && row.errors->compared > 0 ? errors_text(*row.errors) : std::string());
  }
}

}  // namespace

int bench_on_host(const BenchOptions& o, const EngineConfig& engine, const EngineInfo& info,
                  const std::vector<BenchInput>& inputs) {
  const int frames = o.frames.value_or(100);
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "measuring the machine...\r");
  const MachineLimits limits = measure_limits(info.workers);
  const StealMeter steal;
  std::vector<Table> tables;
  for (const BenchInput& input : inputs) {
    Table& table = tables.emplace_back(make_table(o, engine, info, input));
    time_rows(table, frames);
    for (Row& row : table.rows) {
      row.run.reset();  // its memory is needed for the next
      if (input.truth && row.refusal.empty())
        row.errors = input.errors(field_of(row, engine, input.clip, input.number));
    }
  }
  const double stolen = steal.percent();
  const bool with_peers = std::any_of(tables.begin(), tables.end(),
                                      [](const Table& table) { return !table.peers.empty(); });

  if (o.common.json) {
    nlohmann::ordered_json json = bench_json(o, info, inputs);
    json["frames"] = frames;
    json["machine"] = {{"cpu", cpu_name()},
                       {"system", system_name()},
                       {"threads", limits.threads},
                       {"simd", info.simd_target},
                       {"last_cache_bytes", last_cache_bytes()},
                       {"block_bytes", limits.block_bytes},
                       {"read_gb_per_s", limits.read_bytes_per_s * 1e-9},
                       {"copy_gb_per_s", limits.copy_bytes_per_s * 1e-9},
                       {"gflops", limits.flops * 1e-9}};
    json["steal_percent"] =
        stolen >= 0.0 ? nlohmann::ordered_json(stolen) : nlohmann::ordered_json(nullptr);
    json["peers"] =
        with_peers ? nlohmann::ordered_json(peer_library()) : nlohmann::ordered_json(nullptr);
    json["rows"] = nlohmann::ordered_json::array();
    for (const Table& table : tables)
      for (const Row& row : table.rows) json["rows"].push_back(row_json(row, *table.input, limits));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench flow: {} a row, all rows in turn\n", version(),
             counted(frames, "frame"));
  fmt::print("{}, {} ({}), {}\n", cpu_name(), counted(limits.threads, "thread"), info.simd_target,
             system_name());
  fmt::print(
      "limits measured: read {:.1f} GB/s, copy {:.1f} GB/s (block of {} MiB), {:.0f} GFLOP/s",
      limits.read_bytes_per_s * 1e-9, limits.copy_bytes_per_s * 1e-9, limits.block_bytes >> 20,
      limits.flops * 1e-9);
  if (stolen >= 0.0) fmt::print("; {:.2f} % of the CPU time stolen", stolen);
  fmt::print("\n");
  for (const Table& table : tables) print_table(table, limits);
  fmt::print(
      "\nMB and MFLOP: the least that a frame needs; floor: what they take at the limits above; "
      "ratio: median / floor.\n");
  if (with_peers)
    fmt::print("peers: {}, on the same frames with {}\n", peer_library(),
               counted(info.workers, "thread"));
  else
    fmt::print("{}\n", o.no_peers ? "peers left out (--no-peers)"
                       : inputs.front().clip.format() != PixelFormat::kGray8
                           ? "peers left out: they take 8 bits"
                           : "peers: this build has no OpenCV");
  return kDone;
}

}  // namespace ocellus::app
