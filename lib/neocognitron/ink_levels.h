// InkLevels: the local gray levels of background and ink in a frame, and the threshold between
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "neocognitron/block_rows.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// A plane of 8-bit gray pixels in host memory. It does not own the memory.
struct GrayPlane {
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;  ///< bytes from row to row
  ImageSize size;

  const std::uint8_t* row(int y) const noexcept { return data + y * stride; }
};

/// The local gray levels, from statistics of square blocks of pixels. The steps of a frame are
/// `measure` and `collect`, `set_light`, `derive` and `mark`. Each step goes over all block rows
/// before the next one begins. A step may be called for ranges of block rows in parallel.
///
/// A window of blocks is taken as a mixture of background b and ink d, with a share p of ink. Its
/// mean m, its variance s^2 and its darkest pixel d determine the background:
/// m = b - p (b - d) and s^2 = p (1 - p) (b - d)^2 give b = m + s^2 / (m - d).
///
/// The threshold is b - max(kInkFraction (b - d), min(kNoiseFactor sigma, kNoiseLimit (b - d)),
/// kMinContrast). Here sigma is the deviation of the smoothest block of the window, an estimate of
/// the noise. Between the centers of blocks, the levels are interpolated.
///
/// Light ink on dark ground is handled as dark ink in the inverted frame. All levels are those of
/// the inverted frame then.
class InkLevels {
 public:
  static constexpr int kMaxBlockSide = 128;
  static constexpr float kInkFraction = 0.33f;
  static constexpr float kNoiseFactor = 2.3f;
  static constexpr float kNoiseLimit = 0.67f;
  static constexpr float kMinContrast = 12.7f;

  /// `window` is the side of the window in pixels. It should be at least three times the width of a
  /// stroke.
  InkLevels(ImageSize size, int window, LayoutBuilder& memory) noexcept;

  int block_rows() const noexcept { return rows_; }
  int block_columns() const noexcept { return columns_; }
  int block_side() const noexcept { return side_; }

  /// Computes the statistics of blocks and of windows of the height of a block, for one half of the
  /// rows. Both halves may be worked on at the same time.
  static constexpr int kHalves = 2;
  void measure(const GrayPlane& plane, int half) noexcept;
  /// Computes the statistics of windows.
  void collect(int first, int end) noexcept;
  /// Decides whether the ink is light: ink is the minority in a window.
  bool ink_is_light() const noexcept;
  void set_light(bool light) noexcept { invert_ = light ? 255 : 0; }
  /// Computes background, threshold and noise at the blocks.
  void derive(int first, int end) noexcept;
  /// Marks the blocks that may have ink.
  void mark(int first, int end) noexcept;

  /// 255 for light ink: the mask with which pixels are inverted.
  std::uint8_t invert() const noexcept { return invert_; }

  /// Writes the threshold of the pixels [first, end) of row y. A pixel, inverted if the ink is
  /// light, is ink if it is below its threshold. `first` is a multiple of the block side, and `out`
  /// must have room for all pixels of the last block.
  void threshold_row(int y, int first, int end, std::uint8_t* out) const noexcept {
    interpolate_row(threshold_, y, first, end, out);
  }
  /// The background in the same way.
  void background_row(int y, int first, int end, std::uint8_t* out) const noexcept {
    interpolate_row(background_, y, first, end, out);
  }
  /// False if no pixel of the block can be ink.
  bool may_have_ink(int column, int row) const noexcept {
    return marked_[row * columns_ + column] != 0;
  }
  /// Background at a pixel.
  float background(int x, int y) const noexcept { return at(background_, x, y); }
  /// Standard deviation of the noise at a pixel.
  float noise(int x, int y) const noexcept { return at(noise_, x, y); }

 private:
  void set_block(int column, int row, const PixelGroup& block) noexcept;
  void interpolate_row(const float* map, int y, int first, int end,
                       std::uint8_t* out) const noexcept;
  float at(const float* map, int x, int y) const noexcept;

  /// A statistic of a row of blocks or windows.
  float* row_of(float* statistics, int row, BlockStatistic statistic) const noexcept {
    return statistics +
           (static_cast<std::ptrdiff_t>(row) * kBlockStatistics + statistic) * stride_ +
           kBlockMargin;
  }

  ImageSize size_;
  int side_;
  int radius_;  // of the window, in blocks
  int columns_;
  int rows_;
  std::uint8_t invert_ = 0;
  int stride_;  // of a statistic
  struct Scales {
    float* pixels;   // 1 / pixels of a block, for each column
    float* columns;  // 1 / columns of a window
  };
  std::array<Scales, kHalves> scales_{};
  float* blocks_;
  float* row_windows_;  // windows of the height of a block
  float* windows_;
  float* largest_;  // thresholds of three rows, for each row
  float* background_;
  float* threshold_;
  float* noise_;
  std::uint8_t* marked_;
};

inline float InkLevels::at(const float* map, int x, int y) const noexcept {
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
