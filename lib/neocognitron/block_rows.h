// Rows of square blocks of pixels: statistics of the pixels and of windows of blocks, and
// interpolation between the centers of blocks. Results are equal on all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "neocognitron/ink_grid.h"

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

/// Statistics of a row of blocks, or of windows of blocks: an array for each. The array of the next
/// statistic is `stride` elements further on. Columns from -kBlockMargin to
/// `block_stride(columns)` - kBlockMargin may be read and written.
enum BlockStatistic : int {
  kBlockSum,        ///< of whole_block(), as the next one
  kBlockSquares,    ///< sum of the squares, in units of 1 << InkGrid::square_bits()
  kBlockDeviation,  ///< standard deviation in levels; of a window the least of a block
  kBlockMin,
  kBlockMax,
  kBlockStatistics,
};
inline constexpr int kBlockMargin = 16;
constexpr int block_stride(int columns) noexcept {
  return (columns + 3 * kBlockMargin - 1) / kBlockMargin * kBlockMargin;
}

/// Adds the standard deviations of row `row` of blocks, brings the sums, which are those of
/// PixelGroup, to whole blocks and to their units, and fills the margins with values that leave a
/// window as it is.
void finish_blocks(const InkGrid& grid, int row, int stride, std::int32_t* blocks) noexcept;

/// Windows of 2 `radius` + 1 columns.
void combine_block_columns(const std::int32_t* blocks, int stride, int columns, int radius,
                           std::int32_t* windows) noexcept;

/// Windows of `rows` rows, kBlockStatistics strides from row to row.
void combine_block_rows(const std::int32_t* blocks, int stride, int columns, int rows,
                        std::int32_t* windows) noexcept;

/// A row of windows.
struct WindowRow {
  const std::int32_t* statistics;
  int stride;
  int columns;
  const std::int32_t* window_columns;  ///< of each window
  int column_pixels;                   ///< of a column of a window
  int square_bits;

  InkWindow window(int column) const noexcept {
    const auto value = [&](BlockStatistic statistic) {
      return statistics[statistic * stride + column];
    };
    return {window_columns[column] * column_pixels,
            value(kBlockSum),
            value(kBlockSquares),
            value(kBlockDeviation),
            value(kBlockMin),
            value(kBlockMax)};
  }
};

/// The levels of the windows (window_level).
void derive_levels(const WindowRow& row, bool light, std::int16_t* background,
                   std::int16_t* threshold, std::int16_t* noise) noexcept;

/// The sum of the windows' votes (vote_for_light).
std::int64_t count_votes(const WindowRow& row) noexcept;

/// Interpolates between the centers of the blocks of two rows (LevelLine). Writes the pixels of the
/// blocks [first, end) of `columns` blocks, whose sides have the logarithm `bits`, at least 3.
void interpolate_blocks(const std::int16_t* upper, const std::int16_t* lower, const RowPlace& place,
                        int columns, int bits, int first, int end, std::uint8_t* out) noexcept;

/// Sets bit i of `bits` if pixel i, inverted by `invert`, is below its threshold. Writes whole
/// words of 64 bits; the bits beyond `count` are 0.
void find_ink(const std::uint8_t* pixels, std::uint8_t invert, const std::uint8_t* thresholds,
              int count, std::uint64_t* bits) noexcept;

}  // namespace ocellus::detail
