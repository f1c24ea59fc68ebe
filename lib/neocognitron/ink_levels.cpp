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

/// Sums and extremes of pixel columns.
struct ColumnStatistics {
  std::array<std::uint32_t, kMaxBlockSide> squares{};
  std::array<std::uint16_t, kMaxBlockSide> sums{};
  std::array<std::uint8_t, kMaxBlockSide> max{};
  std::array<std::uint8_t, kMaxBlockSide> min;

  ColumnStatistics() noexcept { min.fill(255); }

  void add(const std::uint8_t* in, int count) noexcept {
    for (int i = 0; i < count; ++i) {
      const std::uint16_t v = in[i];
      sums[i] = static_cast<std::uint16_t>(sums[i] + v);
      squares[i] += static_cast<std::uint16_t>(v * v);
      min[i] = std::min(min[i], in[i]);
      max[i] = std::max(max[i], in[i]);
    }
  }
};

}  // namespace

InkLevels::InkLevels(ImageSize size, int window, LayoutBuilder& memory) noexcept
    : size_(size),
      side_(block_side_for(window)),
      radius_(std::clamp((window / side_ - 1) / 2, 1, kMaxRadius)),
      columns_((size.width + side_ - 1) / side_),
      rows_((size.height + side_ - 1) / side_) {
  const std::size_t blocks = static_cast<std::size_t>(columns_) * rows_;
  mean_ = memory.take<float>(blocks);
  square_ = memory.take<float>(blocks);
  deviation_ = memory.take<float>(blocks);
  min_ = memory.take<std::uint8_t>(blocks);
  max_ = memory.take<std::uint8_t>(blocks);
  background_ = memory.take<float>(blocks);
  threshold_ = memory.take<float>(blocks);
  noise_ = memory.take<float>(blocks);
  marked_ = memory.take<std::uint8_t>(blocks);
}

void InkLevels::measure(const GrayPlane& plane, int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    const int top = row * side_;
    const int bottom = std::min(top + side_, size_.height);
    for (int left = 0; left < size_.width; left += kMaxBlockSide) {
      const int count = std::min(kMaxBlockSide, size_.width - left);
      ColumnStatistics columns;
      for (int y = top; y < bottom; ++y) columns.add(plane.row(y) + left, count);
      for (int x = 0; x < count; x += side_) {
        const int block_end = std::min(x + side_, count);
        std::uint64_t squares = 0;
        std::uint32_t sum = 0;
        std::uint8_t low = 255;
        std::uint8_t high = 0;
        for (int i = x; i < block_end; ++i) {
          squares += columns.squares[i];
          sum += columns.sums[i];
          low = std::min(low, columns.min[i]);
          high = std::max(high, columns.max[i]);
        }
        const float scale = 1.0f / static_cast<float>((block_end - x) * (bottom - top));
        const int at = row * columns_ + (left + x) / side_;
        mean_[at] = static_cast<float>(sum) * scale;
        square_[at] = static_cast<float>(squares) * scale;
        deviation_[at] = std::sqrt(std::max(0.0f, square_[at] - mean_[at] * mean_[at]));
        min_[at] = low;
        max_[at] = high;
      }
    }
  }
}

InkLevels::Window InkLevels::window(int column, int row) const noexcept {
  const int left = std::max(0, column - radius_);
  const int right = std::min(columns_, column + radius_ + 1);
  const int top = std::max(0, row - radius_);
  const int bottom = std::min(rows_, row + radius_ + 1);
  float mean = 0.0f;
  float square = 0.0f;
  float deviation = 255.0f;
  std::uint8_t low = 255;
  std::uint8_t high = 0;
  for (int y = top; y < bottom; ++y) {
    for (int at = y * columns_ + left; at < y * columns_ + right; ++at) {
      mean += mean_[at];
      square += square_[at];
      deviation = std::min(deviation, deviation_[at]);
      low = std::min(low, min_[at]);
      high = std::max(high, max_[at]);
    }
  }
  const float scale = 1.0f / static_cast<float>((right - left) * (bottom - top));
  mean *= scale;
  const float variance = std::max(0.0f, square * scale - mean * mean);
  return {mean, variance, static_cast<float>(low), static_cast<float>(high), deviation};
}

bool InkLevels::ink_is_light() const noexcept {
  // Windows without contrast have no say. In the others, the level that is further from the mean is
  // the ink. A window counts by the difference, so an edge between two areas counts little.
  float light = 0.0f;
  for (int row = 0; row < rows_; ++row) {
    for (int column = 0; column < columns_; ++column) {
      const Window w = window(column, row);
      if (w.lightest - w.darkest < 2.0f * kMinContrast + 2.0f * kNoiseFactor * w.deviation)
        continue;
      light += (w.lightest - w.mean) - (w.mean - w.darkest);
    }
  }
  return light > 0.0f;
}

void InkLevels::derive(int first, int end) noexcept {
  for (int row = first; row < end; ++row) {
    for (int column = 0; column < columns_; ++column) {
      const Window w = window(column, row);
      const float mean = invert_ != 0 ? 255.0f - w.mean : w.mean;
      const float darkest = invert_ != 0 ? 255.0f - w.lightest : w.darkest;
      const float difference = mean - darkest;
      const float background = difference < kSmallestDifference
                                   ? mean
                                   : std::min(255.0f, mean + w.variance / difference);
      const float range = background - darkest;
      const float contrast =
          std::max({kInkFraction * range, std::min(kNoiseFactor * w.deviation, kNoiseLimit * range),
                    kMinContrast});
      const int at = row * columns_ + column;
      background_[at] = background;
      threshold_[at] = std::max(0.0f, background - contrast);
      noise_[at] = w.deviation;
    }
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
      const int darkest = invert_ != 0 ? 255 - max_[at] : min_[at];
      marked_[at] = static_cast<float>(darkest) < threshold ? 1 : 0;
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
