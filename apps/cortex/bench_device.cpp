// The rows of `ocellus bench cortex` on a CUDA device.
#include <fmt/format.h>

#include <array>

#include "apps/cortex/bench.h"
#include "apps/measure/device_machine.h"
#include "kernels/cortex/device_network.h"
#include "kernels/cortex/paper_device_network.h"

namespace ocellus::app {
namespace {

using cuda::DeviceNetwork;
using paper::NetworkSchedule;
using paper::PaperDeviceNetwork;

struct Schedule {
  const char* name;
  NetworkSchedule schedule;
};
constexpr std::array kSchedules = {Schedule{"launch per level", NetworkSchedule::kLevels},
                                   Schedule{"pipelined", NetworkSchedule::kPipelined},
                                   Schedule{"pipeline-2", NetworkSchedule::kResident},
                                   Schedule{"work queue", NetworkSchedule::kQueue}};

/// An engine with memory for a network, or why there is none.
std::optional<Engine> engine_for(EngineConfig config, const Expected<Footprint>& bytes,
                                 DeviceSteps& steps) {
  config.memory = take(bytes, "network");
  Expected<Engine> engine = Engine::create(config);
  if (engine) return std::move(*engine);
  if (engine.error().status != Status::kOutOfMemory) take(std::move(engine), "engine");
  steps.missing = engine.error().text;
  return std::nullopt;
}

/// Steps with the images that the CPU learned. `finish` computes what is still in a pipeline.
template <typename Network, typename Finish>
void run(const CortexBenchOptions& o, const CorticalNetworkConfig& config, Network& network,
         const Finish& finish, const std::vector<std::int32_t>& winners, DeviceSteps& steps) {
  ImageSource images(o, config.width);
  std::vector<double> times;
  for (int i = -o.warm_up; i < o.steps; ++i) {
    take(network.step(images.next().data(), config.width, true), steps.schedule);
    if (i >= 0) times.push_back(take(network.last_ms(), steps.schedule));
  }
  steps.ms = percentile(times, 50.0);
  finish();
  if (winners.empty()) return;
  std::size_t first = 0;
  for (int l = 0; l < config.level_count; ++l) {
    std::vector<std::int32_t> got(
        static_cast<std::size_t>(network.memory().plan().hierarchy.level(l).hypercolumns()));
    take(network.read_winners(l, got), steps.schedule);
    for (std::size_t h = 0; h < got.size(); ++h) steps.different += got[h] != winners[first + h];
    first += got.size();
  }
}

}  // namespace

std::vector<DeviceSteps> device_steps(const CortexBenchOptions& o, const EngineConfig& engine,
                                      const CorticalNetworkConfig& config,
                                      const std::vector<std::int32_t>& winners) {
  std::vector<DeviceSteps> all;
  if (o.ours()) {
    DeviceSteps& steps = all.emplace_back();
    steps.schedule = "ours";
    if (auto made = engine_for(engine, DeviceNetwork::footprint(config), steps)) {
      DeviceNetwork network = take(DeviceNetwork::create(*made, config), steps.schedule);
      run(
          o, config, network, [] { return 0; }, winners, steps);
    }
  }
  if (!o.papers()) return all;
  for (const Schedule& schedule : kSchedules) {
    DeviceSteps& steps = all.emplace_back();
    steps.schedule = schedule.name;
    if (auto made = engine_for(engine, PaperDeviceNetwork::footprint(config), steps)) {
      PaperDeviceNetwork network =
          take(PaperDeviceNetwork::create(*made, config, schedule.schedule), steps.schedule);
      run(
          o, config, network, [&] { take(network.finish(), steps.schedule); }, winners, steps);
    }
  }
  return all;
}

double device_read_rate(const EngineConfig& engine) {
  return device_limits(engine).read_bytes_per_s;
}

}  // namespace ocellus::app
