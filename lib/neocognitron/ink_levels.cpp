#include "neocognitron/ink_levels.h"

#include <algorithm>
#include <array>

namespace ocellus::detail {
namespace {

constexpr int kLeastBits = 3;

}  // namespace

InkGrid InkLevels::grid_for(ImageSize size, int window) noexcept {
  InkGrid grid{size.width, size.height, kLeastBits, 1};
  while (window > grid.side() * (2 * InkGrid::kMaxRadius + 1) && grid.bits < InkGrid::kMostBits)
    ++grid.bits;
  grid.radius = std::clamp((window / grid.side() - 1) / 2, 1, InkGrid::kMaxRadius);
  return grid;
}

InkLevels::InkLevels(ImageSize size, int window, LayoutBuilder& memory) noexcept
    : grid_(grid_for(size, window)),
      columns_(grid_.columns()),
      rows_(grid_.rows()),
      stride_(block_stride(columns_)) {
  const auto rows = static_cast<std::size_t>(rows_);
  const std::size_t blocks = columns_ * rows;
  const std::size_t statistics = rows * kBlockStatistics * stride_;
  window_columns_ = memory.take<std::int32_t>(static_cast<std::size_t>(columns_));
  blocks_ = memory.take<std::int32_t>(statistics);
  row_windows_ = memory.take<std::int32_t>(statistics);
  windows_ = memory.take<std::int32_t>(statistics);
  largest_ = memory.take<std::int16_t>(blocks);
  background_ = memory.take<std::int16_t>(blocks);
  threshold_ = memory.take<std::int16_t>(blocks);
  noise_ = memory.take<std::int16_t>(blocks);
  marked_ = memory.take<std::uint8_t>(blocks);
  if (window_columns_ == nullptr) return;
  for (int c = 0; c < columns_; ++c) window_columns_[c] = grid_.window_columns(c);
}

void InkLevels::measure(const GrayPlane& plane, int half) noexcept {
  const int first = half == 0 ? 0 : rows_ / 2;
  const int end = half == 0 ? rows_ / 2 : rows_;
  const int side = grid_.side();
  // Groups of a piece of a block row. Every block side divides the piece.
  constexpr int kGroups = 2 * kMaxBlockSide / kGroupColumns;
  std::array<PixelGroup, kGroups> groups;
  for (int row = first; row < end; ++row) {
    const int top = row * side;
    const int rows = std::min(side, grid_.height - top);
    for (int left = 0; left < grid_.width; left += kGroups * kGroupColumns) {
      const int width = std::min(kGroups * kGroupColumns, grid_.width - left);
      measure_groups(plane.row(top) + left, plane.stride, rows, width, groups.data());
      const int count = (width + kGroupColumns - 1) / kGroupColumns;
      const int step = side / kGroupColumns;
      for (int g = 0; g < count; g += step) {
        PixelGroup block = groups[g];
        for (int i = g + 1; i < std::min(g + step, count); ++i) {
          block.sum += groups[i].sum;
          block.squares += groups[i].squares;
          block.min = std::min(block.min, groups[i].min);
          block.max = std::max(block.max, groups[i].max);
        }
        set_block((left + g * kGroupColumns) / side, row, block);
      }
    }
    std::int32_t* const blocks = row_of(blocks_, row, kBlockSum);
    finish_blocks(grid_, row, stride_, blocks);
    combine_block_columns(blocks, stride_, columns_, grid_.radius,
                          row_of(row_windows_, row, kBlockSum));
  }
}

void InkLevels::set_block(int column, int row, const PixelGroup& block) noexcept {
  row_of(blocks_, row, kBlockSum)[column] = static_cast<std::int32_t>(block.sum);
  row_of(blocks_, row, kBlockSquares)[column] = static_cast<std::int32_t>(block.squares);
  row_of(blocks_, row, kBlockMin)[column] = block.min;
  row_of(blocks_, row, kBlockMax)[column] = block.max;
}

void InkLevels::collect(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const int top = std::max(0, row - grid_.radius);
    const int bottom = std::min(rows_, row + grid_.radius + 1);
    combine_block_rows(row_of(row_windows_, top, kBlockSum), stride_, columns_, bottom - top,
                       row_of(windows_, row, kBlockSum));
  }
}

WindowRow InkLevels::window_row(int row) const noexcept {
  return {row_of(windows_, row, kBlockSum),
          stride_,
          columns_,
          window_columns_,
          grid_.window_rows(row) << 2 * grid_.bits,
          grid_.square_bits()};
}

bool InkLevels::ink_is_light() const noexcept {
  // In the windows with contrast, the level that is further from the mean is the ink.
  std::int64_t votes = 0;
  for (int row = 0; row < rows_; ++row) votes += count_votes(window_row(row));
  return votes > 0;
}

void InkLevels::derive(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * columns_;
    derive_levels(window_row(row), invert_ != 0, background_ + at, threshold_ + at, noise_ + at);
  }
}

void InkLevels::mark(int first, int end) noexcept {
  // Between the centers of blocks, a threshold is at most the largest one of the neighbors.
  for (int row = first; row < end; ++row) {
    const auto thresholds = [&](int r) {
      return threshold_ + std::clamp(r, 0, rows_ - 1) * static_cast<std::ptrdiff_t>(columns_);
    };
    const std::int16_t* const above = thresholds(row - 1);
    const std::int16_t* const own = thresholds(row);
    const std::int16_t* const below = thresholds(row + 1);
    std::int16_t* const largest = largest_ + row * static_cast<std::ptrdiff_t>(columns_);
    for (int c = 0; c < columns_; ++c) largest[c] = std::max({above[c], own[c], below[c]});
    const std::int32_t* const lows = row_of(blocks_, row, kBlockMin);
    const std::int32_t* const highs = row_of(blocks_, row, kBlockMax);
    for (int c = 0; c < columns_; ++c) {
      const int threshold = std::max(
          {largest[std::max(c - 1, 0)], largest[c], largest[std::min(c + 1, columns_ - 1)]});
      const int darkest = invert_ != 0 ? 255 - highs[c] : lows[c];
      marked_[row * columns_ + c] = darkest * kLevelUnit < threshold ? 1 : 0;
    }
  }
}

void InkLevels::interpolate_row(const std::int16_t* map, int y, int first, int end,
                                std::uint8_t* out) const noexcept {
  const RowPlace place = row_place(grid_, y);
  interpolate_blocks(map + place.above * static_cast<std::ptrdiff_t>(columns_),
                     map + place.below * static_cast<std::ptrdiff_t>(columns_), place, columns_,
                     grid_.bits, first >> grid_.bits, (end + grid_.side() - 1) >> grid_.bits, out);
}

}  // namespace ocellus::detail
