#include "ocellus/cortical_profile.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "core/failure.h"
#include "cortical_network/placement/placement_model.h"
#include "ocellus/buffer.h"
#include "ocellus/placed_cortical_network.h"
#include "training/thread_team.h"

namespace ocellus {
namespace detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLeastSample = std::uint64_t{1} << 16;
constexpr std::uint64_t kMostSample = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostGpuSample = std::uint64_t{1} << 40;
constexpr std::uint8_t kBright = 255;
/// In a row, whose upper and lower neighbors are itself, a bright pixel has the contrast 6 * 255 /
/// 8 and a dark one beside it 3 * 255 / 8.
constexpr int kThreshold = 128;

/// The time of a hypercolumn is at least this; a clock that does not tell two times apart must not
/// give 0.
constexpr double kLeastSeconds = 1e-9;

/// What the time of a hypercolumn depends on.
struct SampleShape {
  int pixels = 1;  ///< of the window, two inputs each
  int active = 1;
  int minicolumns = kLeastMinicolumns;
  bool lowest = false;

  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

SampleShape shape_of(const LevelPlan& level, bool lowest) noexcept {
  SampleShape shape;
  shape.pixels = std::max((level.inputs + kLgnCells - 1) / kLgnCells, 1);
  shape.active = std::min(level.window_width * level.window_height, shape.pixels);
  shape.minicolumns = level.minicolumns;
  shape.lowest = lowest;
  return shape;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Median of `step`, the time of a step, after the warm-up.
template <typename Step>
Expected<double> median_seconds(int warm_up, int steps, const Step& step) {
  std::vector<double> seconds;
  for (int i = -warm_up; i < steps; ++i) {
    OCELLUS_TRY_ASSIGN(passed, Expected<double>(step()));
    if (i >= 0) seconds.push_back(*passed);
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

Expected<void> check_profile(const CorticalProfile& profile) noexcept {
  OCELLUS_TRY(check_number("sample_bytes",
                           static_cast<long long>(std::min(profile.sample_bytes, kMostSample + 1)),
                           kLeastSample, kMostSample));
  const auto gpu_bytes = std::min(profile.gpu_sample_bytes, kMostGpuSample + 1);
  OCELLUS_TRY(check_number("gpu_sample_bytes", static_cast<long long>(gpu_bytes), kLeastSample,
                           kMostGpuSample));
  OCELLUS_TRY(check_number("warm_up", profile.warm_up, 0, 1000));
  return check_number("steps", profile.steps, 1, 1000);
}

// ---- the CPU

/// Time of a learning step on `image`, a row.
double step_seconds(CorticalNetwork& network, const std::vector<std::uint8_t>& image) {
  const Clock::time_point begin = Clock::now();
  network.step(image.data(), static_cast<std::ptrdiff_t>(image.size()), true);
  return seconds_since(begin);
}

/// Time of a level of `count` hypercolumns of this shape.
Expected<double> level_seconds(const CorticalNetworkConfig& base, const SampleShape& shape,
                               int count, const CorticalProfile& profile) {
  CorticalNetworkConfig config = base;
  config.width = shape.pixels * count;
  config.height = 1;
  config.level_count = 1;
  config.levels[0] = {shape.pixels, 1, shape.pixels, 1, shape.minicolumns};
  const std::vector<std::uint8_t> dark(static_cast<std::size_t>(config.width), 0);
  if (shape.lowest) {
    // One cell of each pixel is active.
    config.lgn = LgnTransform::kLevel;
    OCELLUS_TRY_ASSIGN(network, CorticalNetwork::create(config));
    return median_seconds(profile.warm_up, profile.steps,
                          [&] { return step_seconds(*network, dark); });
  }
  // One cell of each bright pixel is active, and none of a dark one.
  config.lgn = LgnTransform::kContrast;
  config.lgn_threshold = kThreshold;
  OCELLUS_TRY_ASSIGN(network, CorticalNetwork::create(config));
  std::vector<std::uint8_t> image = dark;
  for (int h = 0; h < count; ++h) {
    for (int i = 0; i < shape.active; ++i) {
      const std::int64_t x = std::int64_t{i} * shape.pixels / shape.active;
      image[static_cast<std::size_t>(h) * static_cast<std::size_t>(shape.pixels) +
            static_cast<std::size_t>(x)] = kBright;
    }
  }
  // A dark step learns nothing. Each one stands beside a bright one, because the speed of a CPU
  // that other programs use changes from one millisecond to the next.
  OCELLUS_TRY_ASSIGN(seconds, median_seconds(profile.warm_up, profile.steps, [&] {
                       const double without = step_seconds(*network, dark);
                       return step_seconds(*network, image) - without;
                     }));
  return std::max(*seconds, kLeastSeconds * count);
}

Expected<MeasuredLevel> measure(const CorticalNetworkConfig& config, const LevelPlan& level,
                                const SampleShape& shape, std::uint64_t sample_bytes,
                                const CorticalProfile& profile) {
  const std::uint64_t bytes = cost_of(level, false, PlacementKind::kCpu).memory;
  const int most = std::min(kMaxHypercolumns, kMaxLgnSide / shape.pixels);
  const int count = static_cast<int>(
      std::clamp<std::uint64_t>(sample_bytes / bytes, 4, static_cast<std::uint64_t>(most)));
  OCELLUS_TRY_ASSIGN(one, level_seconds(config, shape, 1, profile));
  OCELLUS_TRY_ASSIGN(all, level_seconds(config, shape, count, profile));
  MeasuredLevel measured;
  measured.launch_s = std::max(*one - *all / count, 0.0);
  measured.hypercolumn_s = std::max((*all - measured.launch_s) / count, kLeastSeconds);
  return measured;
}

std::uint64_t bytes_of(const Hierarchy& hierarchy) noexcept {
  std::uint64_t sum = 0;
  for (int l = 0; l < hierarchy.level_count; ++l) {
    const LevelPlan& level = hierarchy.level(l);
    sum += static_cast<std::uint64_t>(level.hypercolumns) *
           cost_of(level, l == 0, PlacementKind::kCpu).memory;
  }
  return sum;
}

// ---- the link of a GPU

constexpr std::size_t kSmallCopy = 64;
constexpr std::size_t kLargeCopy = std::size_t{64} << 20;
constexpr int kCopies = 9;

/// An engine with memory for copies.
struct CopyRig {
  Engine engine;
  Buffer pinned;
  Buffer on_device;

  static Expected<CopyRig> create(EngineConfig config) {
    config.memory = Buffer::footprint(MemorySpace::kPinned, kLargeCopy) +
                    Buffer::footprint(MemorySpace::kCuda, kLargeCopy);
    OCELLUS_TRY_ASSIGN(engine, Engine::create(config));
    OCELLUS_TRY_ASSIGN(pinned, Buffer::create(*engine, MemorySpace::kPinned, kLargeCopy));
    OCELLUS_TRY_ASSIGN(on_device, Buffer::create(*engine, MemorySpace::kCuda, kLargeCopy));
    return CopyRig{std::move(*engine), std::move(*pinned), std::move(*on_device)};
  }

  Expected<void> load(std::size_t bytes) { return on_device.write(0, pinned.data(), bytes); }
  Expected<void> store(std::size_t bytes) { return on_device.read(0, pinned.data(), bytes); }
};

/// Median time of a copy to the device.
Expected<double> copy_seconds(CopyRig& rig, std::size_t bytes) {
  return median_seconds(1, kCopies, [&]() -> Expected<double> {
    const Clock::time_point begin = Clock::now();
    OCELLUS_TRY(rig.load(bytes));
    return seconds_since(begin);
  });
}

Expected<void> measure_link(const EngineConfig& config, MeasuredDevice& measured) {
  // Two engines have streams of their own, so that their copies overlap.
  OCELLUS_TRY_ASSIGN(rig, CopyRig::create(config));
  OCELLUS_TRY_ASSIGN(other, CopyRig::create(config));
  OCELLUS_TRY_ASSIGN(small, copy_seconds(*rig, kSmallCopy));
  OCELLUS_TRY_ASSIGN(large, copy_seconds(*rig, kLargeCopy));
  measured.link_latency_s = *small;
  measured.link_bytes_per_s =
      static_cast<double>(kLargeCopy) / std::max(*large - *small, kLeastSeconds);
  OCELLUS_TRY_ASSIGN(team, ThreadTeam::create(2));
  Expected<void> stored;
  Expected<void> loaded;
  const Clock::time_point begin = Clock::now();
  (*team)->run_on_each([&](int thread) {
    for (int i = 0; thread == 0 && i < kCopies && loaded; ++i) loaded = rig->load(kLargeCopy);
    for (int i = 0; thread == 1 && i < kCopies && stored; ++i) stored = other->store(kLargeCopy);
  });
  measured.link_both_bytes_per_s = 2.0 * kCopies * static_cast<double>(kLargeCopy) /
                                   std::max(seconds_since(begin), kLeastSeconds);
  return loaded ? stored : loaded;
}

// ---- the levels of a GPU

class DeviceSamples {
 public:
  DeviceSamples(const CorticalProfile& profile, const EngineConfig& engine,
                const MeasuredDevice& link)
      : profile_(profile), engine_(engine), link_(link) {}

  /// Device memory of a sample.
  Expected<std::uint64_t> bytes(const CorticalNetworkConfig& config) const {
    OCELLUS_TRY_ASSIGN(placement, place_cortical_network(config, std::vector<PlacementDevice>(1)));
    OCELLUS_TRY_ASSIGN(footprint, PlacedCorticalNetwork::footprint(config, *placement, 0));
    return footprint->device;
  }

  /// Median time of a learning step, without transfers.
  Expected<double> seconds(const CorticalNetworkConfig& config) const {
    OCELLUS_TRY_ASSIGN(placement, place_cortical_network(config, std::vector<PlacementDevice>(1)));
    const auto pixels =
        static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height);
    EngineConfig settings = engine_;
    OCELLUS_TRY_ASSIGN(footprint, PlacedCorticalNetwork::footprint(config, *placement, 0));
    settings.memory = *footprint + Buffer::footprint(MemorySpace::kPinned, pixels);
    OCELLUS_TRY_ASSIGN(engine, Engine::create(settings));
    OCELLUS_TRY_ASSIGN(image, Buffer::create(*engine, MemorySpace::kPinned, pixels));
    Engine* const engines[] = {&*engine};
    OCELLUS_TRY_ASSIGN(network, PlacedCorticalNetwork::create(config, *placement, engines));
    auto* const of_image = static_cast<std::uint8_t*>(image->data());
    std::mt19937 random(1);
    for (std::size_t i = 0; i < pixels; ++i) of_image[i] = random() % 2 == 0 ? 0 : 255;
    const auto step = [&]() -> Expected<double> {
      const Clock::time_point begin = Clock::now();
      OCELLUS_TRY(network->step(of_image, config.width, true, MemorySpace::kPinned));
      return seconds_since(begin);
    };
    OCELLUS_TRY_ASSIGN(seconds, median_seconds(profile_.warm_up, profile_.steps, step));
    const double transferred =
        static_cast<double>(pixels) +
        static_cast<double>(network->winners().size() * sizeof(std::int32_t));
    return *seconds - 2.0 * link_.link_latency_s - transferred / link_.link_bytes_per_s;
  }

 private:
  const CorticalProfile& profile_;
  const EngineConfig& engine_;
  const MeasuredDevice& link_;
};

/// The lowest levels.
CorticalNetworkConfig prefix(CorticalNetworkConfig config, int levels) {
  config.level_count = levels;
  return config;
}

/// The network over half of the image, with the levels that still fit; no level if there is none.
CorticalNetworkConfig halved(CorticalNetworkConfig config) {
  int& side = config.width >= config.height ? config.width : config.height;
  side /= 2;
  while (config.level_count > 0 && !hierarchy_of(config)) --config.level_count;
  return config;
}

int hypercolumns_of(const CorticalNetworkConfig& config, int level) {
  return hierarchy_of(config)->level(level).hypercolumns;
}

/// What each level adds to the time of a step.
struct LevelTimes {
  CorticalNetworkConfig config;
  std::vector<double> until;  ///< of the lowest 1, 2, ... levels

  Expected<double> added(const DeviceSamples& samples, int level) {
    while (static_cast<int>(until.size()) <= level) {
      OCELLUS_TRY_ASSIGN(seconds,
                         samples.seconds(prefix(config, static_cast<int>(until.size()) + 1)));
      until.push_back(*seconds);
    }
    const auto at = static_cast<std::size_t>(level);
    return until[at] - (level == 0 ? 0.0 : until[at - 1]);
  }
};

Expected<std::vector<MeasuredLevel>> measure_levels(const CorticalNetworkConfig& config,
                                                    const DeviceSamples& samples,
                                                    std::uint64_t most) {
  LevelTimes whole{config, {}};
  whole.config.feedback_rounds = 0;
  // Half of the cells are active in any image.
  whole.config.lgn = LgnTransform::kLevel;
  for (;;) {
    if (whole.config.level_count == 0) {
      return tl::unexpected(make_error(
          Status::kOutOfMemory,
          "a hypercolumn of the lowest level takes more than the %llu bytes of a sample on the "
          "device; give it more memory, or set gpu_sample_bytes",
          static_cast<unsigned long long>(most)));
    }
    OCELLUS_TRY_ASSIGN(bytes, samples.bytes(whole.config));
    if (*bytes <= most) break;
    whole.config = halved(whole.config);
  }
  LevelTimes half{halved(whole.config), {}};
  const Expected<Hierarchy> hierarchy = hierarchy_of(config);
  std::vector<SampleShape> shapes;
  std::vector<MeasuredLevel> levels;
  for (int l = 0; l < config.level_count; ++l) {
    shapes.push_back(shape_of(hierarchy->level(l), l == 0));
    const auto known = static_cast<std::size_t>(
        std::find(shapes.begin(), shapes.end(), shapes.back()) - shapes.begin());
    MeasuredLevel level;
    if (known < levels.size()) level.hypercolumn_s = levels[known].hypercolumn_s;
    if (l >= whole.config.level_count) {
      // The sample is too small for the level, which has fewer hypercolumns than those below.
      level = {levels.back().launch_s,
               known < levels.size() ? level.hypercolumn_s : levels.back().hypercolumn_s};
      levels.push_back(level);
      continue;
    }
    OCELLUS_TRY_ASSIGN(added, whole.added(samples, l));
    const auto count = static_cast<double>(hypercolumns_of(whole.config, l));
    if (known >= levels.size()) {
      const double most_s = std::max(*added / count, kLeastSeconds);
      level.hypercolumn_s = most_s;
      if (l < half.config.level_count) {
        OCELLUS_TRY_ASSIGN(added_half, half.added(samples, l));
        const double more = count - static_cast<double>(hypercolumns_of(half.config, l));
        level.hypercolumn_s =
            std::clamp((*added - *added_half) / std::max(more, 1.0), kLeastSeconds, most_s);
      }
    }
    level.launch_s = std::max(*added - count * level.hypercolumn_s, 0.0);
    levels.push_back(level);
  }
  return levels;
}

}  // namespace
}  // namespace detail

Expected<std::vector<MeasuredLevel>> profile_cortical_network(const CorticalNetworkConfig& config,
                                                              const CorticalProfile& profile) {
  OCELLUS_TRY(detail::check_profile(profile));
  OCELLUS_TRY_ASSIGN(hierarchy, detail::hierarchy_of(config));
  const std::uint64_t bytes = std::min(profile.sample_bytes, detail::bytes_of(*hierarchy));
  std::vector<detail::SampleShape> shapes;
  std::vector<MeasuredLevel> levels;
  for (int l = 0; l < hierarchy->level_count; ++l) {
    const detail::LevelPlan& level = hierarchy->level(l);
    const detail::SampleShape shape = detail::shape_of(level, l == 0);
    const auto known =
        static_cast<std::size_t>(std::find(shapes.begin(), shapes.end(), shape) - shapes.begin());
    shapes.push_back(shape);
    if (known < levels.size()) {
      levels.push_back(MeasuredLevel(levels[known]));
      continue;
    }
    OCELLUS_TRY_ASSIGN(measured, detail::measure(config, level, shape, bytes, profile));
    levels.push_back(*measured);
  }
  return levels;
}

Expected<MeasuredDevice> profile_cortical_device(const CorticalNetworkConfig& config,
                                                 const CorticalProfile& profile,
                                                 const EngineConfig& engine, std::uint64_t memory) {
  OCELLUS_TRY(detail::check_profile(profile));
  OCELLUS_TRY(detail::hierarchy_of(config));
  EngineConfig settings = engine;
  settings.memory = {};
  // Keeps the context of the device between the samples.
  OCELLUS_TRY_ASSIGN(keeper, Engine::create(settings));
  if (keeper->info().backend != BackendKind::kCuda) {
    return detail::invalid_argument(
        "the engine computes on the CPU; a profile of a GPU needs a "
        "CUDA device");
  }
  MeasuredDevice measured;
  OCELLUS_TRY(detail::measure_link(settings, measured));
  OCELLUS_TRY_ASSIGN(
      levels, detail::measure_levels(config, detail::DeviceSamples(profile, settings, measured),
                                     std::min(memory, profile.gpu_sample_bytes)));
  measured.measured = std::move(*levels);
  return measured;
}

}  // namespace ocellus
