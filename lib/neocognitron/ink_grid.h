// The arithmetic of the local gray levels of ink and background, for the host and for devices.
//
// Sums are exact. Other floating-point products are not added to anything, so no compiler can fuse
// them. So all compilers and devices compute the same levels.
//
// std::min and std::max take references, and a constant of the host has no address on a device:
// nvcc makes a trap of it without a warning. int{constant} is a copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ocellus::detail {

/// Levels are in 1/kLevelUnit of a gray level, so that they fit 16 bits.
inline constexpr int kLevelBits = 7;
inline constexpr int kLevelUnit = 1 << kLevelBits;
inline constexpr int kHighestLevel = 255 * kLevelUnit;

/// The square blocks of a frame. The last ones of rows and columns may have fewer pixels.
struct InkGrid {
  int width = 0;  ///< of the frame
  int height = 0;
  int bits = 3;    ///< logarithm of the side of a block, at most kMostBits
  int radius = 1;  ///< of a window, in blocks

  static constexpr int kMostBits = 7;
  static constexpr int kMaxRadius = 4;

  constexpr int side() const noexcept { return 1 << bits; }
  constexpr int columns() const noexcept { return (width + side() - 1) >> bits; }
  constexpr int rows() const noexcept { return (height + side() - 1) >> bits; }
  constexpr int block_pixels(int column, int row) const noexcept {
    return std::min(side(), width - (column << bits)) * std::min(side(), height - (row << bits));
  }
  /// Columns and rows of a window.
  constexpr int window_columns(int column) const noexcept {
    return std::min(column + radius + 1, columns()) - std::max(column - radius, 0);
  }
  constexpr int window_rows(int row) const noexcept {
    return std::min(row + radius + 1, rows()) - std::max(row - radius, 0);
  }
  /// Squares of pixels are summed in units of 1 << square_bits(), so that those of a window fit 31
  /// bits.
  constexpr int square_bits() const noexcept { return std::max(2 * bits - 8, 0); }
};

/// Sums over the pixels of a block.
struct BlockSums {
  int sum;
  int squares;
};

/// The variance of a block of `pixels` pixels, times the square of `pixels`.
constexpr std::int64_t block_spread(const BlockSums& sums, int pixels) noexcept {
  return std::int64_t{pixels} * sums.squares - std::int64_t{sums.sum} * sums.sum;
}
/// The standard deviation of a block, in levels. `root`: the square root of its spread.
constexpr int block_deviation(float root, int pixels) noexcept {
  return static_cast<int>(root * kLevelUnit / static_cast<float>(pixels));
}
/// The sums of a block with 1 << `bits` << `bits` pixels, and mean and variance of a smaller one:
/// blocks count alike in a window.
constexpr BlockSums whole_block(const BlockSums& sums, int pixels, int bits) noexcept {
  const std::int64_t n = pixels;
  const std::int64_t all = std::int64_t{1} << 2 * bits;
  if (n == all) return sums;
  const std::int64_t sum = (sums.sum * all + n / 2) / n;
  const std::int64_t squares = block_spread(sums, pixels) * all / (n * n) + sum * sum / all;
  return {static_cast<int>(sum), static_cast<int>(squares)};
}

/// Statistics of a window of blocks.
struct InkWindow {
  int pixels;
  int sum;
  int squares;    ///< sum of the squares of the pixels, in units of 1 << square_bits
  int deviation;  ///< the least of a block, in levels
  int low;        ///< pixels
  int high;
};

/// Background and threshold of a window, and the noise, all in levels.
struct InkLevel {
  std::int16_t background;
  std::int16_t threshold;
  std::int16_t noise;
};

// In 1/1024.
inline constexpr int kInkFraction = 338;
inline constexpr int kNoiseFactor = 2355;
inline constexpr int kNoiseLimit = 686;
inline constexpr int kShareBits = 10;
inline constexpr int kMinContrast = 1626;  // levels

/// See InkLevels. `light`: the level is that of the inverted frame.
constexpr InkLevel window_level(const InkWindow& window, bool light, int square_bits) noexcept {
  // The sums of the differences e to the darkest pixel and of their squares. Inverting the frame
  // changes the sign of e only.
  const int extreme = light ? window.high : window.low;
  const int ink = extreme * window.pixels;
  const double squares = static_cast<double>(window.squares) * (1 << square_bits) +
                         static_cast<double>(extreme) * (ink - 2 * window.sum);
  const int differences = light ? ink - window.sum : window.sum - ink;
  const int least = (window.pixels + 1) / 2;
  const auto range = static_cast<int>(static_cast<float>(std::max(squares, 0.0)) * kLevelUnit /
                                      static_cast<float>(std::max(differences, least)));
  const int darkest = (light ? 255 - extreme : extreme) * kLevelUnit;
  const int background = std::min(darkest + range, int{kHighestLevel});
  const int contrast = background - darkest;
  const int noise = std::min(kNoiseFactor * window.deviation, kNoiseLimit * contrast);
  const int depth =
      std::max(std::max(kInkFraction * contrast, noise) >> kShareBits, int{kMinContrast});
  return {static_cast<std::int16_t>(background),
          static_cast<std::int16_t>(std::max(0, background - depth)),
          static_cast<std::int16_t>(window.deviation)};
}

/// What a window says for light ink: above 0 if its mean is nearer to its darkest pixel. A window
/// without contrast says nothing, and an edge between two areas little.
constexpr int vote_for_light(const InkWindow& window) noexcept {
  const int range = (window.high - window.low) * kLevelUnit;
  if (range < 2 * kMinContrast + (2 * kNoiseFactor * window.deviation >> kShareBits)) return 0;
  const auto mean = static_cast<int>(static_cast<float>(window.sum) * kLevelUnit /
                                     static_cast<float>(window.pixels));
  return (window.high + window.low) * kLevelUnit - 2 * mean;
}

// ---- interpolation between the centers of blocks

/// Where a row of pixels lies between the centers of two rows of blocks.
struct RowPlace {
  int above;
  int below;
  int part;  ///< of `below`, in 1/2 of 1/side
};

constexpr RowPlace row_place(const InkGrid& grid, int y) noexcept {
  const int from_center = std::max(2 * y + 1 - grid.side(), 0);
  const int above = from_center >> (grid.bits + 1);
  return {above, std::min(above + 1, grid.rows() - 1), from_center & (2 * grid.side() - 1)};
}

/// The level of a column of blocks at a row of pixels.
constexpr int level_of_column(int above, int below, const RowPlace& place, int bits) noexcept {
  return above + ((below - above) * place.part >> (bits + 1));
}

/// The levels of the pixels of half a block are on a line.
struct LevelLine {
  int base;   ///< at the first pixel behind the center
  int slope;  ///< for a pixel

  /// `from`, `to`: levels at the center on its left and on its right. `center`: the one of them to
  /// which the pixel's own block belongs.
  constexpr LevelLine(int from, int to, int center, int bits) noexcept
      : base(center + ((to - from) >> bits >> 1)), slope((to - from) >> bits) {}
};

/// The level of each block, row after row.
struct LevelMap {
  const std::int16_t* levels;
  int columns;

  constexpr int operator()(int column, int row) const noexcept {
    return levels[row * columns + column];
  }
};

/// The level at a pixel. `map(column, row)`: that of a block.
template <typename Map>
constexpr int level_at(const InkGrid& grid, const Map& map, int x, int y) noexcept {
  const RowPlace place = row_place(grid, y);
  const auto level = [&](int column) {
    const int c = std::min(std::max(column, 0), grid.columns() - 1);
    return level_of_column(map(c, place.above), map(c, place.below), place, grid.bits);
  };
  const int column = x >> grid.bits;
  const int at = (x & (grid.side() - 1)) - grid.side() / 2;
  const int center = level(column);
  const LevelLine line = at < 0 ? LevelLine(level(column - 1), center, center, grid.bits)
                                : LevelLine(center, level(column + 1), center, grid.bits);
  return line.base + line.slope * at;
}
/// As a pixel.
constexpr std::uint8_t level_pixel(int level) noexcept {
  return static_cast<std::uint8_t>(std::min(std::max(level >> kLevelBits, 0), 255));
}

/// The row whose thresholds the pixels of row y have: groups of rows share those of their middle.
constexpr int threshold_row_of(const InkGrid& grid, int y) noexcept {
  const int group_bits = grid.bits - 1;
  return (y >> group_bits << group_bits) + (1 << group_bits) / 2;
}

/// Mean difference of a run of pixels to the background, in 1/64 of a gray level. `background`: the
/// level in the middle of the run; `sum`: of its pixels.
constexpr std::uint16_t run_contrast(int background, int sum, int length) noexcept {
  return static_cast<std::uint16_t>(std::max(background * length - sum * kLevelUnit, 0) /
                                    (2 * length));
}

}  // namespace ocellus::detail
