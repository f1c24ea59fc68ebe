// InkLevels: the local gray levels of background and ink in a frame, and the threshold between
// them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "neocognitron/block_rows.h"
#include "neocognitron/ink_grid.h"
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
/// Blocks count alike in a window, also those at the border that have fewer pixels. A window is
/// taken as a mixture of background b and ink d, its darkest pixel, with a share p of ink. With e
/// as the difference of a pixel to d, the mean of e is (1 - p) (b - d) and the one of e^2 is
/// (1 - p) (b - d)^2, so that b - d is their quotient.
///
/// The threshold is b - max(kInkFraction (b - d), min(kNoiseFactor sigma, kNoiseLimit (b - d)),
/// kMinContrast). Here sigma is the deviation of the smoothest block of the window, an estimate of
/// the noise. Between the centers of blocks, the levels are interpolated (ink_grid.h).
///
/// Light ink on dark ground is handled as dark ink in the inverted frame. All levels are those of
/// the inverted frame then.
class InkLevels {
 public:
  static constexpr int kMaxBlockSide = 1 << InkGrid::kMostBits;

  /// The blocks for a window of `window` pixels along each side. It should be at least three times
  /// the width of a stroke.
  static InkGrid grid_for(ImageSize size, int window) noexcept;
  InkLevels(ImageSize size, int window, LayoutBuilder& memory) noexcept;

  const InkGrid& grid() const noexcept { return grid_; }
  int block_rows() const noexcept { return rows_; }
  int block_columns() const noexcept { return columns_; }
  int block_side() const noexcept { return grid_.side(); }

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
  /// What `derive` has computed for a block.
  InkLevel level(int column, int row) const noexcept {
    const int i = row * columns_ + column;
    return {background_[i], threshold_[i], noise_[i]};
  }
  /// Background at a pixel, in levels.
  int background(int x, int y) const noexcept {
    return level_at(grid_, LevelMap{background_, columns_}, x, y);
  }
  /// Standard deviation of the noise at a pixel, in levels.
  int noise(int x, int y) const noexcept {
    return level_at(grid_, LevelMap{noise_, columns_}, x, y);
  }

 private:
  void set_block(int column, int row, const PixelGroup& block) noexcept;
  void interpolate_row(const std::int16_t* map, int y, int first, int end,
                       std::uint8_t* out) const noexcept;
  WindowRow window_row(int row) const noexcept;

  /// A statistic of a row of blocks or windows.
  std::int32_t* row_of(std::int32_t* statistics, int row, BlockStatistic statistic) const noexcept {
    return statistics +
           (static_cast<std::ptrdiff_t>(row) * kBlockStatistics + statistic) * stride_ +
           kBlockMargin;
  }

  InkGrid grid_;
  int columns_;
  int rows_;
  std::uint8_t invert_ = 0;
  int stride_;                    // of a statistic
  std::int32_t* window_columns_;  // for each column
  std::int32_t* blocks_;
  std::int32_t* row_windows_;  // windows of the height of a block
  std::int32_t* windows_;
  std::int16_t* largest_;  // thresholds of three rows, for each row
  std::int16_t* background_;
  std::int16_t* threshold_;
  std::int16_t* noise_;
  std::uint8_t* marked_;
};

}  // namespace ocellus::detail
