#include "apps/cluster/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/common/common.h"
#include "apps/io/chrome_trace.h"

namespace ocellus::app {
namespace {

constexpr std::array<const char*, 5> kStageNames = {"frame", "derivatives", "exchange", "solution",
                                                    "result"};

double per_frame_ms(double seconds, const ClusterRankReport& report) {
  return report.frames == 0 ? 0.0 : 1e3 * seconds / static_cast<double>(report.frames);
}

double per_frame_kb(std::uint64_t bytes, const ClusterRankReport& report) {
  return report.frames == 0
             ? 0.0
             : 1e-3 * static_cast<double>(bytes) / static_cast<double>(report.frames);
}

}  // namespace

double overlap_of(const ClusterRankReport& report) {
  const double transfers = report.exchange_seconds + report.result_seconds;
  if (transfers <= 0.0) return 1.0;
  return std::clamp(1.0 - report.exposed_seconds / transfers, 0.0, 1.0);
}

ClusterTotals totals_of(std::span<const ClusterRankReport> reports) {
  ClusterTotals totals;
  if (reports.empty()) return totals;
  double overlap = 0.0;
  for (const ClusterRankReport& report : reports) {
    overlap += overlap_of(report);
    totals.frame_bytes += report.frame_bytes;
    totals.halo_bytes += report.halo_bytes;
    totals.result_bytes += report.result_bytes;
  }
  totals.overlap = overlap / static_cast<double>(reports.size());
  return totals;
}

void print_ranks(std::span<const ClusterRankReport> reports) {
  fmt::print("times in ms and bytes in kB per frame\n");
  fmt::print("{:>4} {:16} {:>22} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8} {:>9} {:>9} {:>9}\n", "rank",
             "host", "region", "derivative", "exchange", "solution", "result", "exposed", "overlap",
             "frame kB", "halo kB", "result kB");
  int rank = 0;
  for (const ClusterRankReport& r : reports) {
    fmt::print(
        "{:>4} {:16} {:>22} {:>10.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.2f} {:>6.1f} % {:>9.1f} "
        "{:>9.1f} {:>9.1f}\n",
        rank++, r.host,
        fmt::format("{}x{}+{}+{}", r.region.width, r.region.height, r.region.x, r.region.y),
        per_frame_ms(r.derivative_seconds, r), per_frame_ms(r.exchange_seconds, r),
        per_frame_ms(r.solution_seconds, r), per_frame_ms(r.result_seconds, r),
        per_frame_ms(r.exposed_seconds, r), 100.0 * overlap_of(r), per_frame_kb(r.frame_bytes, r),
        per_frame_kb(r.halo_bytes, r), per_frame_kb(r.result_bytes, r));
  }
}

nlohmann::ordered_json ranks_json(std::span<const ClusterRankReport> reports) {
  auto ranks = nlohmann::ordered_json::array();
  for (const ClusterRankReport& r : reports) {
    nlohmann::ordered_json json;
    json["host"] = r.host;
    json["backend"] = backend_name(r.backend);
    if (r.backend == BackendKind::kCuda) {
      json["halo"] = r.halo_memory == MemorySpace::kCuda ? "direct" : "staged";
      json["peers"] = r.peers;
    }
    json["region"] = {r.region.x, r.region.y, r.region.width, r.region.height};
    if (r.speed > 0.0) json["pixels_per_second"] = r.speed;
    json["frames"] = r.frames;
    json["seconds"] = r.seconds;
    json["derivative_ms"] = per_frame_ms(r.derivative_seconds, r);
    json["exchange_ms"] = per_frame_ms(r.exchange_seconds, r);
    json["solution_ms"] = per_frame_ms(r.solution_seconds, r);
    json["result_ms"] = per_frame_ms(r.result_seconds, r);
    json["receive_ms"] = per_frame_ms(r.receive_seconds, r);
    json["exposed_ms"] = per_frame_ms(r.exposed_seconds, r);
    json["overlap"] = overlap_of(r);
    json["frame_bytes"] = r.frame_bytes;
    json["halo_bytes"] = r.halo_bytes;
    json["result_bytes"] = r.result_bytes;
    ranks.push_back(std::move(json));
  }
  return ranks;
}

void write_trace(const std::string& path, std::span<const ClusterEvent> events,
                 std::span<const ClusterRankReport> reports) {
  ChromeTrace trace;
  int rank = 0;
  for (const ClusterRankReport& report : reports) {
    trace.name_process(rank, fmt::format("rank {} on {}", rank, report.host));
    for (std::size_t stage = 0; stage < kStageNames.size(); ++stage)
      trace.name_thread(rank, stage, kStageNames[stage]);
    ++rank;
  }
  for (const ClusterEvent& event : events) {
    const auto stage = static_cast<std::size_t>(event.stage);
    trace.add_span(event.rank, stage, kStageNames.at(stage), fmt::format("frame {}", event.frame),
                   event.begin_ns, event.end_ns);
  }
  trace.write(path);
}

}  // namespace ocellus::app
