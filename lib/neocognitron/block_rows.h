// Rows of square blocks of pixels: statistics of the pixels and of windows of blocks, and
// interpolation between the centers of blocks. Results are equal on all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ocellus::detail {

/// Columns of a group.
inline constexpr int kGroupColumns = 8;

/// Statistics of the pixels of at most kGroupColumns columns and up to 128 rows.
struct PixelGroup {
  std::uint32_t sum;
  std::uint32_t squares;
  std::uint8_t min;
  std::uint8_t max;
};

/// Computes groups of `width` columns side by side, of which the last one may have fewer columns;
/// `in` is the first pixel of the first row.
void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int width,
                    PixelGroup* out) noexcept;

/// Statistics of a row of blocks, or of windows of blocks: an array of floats for each. The array
/// of the next statistic is `stride` floats further on. Columns from -kBlockMargin to
/// `block_stride(columns)` - kBlockMargin may be read and written.
enum BlockStatistic : int {
  kBlockMean,
  kBlockSquare,     ///< mean of the squares
  kBlockDeviation,  ///< standard deviation; of a window the least of a block
  kBlockMin,
  kBlockMax,
  kBlockStatistics,
};
inline constexpr int kBlockMargin = 16;
constexpr int block_stride(int columns) noexcept {
  return (columns + 3 * kBlockMargin - 1) / kBlockMargin * kBlockMargin;
}

/// Replaces sums of pixels (kBlockMean) and of their squares (kBlockSquare) by means, adds the
/// standard deviations, and fills the margins with values that leave a window as it is. `scales`: 1
/// / pixels of each block, 0 in the margin behind them.
void finish_blocks(float* blocks, int stride, int columns, const float* scales) noexcept;

/// Windows of 2 `radius` + 1 columns. `scales`: 1 / columns of each window.
void sum_block_columns(const float* blocks, int stride, int columns, int radius,
                       const float* scales, float* windows) noexcept;

/// Windows of `rows` rows, kBlockStatistics strides from row to row.
void sum_block_rows(const float* blocks, int stride, int columns, int rows,
                    float* windows) noexcept;

/// The largest value of three rows, in each column.
void largest_of_rows(const float* a, const float* b, const float* c, int columns,
                     float* out) noexcept;

/// Interpolates between the centers of the blocks of two rows. `part`: share of the row `lower`.
/// Writes the pixels of the blocks [first, end) of `columns` blocks of `side` pixels. `side` is
/// even and at least 8.
void interpolate_blocks(const float* upper, const float* lower, float part, int columns, int side,
                        int first, int end, std::uint8_t* out) noexcept;

/// Sets bit i of `bits` if pixel i, inverted by `invert`, is below its threshold. Writes whole
/// words of 64 bits; the bits beyond `count` are 0.
void find_ink(const std::uint8_t* pixels, std::uint8_t invert, const std::uint8_t* thresholds,
              int count, std::uint64_t* bits) noexcept;

}  // namespace ocellus::detail
