#include "neocognitron/ink_levels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ocellus::detail {
namespace {

constexpr int kMinBlockSide = 8;
constexpr int kMaxBlockSide = InkLevels::kMaxBlockSide;  // a multiple of every block side
constexpr int kMaxRadius = 4;                            // of the window, in blocks
constexpr float kSmallestDifference = 0.5f;

int block_side_for(int window) noexcept {
  int side = kMinBlockSide;
  while (window > side * (2 * kMaxRadius + 1) && side < kMaxBlockSide) side *= 2;
  return side;
}

}  // namespace

InkLevels::InkLevels(ImageSize size, int window, LayoutBuilder& memory) noexcept
    : size_(size),
      side_(block_side_for(window)),
      radius_(std::clamp((window / side_ - 1) / 2, 1, kMaxRadius)),
      columns_((size.width + side_ - 1) / side_),
      rows_((size.height + side_ - 1) / side_),
      stride_(block_stride(columns_)) {
  const std::size_t rows = rows_;
  const std::size_t blocks = columns_ * rows;
  const std::size_t statistics = rows * kBlockStatistics * stride_;
  for (Scales& scales : scales_) {
    scales.pixels = memory.take<float>(stride_);
    scales.columns = memory.take<float>(stride_);
  }
  blocks_ = memory.take<float>(statistics);
  row_windows_ = memory.take<float>(statistics);
  windows_ = memory.take<float>(statistics);
  largest_ = memory.take<float>(rows * stride_);
  background_ = memory.take<float>(blocks);
  threshold_ = memory.take<float>(blocks + kBlockMargin);
  noise_ = memory.take<float>(blocks);
  marked_ = memory.take<std::uint8_t>(blocks);
}

void InkLevels::measure(const GrayPlane& plane, int half) noexcept {
  const Scales& scales = scales_[static_cast<std::size_t>(half)];
  const int first = half == 0 ? 0 : rows_ / 2;
  const int end = half == 0 ? rows_ / 2 : rows_;
  // Groups of a piece of a block row. Every block side divides the piece.
  constexpr int kGroups = 2 * kMaxBlockSide / kGroupColumns;
  std::array<PixelGroup, kGroups> groups;
  for (int row = first; row < end; ++row) {
    const int top = row * side_;
    const int rows = std::min(side_, size_.height - top);
    for (int left = 0; left < size_.width; left += kGroups * kGroupColumns) {
      const int width = std::min(kGroups * kGroupColumns, size_.width - left);
      measure_groups(plane.row(top) + left, plane.stride, rows, width, groups.data());
      const int count = (width + kGroupColumns - 1) / kGroupColumns;
      const int step = side_ / kGroupColumns;
      for (int g = 0; g < count; g += step) {
        PixelGroup block = groups[g];
        for (int i = g + 1; i < std::min(g + step, count); ++i) {
          block.sum += groups[i].sum;
          block.squares += groups[i].squares;
          block.min = std::min(block.min, groups[i].min);
          block.max = std::max(block.max, groups[i].max);
        }
        const int x = left + g * kGroupColumns;
        set_block(x / side_, row, block);
      }
    }
    for (int column = 0; column < columns_; ++column) {
      const int left = std::max(0, column - radius_);
      const int right = std::min(columns_, column + radius_ + 1);
      const int width = std::min((column + 1) * side_, size_.width) - column * side_;
      scales.pixels[column] = 1.0f / static_cast<float>(rows * width);
      scales.columns[column] = 1.0f / static_cast<float>(right - left);
    }
    std::fill(scales.pixels + columns_, scales.pixels + stride_, 0.0f);
    std::fill(scales.columns + columns_, scales.columns + stride_, 0.0f);
    float* const blocks = row_of(blocks_, row, kBlockMean);
    finish_blocks(blocks, stride_, columns_, scales.pixels);
    sum_block_columns(blocks, stride_, columns_, radius_, scales.columns,
                      row_of(row_windows_, row, kBlockMean));
  }
}

void InkLevels::set_block(int column, int row, const PixelGroup& block) noexcept {
  row_of(blocks_, row, kBlockMean)[column] = static_cast<float>(block.sum);
  row_of(blocks_, row, kBlockSquare)[column] = static_cast<float>(block.squares);
  row_of(blocks_, row, kBlockMin)[column] = static_cast<float>(block.min);
  row_of(blocks_, row, kBlockMax)[column] = static_cast<float>(block.max);
}

void InkLevels::collect(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const int top = std::max(0, row - radius_);
    const int bottom = std::min(rows_, row + radius_ + 1);
    sum_block_rows(row_of(row_windows_, top, kBlockMean), stride_, columns_, bottom - top,
                   row_of(windows_, row, kBlockMean));
  }
}

bool InkLevels::ink_is_light() const noexcept {
  // Windows without contrast have no say. In the others, the level that is further from the mean is
  // the ink. A window counts by the difference, so an edge between two areas counts little.
  float light = 0.0f;
  for (int row = 0; row < rows_; ++row) {
    const float* const means = row_of(windows_, row, kBlockMean);
    const float* const deviations = row_of(windows_, row, kBlockDeviation);
    const float* const lows = row_of(windows_, row, kBlockMin);
    const float* const highs = row_of(windows_, row, kBlockMax);
    for (int c = 0; c < columns_; ++c) {
      const float range = highs[c] - lows[c];
      if (range < 2.0f * kMinContrast + 2.0f * kNoiseFactor * deviations[c]) continue;
      light += (highs[c] - means[c]) - (means[c] - lows[c]);
    }
  }
  return light > 0.0f;
}

void InkLevels::derive(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const float* const means = row_of(windows_, row, kBlockMean);
    const float* const squares = row_of(windows_, row, kBlockSquare);
    const float* const deviations = row_of(windows_, row, kBlockDeviation);
    const float* const lows = row_of(windows_, row, kBlockMin);
    const float* const highs = row_of(windows_, row, kBlockMax);
    for (int c = 0; c < columns_; ++c) {
      const float mean = invert_ != 0 ? 255.0f - means[c] : means[c];
      const float darkest = invert_ != 0 ? 255.0f - highs[c] : lows[c];
      const float variance = std::max(0.0f, squares[c] - means[c] * means[c]);
      const float difference = std::max(mean - darkest, kSmallestDifference);
      const float background = std::min(255.0f, mean + variance / difference);
      const float range = background - darkest;
      const float noise = std::min(kNoiseFactor * deviations[c], kNoiseLimit * range);
      const float contrast = std::max({kInkFraction * range, noise, kMinContrast});
      const int i = row * columns_ + c;
      background_[i] = background;
      threshold_[i] = std::max(0.0f, background - contrast);
      noise_[i] = deviations[c];
    }
  }
}

void InkLevels::mark(int first, int end) noexcept {
  // Between the centers of blocks, a threshold is at most the largest one of the neighbors.
  for (int row = first; row < end; ++row) {
    const auto thresholds = [&](int r) {
      return threshold_ + std::clamp(r, 0, rows_ - 1) * static_cast<std::ptrdiff_t>(columns_);
    };
    float* const largest = largest_ + row * static_cast<std::ptrdiff_t>(stride_) + kBlockMargin;
    largest_of_rows(thresholds(row - 1), thresholds(row), thresholds(row + 1), columns_, largest);
    largest[-1] = 0.0f;
    largest[columns_] = 0.0f;
    const float* const lows = row_of(blocks_, row, kBlockMin);
    const float* const highs = row_of(blocks_, row, kBlockMax);
    for (int c = 0; c < columns_; ++c) {
      const float threshold = std::max({largest[c - 1], largest[c], largest[c + 1]});
      const float darkest = invert_ != 0 ? 255.0f - highs[c] : lows[c];
      marked_[row * columns_ + c] = darkest < threshold ? 1 : 0;
    }
  }
}

void InkLevels::interpolate_row(const float* map, int y, int first, int end,
                                std::uint8_t* out) const noexcept {
  const float scale = 1.0f / static_cast<float>(side_);
  const float position = (static_cast<float>(y) + 0.5f) * scale - 0.5f;
  const int above = std::clamp(static_cast<int>(position), 0, rows_ - 1);
  const int below = std::min(above + 1, rows_ - 1);
  const float part = std::clamp(position - static_cast<float>(above), 0.0f, 1.0f);
  interpolate_blocks(map + above * static_cast<std::ptrdiff_t>(columns_),
                     map + below * static_cast<std::ptrdiff_t>(columns_), part, columns_, side_,
                     first / side_, (end + side_ - 1) / side_, out);
}

}  // namespace ocellus::detail
