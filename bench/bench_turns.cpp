#include "bench/bench_turns.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

/// Frames for which a row is timed in each turn.
constexpr int kTurn = 10;

MachineLimits measure(int threads) {
  if (isatty(STDERR_FILENO)) tell("measuring the machine...\r");
  return measure_limits(threads);
}

}  // namespace

void time_in_turns(const std::vector<TimedRow*>& rows, int frames, const std::string& title) {
  using Clock = std::chrono::steady_clock;
  const int turns = (frames + kTurn - 1) / kTurn;
  Progress progress(title,
                    static_cast<std::int64_t>(turns) * static_cast<std::int64_t>(rows.size()));
  std::int64_t done = 0;
  std::vector<bool> left_out(rows.size(), false);
  for (TimedRow* row : rows) row->ms.reserve(static_cast<std::size_t>(frames));
  for (int turn = -1; turn < turns; ++turn) {  // turn -1 fills rings and buffers
    for (std::size_t r = 0; r < rows.size(); ++r) {
      TimedRow& row = *rows[r];
      const int timed = std::min(kTurn, frames - turn * kTurn);
      const int count = turn < 0 ? row.warm_up() : timed + 1;
      for (int i = 0; i < count && !left_out[r]; ++i) {
        const std::size_t position = static_cast<std::size_t>(std::max(turn, 0) * (kTurn + 1) + i);
        const Clock::time_point begin = Clock::now();
        left_out[r] = !row.step(position);
        const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
        if (turn >= 0 && i > 0 && !left_out[r]) row.ms.push_back(ms);
      }
      if (turn >= 0) progress.update(++done);
    }
  }
}

HostMachine::HostMachine(const EngineInfo& info) : info_(info), limits_(measure(info.workers)) {}

double HostMachine::floor_ms(const Workload& work) const {
  return 1e3 * std::max(work.bytes / limits_.read_bytes_per_s, work.flops / limits_.flops);
}

void HostMachine::add_to(nlohmann::ordered_json& json) const {
  json["machine"] = {{"cpu", cpu_name()},
                     {"system", system_name()},
                     {"threads", limits_.threads},
                     {"simd", info_.simd_target},
                     {"last_cache_bytes", last_cache_bytes()},
                     {"block_bytes", limits_.block_bytes},
                     {"read_gb_per_s", limits_.read_bytes_per_s * 1e-9},
                     {"copy_gb_per_s", limits_.copy_bytes_per_s * 1e-9},
                     {"gflops", limits_.flops * 1e-9}};
  const double stolen = steal_.percent();
  json["steal_percent"] = or_null(stolen >= 0.0, stolen);
}

std::string HostMachine::text() const {
  std::string text = fmt::format(
      "{}, {} ({}), {}\n"
      "limits measured: read {:.1f} GB/s, copy {:.1f} GB/s (block of {} MiB), {:.0f} GFLOP/s",
      cpu_name(), counted(limits_.threads, "thread"), info_.simd_target, system_name(),
      limits_.read_bytes_per_s * 1e-9, limits_.copy_bytes_per_s * 1e-9, limits_.block_bytes >> 20,
      limits_.flops * 1e-9);
  const double stolen = steal_.percent();
  if (stolen >= 0.0) text += fmt::format("; {:.2f} % of the CPU time stolen", stolen);
  return text + "\n";
}

void HostMachine::add_times(nlohmann::ordered_json& json, const std::vector<double>& ms) const {
  const double median = percentile(ms, 50.0);
  json["median_ms"] = median;
  json["p99_ms"] = percentile(ms, 99.0);
  json["min_ms"] = percentile(ms, 0.0);
  json["frames_per_s"] = 1000.0 / median;
}

void HostMachine::add_floor(nlohmann::ordered_json& json, const Workload& work,
                            double median_ms) const {
  json["mb_per_frame"] = work.bytes * 1e-6;
  json["mflop_per_frame"] = work.flops * 1e-6;
  json["floor_ms"] = floor_ms(work);
  json["ratio"] = median_ms / floor_ms(work);
}

}  // namespace ocellus::app
