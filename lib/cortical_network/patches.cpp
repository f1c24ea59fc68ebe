#include "cortical_network/patches.h"

#include <algorithm>
#include <cmath>

#include "core/failure.h"

namespace ocellus::detail {

Expected<PatchGrid> patch_grid(ImageSize frame, PatchLayout layout, ImageSize tile) noexcept {
  PatchGrid grid;
  grid.tile = layout == PatchLayout::kTiles ? tile : frame;
  if (grid.tile.width > frame.width || grid.tile.height > frame.height) {
    return invalid_argument("tiles have %dx%d pixels; the frame has %dx%d and must hold one",
                            grid.tile.width, grid.tile.height, frame.width, frame.height);
  }
  grid.columns = frame.width / grid.tile.width;
  const int tiles = grid.columns * (frame.height / grid.tile.height);
  grid.patches = std::min(tiles, kMaxPatches);
  grid.truncated = tiles > kMaxPatches;
  return grid;
}

std::uint64_t arrangement_of(std::initializer_list<int> numbers,
                             std::span<const CorticalLevel> levels) noexcept {
  // FNV-1a.
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&hash](int number) {
    hash = (hash ^ static_cast<std::uint32_t>(number)) * 1099511628211U;
  };
  for (const int number : numbers) add(number);
  for (const CorticalLevel& level : levels)
    for (const int number : {level.window_width, level.window_height, level.stride_x,
                             level.stride_y, level.minicolumns})
      add(number);
  return hash;
}

PatchAnswer decide(const std::int64_t* evidence, int classes, float sharpness) noexcept {
  const auto* const best = std::max_element(evidence, evidence + classes);
  constexpr double kUnit = 1.0 / (kCortexReadOutScale * kCortexActivityOne);
  double sum = 0.0;
  for (int c = 0; c < classes; ++c) {
    sum +=
        std::exp(static_cast<double>(sharpness) * static_cast<double>(evidence[c] - *best) * kUnit);
  }
  return {static_cast<int>(best - evidence), static_cast<float>(1.0 / sum)};
}

std::size_t read_out_rows(const Hierarchy& hierarchy) noexcept {
  std::size_t rows = 0;
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    rows += static_cast<std::size_t>(l.hypercolumns) * static_cast<std::size_t>(l.minicolumns + 1);
  }
  return rows;
}

void read_out_winners(const Hierarchy& hierarchy, const std::int32_t* class_bias,
                      const std::int16_t* rows, int classes, const std::int32_t* winners,
                      std::int64_t* evidence) noexcept {
  for (int c = 0; c < classes; ++c) evidence[c] = std::int64_t{class_bias[c]} * kCortexActivityOne;
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    for (int h = 0; h < l.hypercolumns; ++h) {
      static_assert(kSilent == -1);
      const std::int16_t* const row =
          rows + static_cast<std::ptrdiff_t>(winners[l.first + h] + 1) * classes;
      for (int c = 0; c < classes; ++c) evidence[c] += kCortexActivityOne * row[c];
      rows += static_cast<std::ptrdiff_t>(l.minicolumns + 1) * classes;
    }
  }
}

PatchAnswer decide_or_none(const std::int64_t* evidence, int classes, float sharpness) noexcept {
  if (std::all_of(evidence, evidence + classes, [&](std::int64_t e) { return e == *evidence; }))
    return {-1, 0.0f};
  return decide(evidence, classes, sharpness);
}

bool is_sharpness(float sharpness) noexcept {
  // Comparisons with NaN are false.
  return sharpness > 0.0f && sharpness <= 1000.0f;
}

}  // namespace ocellus::detail
