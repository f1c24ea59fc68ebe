// The rows of `ocellus bench cortex --placed`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "apps/common/printable.h"
#include "apps/cortical_network/real_devices.h"
#include "bench/cortical_network/bench.h"

namespace ocellus::app {

PlacementRule placement_rule(const std::string& text) {
  return text == "even" ? PlacementRule::kEven : PlacementRule::kProfiled;
}

namespace {

PlacedSteps run_placed(const CortexBenchOptions& o, const CorticalNetworkConfig& config,
                       const std::vector<RealDevice>& devices, const std::string& placement,
                       PlacedSchedule schedule, const std::vector<std::int32_t>& winners) {
  PlanReport report;
  report.devices = placement_devices(devices);
  report.placement =
      take(place_cortical_network(config, report.devices, placement_rule(placement)), "plan");
  PlacedSteps steps;
  steps.placement = placement;
  steps.schedule = schedule == PlacedSchedule::kInOrder ? "in order" : "pipelined";
  steps.plan = plan_json(report);
  if (schedule == PlacedSchedule::kInOrder) steps.predicted_ms = 1e3 * report.placement.step_s;
  for (const PlacementPart& part : report.placement.parts) {
    steps.parts += fmt::format(
        "{}{}: levels {} to {}, {}", steps.parts.empty() ? "" : "; ",
        printable(report.devices[static_cast<std::size_t>(part.device)].name), part.first_level + 1,
        part.end_level, counted(part.hypercolumns, "hypercolumn"));
    if (!part.turns.empty())
      steps.parts +=
          fmt::format(" in {}", counted(static_cast<std::int64_t>(part.turns.size()) - 1, "turn"));
  }

  PlacedRun run(config, report.placement, devices, schedule);
  ImageSource images(o, config.width);
  // Steps follow each other without a pause, in which a pipeline would get ahead. A single image
  // stays in both places.
  const bool same = o.images == 1 && o.noise == 0.0;
  std::vector<double> times;
  auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < o.warm_up + o.steps; ++i) {
    std::uint8_t* const to = run.next_image();
    if (!same || i < 2) {
      const std::vector<std::uint8_t>& image = images.next();
      std::copy(image.begin(), image.end(), to);
    }
    take(run.network().step(to, config.width, true, run.space()), "placed network");
    const auto now = std::chrono::steady_clock::now();
    if (i >= o.warm_up)
      times.push_back(std::chrono::duration<double, std::milli>(now - before).count());
    before = now;
  }
  steps.ms = percentile(times, 50.0);
  take(run.network().finish(), "placed network");
  const auto top = run.network().winners();
  if (winners.empty()) return steps;
  const std::size_t first = winners.size() - top.size();
  for (std::size_t h = 0; h < top.size(); ++h) steps.different += top[h] != winners[first + h];
  // The highest level is one hypercolumn: those below tell more.
  std::size_t at = 0;
  for (int l = 0; l + 1 < run.network().levels(); ++l) {
    const ImageSize grid = run.network().grid(l);
    std::vector<std::int32_t> got(static_cast<std::size_t>(grid.width) *
                                  static_cast<std::size_t>(grid.height));
    take(run.network().read_winners(l, got), "placed network");
    for (std::size_t h = 0; h < got.size(); ++h) steps.different += got[h] != winners[at + h];
    at += got.size();
  }
  return steps;
}

}  // namespace

std::vector<PlacedSteps> placed_steps(const CortexBenchOptions& o,
                                      const CorticalNetworkConfig& config,
                                      const std::vector<std::int32_t>& winners) {
  std::vector<RealDevice> devices =
      parse_real_devices("--placed", o.placed, std::max(o.common.threads, 1));
  CorticalProfile profile;
  profile.warm_up = o.warm_up;
  profile.steps = o.steps;
  measure_devices(config, profile, devices);
  std::vector<PlacedSteps> all;
  for (const std::string& placement : o.placements)
    for (const PlacedSchedule schedule : {PlacedSchedule::kInOrder, PlacedSchedule::kPipelined})
      all.push_back(run_placed(o, config, devices, placement, schedule, winners));
  return all;
}

}  // namespace ocellus::app
