#include "ocellus/cortical_profile.h"

#include <algorithm>
#include <chrono>

#include "core/failure.h"
#include "cortical_network/hierarchy.h"
#include "cortical_network/placement/placement_model.h"
#include "cortical_network/placement/profile_sample.h"

namespace ocellus {
namespace detail {
namespace {

constexpr std::uint64_t kLeastSample = std::uint64_t{1} << 16;
constexpr std::uint64_t kMostSample = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostGpuSample = std::uint64_t{1} << 40;
constexpr std::uint8_t kBright = 255;
/// In a row, whose upper and lower neighbors are itself, a bright pixel has the contrast 6 * 255 /
/// 8 and a dark one beside it 3 * 255 / 8.
constexpr int kThreshold = 128;

/// Time of a learning step on `image`, a row.
double step_seconds(CorticalNetwork& network, const std::vector<std::uint8_t>& image) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  network.step(image.data(), static_cast<std::ptrdiff_t>(image.size()), true);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Median of `step`, the time of a step, after the warm-up.
template <typename Step>
double median_seconds(const CorticalProfile& profile, const Step& step) {
  std::vector<double> seconds;
  for (int i = -profile.warm_up; i < profile.steps; ++i) {
    const double passed = step();
    if (i >= 0) seconds.push_back(passed);
  }
  return median(seconds);
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
    return median_seconds(profile, [&] { return step_seconds(*network, dark); });
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
  const double seconds = median_seconds(profile, [&] {
    const double without = step_seconds(*network, dark);
    return step_seconds(*network, image) - without;
  });
  return std::max(seconds, kLeastSeconds * count);
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
    sum += static_cast<std::uint64_t>(level.hypercolumns()) *
           cost_of(level, l == 0, PlacementKind::kCpu).memory;
  }
  return sum;
}

}  // namespace

SampleShape shape_of(const LevelPlan& level, bool lowest) noexcept {
  SampleShape shape;
  shape.pixels = std::max((level.inputs + kLgnCells - 1) / kLgnCells, 1);
  shape.active = std::min(level.shape.window_width * level.shape.window_height, shape.pixels);
  shape.minicolumns = level.shape.minicolumns;
  shape.lowest = lowest;
  return shape;
}

double median(std::vector<double>& values) noexcept {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
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

}  // namespace ocellus
