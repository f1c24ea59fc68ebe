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
      rows_((size.height + side_ - 1) / side_) {
  const std::size_t blocks = static_cast<std::size_t>(columns_) * rows_;
  blocks_ = memory.take<Block>(blocks);
  row_windows_ = memory.take<Block>(blocks);
  windows_ = memory.take<Block>(blocks);
  background_ = memory.take<float>(blocks);
  threshold_ = memory.take<float>(blocks);
  noise_ = memory.take<float>(blocks);
  marked_ = memory.take<std::uint8_t>(blocks);
}

void InkLevels::measure(const GrayPlane& plane, int first, int end) noexcept {
  // Groups of a piece of a block row. Every block side divides the piece.
  constexpr int kGroups = 2 * kMaxBlockSide / kGroupColumns;
  std::array<PixelGroup, kGroups> groups;
  for (int row = first; row < end; ++row) {
    const int top = row * side_;
    const int rows = std::min(side_, size_.height - top);
    for (int left = 0; left < size_.width; left += kGroups * kGroupColumns) {
      const int width = std::min(kGroups * kGroupColumns, size_.width - left);
      const int whole = width / kGroupColumns;
      const std::uint8_t* pixels = plane.row(top) + left;
      measure_groups(pixels, plane.stride, rows, whole, groups.data());
      int count = whole;
      if (whole * kGroupColumns < width) {
        PixelGroup& last = groups[count++];
        last = {0, 0, 255, 0};
        for (int y = 0; y < rows; ++y) {
          for (int x = whole * kGroupColumns; x < width; ++x) {
            const std::uint8_t pixel = pixels[y * plane.stride + x];
            last.sum += pixel;
            last.squares += static_cast<std::uint32_t>(pixel) * pixel;
            last.min = std::min(last.min, pixel);
            last.max = std::max(last.max, pixel);
          }
        }
      }
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
        set_block(x / side_, row, block, rows * (std::min(x + side_, size_.width) - x));
      }
    }
    sum_row(row);
  }
}

void InkLevels::set_block(int column, int row, const PixelGroup& block, int pixels) noexcept {
  const float scale = 1.0f / static_cast<float>(pixels);
  const float mean = static_cast<float>(block.sum) * scale;
  const float square = static_cast<float>(block.squares) * scale;
  blocks_[row * columns_ + column] = {mean, square, std::sqrt(std::max(0.0f, square - mean * mean)),
                                      static_cast<float>(block.min), static_cast<float>(block.max)};
}

void InkLevels::sum_row(int row) noexcept {
  const Block* blocks = blocks_ + row * static_cast<std::ptrdiff_t>(columns_);
  Block* out = row_windows_ + row * static_cast<std::ptrdiff_t>(columns_);
  for (int column = 0; column < columns_; ++column) {
    const int left = std::max(0, column - radius_);
    const int right = std::min(columns_, column + radius_ + 1);
    Block sum = blocks[left];
    for (int x = left + 1; x < right; ++x) add(sum, blocks[x]);
    const float scale = 1.0f / static_cast<float>(right - left);
    sum.mean *= scale;
    sum.square *= scale;
    out[column] = sum;
  }
}

void InkLevels::add(Block& sum, const Block& block) noexcept {
  sum.mean += block.mean;
  sum.square += block.square;
  sum.deviation = std::min(sum.deviation, block.deviation);
  sum.min = std::min(sum.min, block.min);
  sum.max = std::max(sum.max, block.max);
}

void InkLevels::collect(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const int top = std::max(0, row - radius_);
    const int bottom = std::min(rows_, row + radius_ + 1);
    const float scale = 1.0f / static_cast<float>(bottom - top);
    Block* out = windows_ + row * static_cast<std::ptrdiff_t>(columns_);
    std::copy_n(row_windows_ + top * static_cast<std::ptrdiff_t>(columns_), columns_, out);
    for (int y = top + 1; y < bottom; ++y) {
      const Block* in = row_windows_ + y * static_cast<std::ptrdiff_t>(columns_);
      for (int column = 0; column < columns_; ++column) add(out[column], in[column]);
    }
    for (int column = 0; column < columns_; ++column) {
      out[column].mean *= scale;
      out[column].square *= scale;
    }
  }
}

bool InkLevels::ink_is_light() const noexcept {
  // Windows without contrast have no say. In the others, the level that is further from the mean is
  // the ink. A window counts by the difference, so an edge between two areas counts little.
  float light = 0.0f;
  for (int i = 0; i < rows_ * columns_; ++i) {
    const Block& w = windows_[i];
    if (w.max - w.min < 2.0f * kMinContrast + 2.0f * kNoiseFactor * w.deviation) continue;
    light += (w.max - w.mean) - (w.mean - w.min);
  }
  return light > 0.0f;
}

void InkLevels::derive(int first, int end) noexcept {
  for (int i = first * columns_; i < end * columns_; ++i) {
    const Block& w = windows_[i];
    const float mean = invert_ != 0 ? 255.0f - w.mean : w.mean;
    const float darkest = invert_ != 0 ? 255.0f - w.max : w.min;
    const float variance = std::max(0.0f, w.square - w.mean * w.mean);
    const float difference = std::max(mean - darkest, kSmallestDifference);
    const float background = std::min(255.0f, mean + variance / difference);
    const float range = background - darkest;
    const float contrast =
        std::max({kInkFraction * range, std::min(kNoiseFactor * w.deviation, kNoiseLimit * range),
                  kMinContrast});
    background_[i] = background;
    threshold_[i] = std::max(0.0f, background - contrast);
    noise_[i] = w.deviation;
  }
}

void InkLevels::mark(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const int top = std::max(0, row - 1);
    const int bottom = std::min(rows_ - 1, row + 1);
    for (int column = 0; column < columns_; ++column) {
      // Between the centers of blocks, a threshold is at most the largest one of the neighbors.
      float threshold = 0.0f;
      for (int y = top; y <= bottom; ++y) {
        for (int x = std::max(0, column - 1); x <= std::min(columns_ - 1, column + 1); ++x) {
          threshold = std::max(threshold, threshold_[y * columns_ + x]);
        }
      }
      const int at = row * columns_ + column;
      const float darkest = invert_ != 0 ? 255.0f - blocks_[at].max : blocks_[at].min;
      marked_[at] = darkest < threshold ? 1 : 0;
    }
  }
}

void InkLevels::interpolate_row(const float* map, int y, int first, int end,
                                std::uint8_t* out) const noexcept {
  // Fixed point with 7 fractional bits, so that a difference of levels fits 16 bits.
  constexpr float kOne = 128.0f;
  const float scale = 1.0f / static_cast<float>(side_);
  const float position = (static_cast<float>(y) + 0.5f) * scale - 0.5f;
  const int above = std::clamp(static_cast<int>(std::floor(position)), 0, rows_ - 1);
  const int below = std::min(above + 1, rows_ - 1);
  const float part = std::clamp(position - static_cast<float>(above), 0.0f, 1.0f);
  const float* upper = map + above * static_cast<std::ptrdiff_t>(columns_);
  const float* lower = map + below * static_cast<std::ptrdiff_t>(columns_);
  const auto level = [&](int column) {
    const int c = std::clamp(column, 0, columns_ - 1);
    return (upper[c] + (lower[c] - upper[c]) * part) * kOne;
  };
  const int half = side_ / 2;
  // Half a block before each center, and half a block after it.
  for (int column = first / side_; column * side_ < end; ++column) {
    const float left = level(column - 1);
    const float center = level(column);
    const float right = level(column + 1);
    const auto from_left = static_cast<int>((center - left) * scale);
    const auto to_right = static_cast<int>((right - center) * scale);
    const auto base = static_cast<int>(center);
    std::uint8_t* at = out + (column * side_ - first);
    for (int i = 0; i < half; ++i) {
      at[i] = static_cast<std::uint8_t>((base - from_left * (half - i) + from_left / 2) >> 7);
      at[half + i] = static_cast<std::uint8_t>((base + to_right * i + to_right / 2) >> 7);
    }
  }
}

float InkLevels::at(const float* map, int x, int y) const noexcept {
  const float scale = 1.0f / static_cast<float>(side_);
  const float fx = std::clamp((static_cast<float>(x) + 0.5f) * scale - 0.5f, 0.0f,
                              static_cast<float>(columns_ - 1));
  const float fy = std::clamp((static_cast<float>(y) + 0.5f) * scale - 0.5f, 0.0f,
                              static_cast<float>(rows_ - 1));
  const int left = static_cast<int>(fx);
  const int top = static_cast<int>(fy);
  const int right = std::min(left + 1, columns_ - 1);
  const int bottom = std::min(top + 1, rows_ - 1);
  const float px = fx - static_cast<float>(left);
  const float py = fy - static_cast<float>(top);
  const float* upper = map + top * static_cast<std::ptrdiff_t>(columns_);
  const float* lower = map + bottom * static_cast<std::ptrdiff_t>(columns_);
  const float high = upper[left] + (upper[right] - upper[left]) * px;
  const float low = lower[left] + (lower[right] - lower[left]) * px;
  return high + (low - high) * py;
}

}  // namespace ocellus::detail
