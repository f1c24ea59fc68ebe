// The rows of `ocellus bench cortex` on a CUDA device.
#include <fmt/format.h>

#include <cuda_runtime_api.h>

#include <array>
#include <cmath>
#include <random>

#include "bench/cortical_network/bench.h"
#include "bench/cortical_network/device_network.h"
#include "bench/device_machine.h"
#include "bench/papers/core/paper_examples.h"
#include "bench/papers/core/paper_layered_program.h"
#include "bench/papers/cortical_network/paper_device_network.h"

namespace ocellus::app {
namespace {

using cuda::DeviceNetwork;
using paper::ColumnMemory;
using paper::LayeredProgram;
using paper::LayerSchedule;
using paper::NetworkSchedule;
using paper::PaperDeviceNetwork;
using paper::PaperVariant;
using paper::QueueSync;

struct Schedule {
  const char* name;
  NetworkSchedule schedule;
  PaperVariant variant{};
  const char* base = "";  ///< the schedule that its speed-up compares with
  /// Of the measured steps, which then do not learn.
  int feedback_rounds = 0;
};
constexpr std::array kSchedules = {Schedule{"launch per level", NetworkSchedule::kLevels},
                                   Schedule{"pipelined", NetworkSchedule::kPipelined},
                                   Schedule{"pipeline-2", NetworkSchedule::kResident},
                                   Schedule{"work queue", NetworkSchedule::kQueue}};

constexpr const char* kCounters = "queue, counters";
constexpr const char* kSharedQueue = "queue, shared";
constexpr const char* kSharedPipeline = "pipeline, shared";

/// Percent of a multiprocessor's memory: what the paper calls "prefer shared" and "prefer L1".
constexpr int kPreferShared = 100;
constexpr int kPreferL1 = 0;

constexpr PaperVariant in(ColumnMemory memory, int carveout) {
  return {QueueSync::kCounters, memory, carveout};
}

// Figures 18 to 21, then 22 and 24, then 23 and 25. The schedules that others are compared with
// come first.
constexpr std::array kExperiments = {
    Schedule{kCounters, NetworkSchedule::kQueue, {QueueSync::kCounters}},
    Schedule{"queue, no spin", NetworkSchedule::kQueue, {QueueSync::kNoSpin}, kCounters},
    Schedule{"queue, no atomics", NetworkSchedule::kQueue, {QueueSync::kNoAtomics}, kCounters},
    Schedule{"queue, feedback", NetworkSchedule::kQueue, {QueueSync::kFeedback}, "", 1},
    Schedule{kSharedQueue, NetworkSchedule::kQueue, in(ColumnMemory::kShared, kPreferShared)},
    Schedule{"queue, shared, L1", NetworkSchedule::kQueue, in(ColumnMemory::kShared, kPreferL1),
             kSharedQueue},
    Schedule{"queue, registers", NetworkSchedule::kQueue,
             in(ColumnMemory::kRegisters, kPreferShared), kSharedQueue},
    Schedule{"queue, registers, L1", NetworkSchedule::kQueue,
             in(ColumnMemory::kRegisters, kPreferL1), kSharedQueue},
    Schedule{kSharedPipeline, NetworkSchedule::kPipelined,
             in(ColumnMemory::kShared, kPreferShared)},
    Schedule{"pipeline, shared, L1", NetworkSchedule::kPipelined,
             in(ColumnMemory::kShared, kPreferL1), kSharedPipeline},
    Schedule{"pipeline, registers", NetworkSchedule::kPipelined,
             in(ColumnMemory::kRegisters, kPreferShared), kSharedPipeline},
    Schedule{"pipeline, registers, L1", NetworkSchedule::kPipelined,
             in(ColumnMemory::kRegisters, kPreferL1), kSharedPipeline}};

bool waits(const Schedule& schedule) {
  return schedule.variant.sync != QueueSync::kNoSpin &&
         schedule.variant.sync != QueueSync::kNoAtomics;
}

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
/// `learn`: in the measured steps.
template <typename Network, typename Finish>
void run(const CortexBenchOptions& o, const CorticalNetworkConfig& config, Network& network,
         const Finish& finish, const std::vector<std::int32_t>& winners, DeviceSteps& steps,
         bool learn = true) {
  ImageSource images(o, config.width);
  std::vector<double> times;
  for (int i = -o.warm_up; i < o.steps; ++i) {
    take(network.step(images.next().data(), config.width, learn || i < 0), steps.schedule);
    if (i >= 0) times.push_back(take(network.last_ms(), steps.schedule));
  }
  steps.ms = percentile(times, 50.0);
  finish();
  if (winners.empty()) return;
  std::size_t first = 0;
  for (int l = 0; l < config.level_count; ++l) {
    std::vector<std::int32_t> got(
        static_cast<std::size_t>(network.memory().plan().hierarchy.level(l).hypercolumns));
    take(network.read_winners(l, got), steps.schedule);
    for (std::size_t h = 0; h < got.size(); ++h) steps.different += got[h] != winners[first + h];
    first += got.size();
  }
}

/// Tables 1 and 3.
Json use_json(const EngineConfig& engine, const paper::KernelUse& use) {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, engine.backend.device);
  return {{"registers", use.registers},
          {"shared_bytes", use.shared_bytes},
          {"blocks_per_multiprocessor", use.blocks},
          {"occupancy", most == 0 ? 0.0 : static_cast<double>(use.blocks * use.threads) / most}};
}

/// The row of a schedule of the paper. `all`: the rows before it.
DeviceSteps paper_steps(const CortexBenchOptions& o, const EngineConfig& engine,
                        CorticalNetworkConfig config, const std::vector<std::int32_t>& winners,
                        const Schedule& schedule, const std::vector<DeviceSteps>& all) {
  DeviceSteps steps;
  config.feedback_rounds = schedule.feedback_rounds;
  const bool learns = config.feedback_rounds == 0;
  steps.schedule = schedule.name;
  auto made = engine_for(engine, PaperDeviceNetwork::footprint(config), steps);
  if (!made) return steps;
  PaperDeviceNetwork network =
      take(PaperDeviceNetwork::create(*made, config, schedule.schedule, 0, schedule.variant),
           steps.schedule);
  // Without waiting, winners are wrong. The CPU has learned the last step.
  run(
      o, config, network, [&] { take(network.finish(), steps.schedule); },
      waits(schedule) && learns ? winners : std::vector<std::int32_t>{}, steps, learns);
  if (!o.experiments()) return steps;
  steps.use = use_json(engine, take(network.kernel_use(), steps.schedule));
  if (schedule.schedule == NetworkSchedule::kLevels)
    steps.launches_share = take(network.launches_ms(), steps.schedule) / *steps.ms;
  for (const DeviceSteps& other : all) {
    if (other.schedule != schedule.base || !other.ms) continue;
    steps.base = schedule.base;
    steps.speed_up = *other.ms / *steps.ms;
  }
  return steps;
}

struct ExampleSchedule {
  const char* name;
  LayerSchedule schedule;
};
constexpr std::array kExampleSchedules = {
    ExampleSchedule{"launch per level", LayerSchedule::kLevels},
    ExampleSchedule{"pipelined", LayerSchedule::kPipelined},
    ExampleSchedule{"work queue", LayerSchedule::kQueue}};

std::vector<float> random_values(std::mt19937& random, std::size_t count, float most) {
  std::uniform_real_distribution<float> uniform(-most, most);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

void upload_weights(LayeredProgram<paper::ReductionArguments>&, std::mt19937&) {}
void upload_weights(LayeredProgram<paper::FeedForwardArguments>& program, std::mt19937& random) {
  const auto& a = program.arguments();
  for (std::size_t l = 0; l < a.weights.size(); ++l) {
    const auto inputs = static_cast<std::size_t>(a.sizes[l]);
    const auto neurons = static_cast<std::size_t>(a.sizes[l + 1]);
    const float most = 3.0f / std::sqrt(static_cast<float>(inputs));
    take(program.upload(a.weights[l], random_values(random, inputs * neurons, most)), "weights");
    take(program.upload(a.bias[l], random_values(random, neurons, 0.1f)), "weights");
  }
}

/// Runs with each schedule for the same input, so that the results of a pipeline are those of the
/// others. The median of several measurements.
template <typename Arguments>
void run_example(EngineConfig config, const typename Arguments::Config& of, const std::string& name,
                 std::vector<ExampleRun>& runs) {
  constexpr int kMeasurements = 9;
  constexpr int kRepeats = 50;
  config.memory = take(LayeredProgram<Arguments>::footprint(of), name);
  std::vector<float> first;
  for (const ExampleSchedule& schedule : kExampleSchedules) {
    Engine engine = take(Engine::create(config), name);
    auto program = take(LayeredProgram<Arguments>::create(engine, of, schedule.schedule), name);
    std::mt19937 random(1);
    const auto& a = program.arguments();
    take(program.upload(a.input, random_values(random, static_cast<std::size_t>(a.inputs), 1.0f)),
         name);
    upload_weights(program, random);
    std::vector<double> times;
    for (int i = 0; i < kMeasurements; ++i) times.push_back(take(program.time(kRepeats), name));
    std::vector<float> results(static_cast<std::size_t>(a.last().results));
    take(program.read(results), name);
    if (first.empty()) first = results;
    ExampleRun& run = runs.emplace_back(ExampleRun{name, schedule.name});
    run.ms = percentile(times, 50.0);
    for (int l = 0; l < a.layer_count && schedule.schedule == LayerSchedule::kLevels; ++l)
      run.layer_ms.push_back(take(program.time_layer(l, kRepeats), name));
    for (std::size_t i = 0; i < results.size(); ++i) run.different += results[i] != first[i];
  }
}

}  // namespace

std::vector<ExampleRun> run_examples(const EngineConfig& engine) {
  std::vector<ExampleRun> runs;
  for (const int bits : {16, 20, 24, 26}) {
    for (const int fan_in : {64, 256, 1024, 4096}) {
      run_example<paper::ReductionArguments>(engine, {1 << bits, fan_in},
                                             fmt::format("sum of 2^{} by {}", bits, fan_in), runs);
    }
  }
  for (const paper::FeedForwardConfig& config :
       {paper::FeedForwardConfig{}, paper::FeedForwardConfig{{784, 256, 256, 64, 10}},
        paper::FeedForwardConfig{{4096, 8192, 8192, 8192, 10}}}) {
    const auto& s = config.sizes;
    run_example<paper::FeedForwardArguments>(
        engine, config, fmt::format("net {}-{}-{}-{}-{}", s[0], s[1], s[2], s[3], s[4]), runs);
  }
  return runs;
}

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
      if (const auto bytes =
              network.count_step(ImageSource(o, config.width).next().data(), config.width);
          bytes) {
        steps.bytes_read = static_cast<double>(bytes->read);
        steps.bytes_written = static_cast<double>(bytes->written);
      } else if (bytes.error().status != Status::kUnsupported) {
        take(std::move(bytes), steps.schedule);
      }
    }
  }
  const auto add = [&](const auto& schedules) {
    for (const Schedule& schedule : schedules)
      all.push_back(paper_steps(o, engine, config, winners, schedule, all));
  };
  if (o.papers()) add(kSchedules);
  if (o.experiments()) add(kExperiments);
  return all;
}

std::vector<double> device_level_ms(const CortexBenchOptions& o, const EngineConfig& engine,
                                    const CorticalNetworkConfig& config) {
  DeviceSteps steps;
  auto made = engine_for(engine, PaperDeviceNetwork::footprint(config), steps);
  if (!made) return {};
  PaperDeviceNetwork network =
      take(PaperDeviceNetwork::create(*made, config, NetworkSchedule::kLevels), "levels");
  const auto levels = static_cast<std::size_t>(config.level_count);
  std::vector<std::vector<double>> times(levels);
  std::vector<double> ms(levels);
  ImageSource images(o, config.width);
  for (int i = -o.warm_up; i < o.steps; ++i) {
    take(network.step_levels(images.next().data(), config.width, ms), "levels");
    for (std::size_t l = 0; l < levels && i >= 0; ++l) times[l].push_back(ms[l]);
  }
  for (std::size_t l = 0; l < levels; ++l) ms[l] = percentile(times[l], 50.0);
  return ms;
}

double device_read_rate(const EngineConfig& engine) {
  return device_limits(engine).read_bytes_per_s;
}

}  // namespace ocellus::app
