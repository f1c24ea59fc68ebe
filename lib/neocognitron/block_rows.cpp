#include "neocognitron/block_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neocognitron/block_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

const hn::ScalableTag<std::uint8_t> kBytes;
const hn::Repartition<std::uint64_t, decltype(kBytes)> kSums;
const hn::Repartition<std::uint16_t, decltype(kBytes)> kWords;
const hn::Repartition<std::uint32_t, decltype(kBytes)> kSquares;
using Bytes = hn::Vec<decltype(kBytes)>;

constexpr std::size_t kLanes = HWY_MAX_BYTES;
constexpr std::size_t kGroups = kLanes / kGroupColumns;

/// The least or the greatest byte of each group, in the low byte of its 64 bits.
template <class Function>
HWY_INLINE void reduce(Bytes value, Function function, std::uint64_t* out) {
  value = function(value, hn::BitCast(kBytes, hn::ShiftRight<32>(hn::BitCast(kSums, value))));
  value = function(value, hn::BitCast(kBytes, hn::ShiftRight<16>(hn::BitCast(kSums, value))));
  value = function(value, hn::BitCast(kBytes, hn::ShiftRight<8>(hn::BitCast(kSums, value))));
  hn::Store(hn::BitCast(kSums, value), kSums, out);
}

/// Sums of two adjacent lanes.
HWY_INLINE auto add_pairs(hn::Vec<decltype(kWords)> words) {
  const auto pairs = hn::BitCast(kSquares, words);
  return hn::Add(hn::ShiftRight<16>(pairs), hn::And(pairs, hn::Set(kSquares, 0xFFFF)));
}

HWY_INLINE void measure_vector(const std::uint8_t* in, std::ptrdiff_t stride, int rows,
                               PixelGroup* out) {
  auto low = hn::Set(kBytes, 255);
  auto high = hn::Zero(kBytes);
  auto sums = hn::Zero(kSums);
  auto squares_lower = hn::Zero(kSquares);
  auto squares_upper = hn::Zero(kSquares);
  const hn::Half<decltype(kBytes)> half;
  for (int y = 0; y < rows; ++y) {
    const auto pixels = hn::LoadU(kBytes, in + y * stride);
    // The frame comes from memory, and the next row of blocks follows.
    hwy::Prefetch(in + (y + rows) * stride);
    low = hn::Min(low, pixels);
    high = hn::Max(high, pixels);
    sums = hn::Add(sums, hn::SumsOf8(pixels));
    const auto lower = hn::PromoteTo(kWords, hn::LowerHalf(half, pixels));
    const auto upper = hn::PromoteTo(kWords, hn::UpperHalf(half, pixels));
    squares_lower = hn::Add(squares_lower, add_pairs(hn::Mul(lower, lower)));
    squares_upper = hn::Add(squares_upper, add_pairs(hn::Mul(upper, upper)));
  }
  HWY_ALIGN std::uint64_t lows[kGroups];
  HWY_ALIGN std::uint64_t highs[kGroups];
  HWY_ALIGN std::uint64_t group_sums[kGroups];
  HWY_ALIGN std::uint32_t squares[kLanes / 2];
  reduce(
      low, [](auto a, auto b) { return hn::Min(a, b); }, lows);
  reduce(
      high, [](auto a, auto b) { return hn::Max(a, b); }, highs);
  hn::Store(sums, kSums, group_sums);
  hn::Store(squares_lower, kSquares, squares);
  hn::Store(squares_upper, kSquares, squares + hn::Lanes(kSquares));
  for (std::size_t g = 0; g < hn::Lanes(kSums); ++g) {
    // Each lane has the squares of two columns.
    const std::uint32_t* pairs = squares + 4 * g;
    out[g] = {static_cast<std::uint32_t>(group_sums[g]), pairs[0] + pairs[1] + pairs[2] + pairs[3],
              static_cast<std::uint8_t>(lows[g]), static_cast<std::uint8_t>(highs[g])};
  }
}

#endif

void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int width,
                    PixelGroup* out) {
  int g = 0;
#if HWY_TARGET != HWY_SCALAR
  const auto step = static_cast<int>(hn::Lanes(kSums));
  for (; (g + step) * kGroupColumns <= width; g += step) {
    measure_vector(in + g * kGroupColumns, stride, rows, out + g);
  }
#endif
  for (; g * kGroupColumns < width; ++g) {
    PixelGroup group{0, 0, 255, 0};
    for (int y = 0; y < rows; ++y) {
      const std::uint8_t* row = in + y * stride;
      for (int x = g * kGroupColumns; x < std::min((g + 1) * kGroupColumns, width); ++x) {
        const std::uint32_t pixel = row[x];
        group.sum += pixel;
        group.squares += pixel * pixel;
        group.min = std::min(group.min, row[x]);
        group.max = std::max(group.max, row[x]);
      }
    }
    out[g] = group;
  }
}

// ---- statistics of blocks

using Integers = hn::CappedTag<std::int32_t, kBlockMargin>;

void finish_blocks(const InkGrid& grid, int row, int stride, std::int32_t* blocks) {
  const hn::CappedTag<double, kBlockMargin / 2> d;
  const hn::Rebind<float, decltype(d)> floats;
  const hn::Rebind<std::int32_t, decltype(d)> integers;
  std::int32_t* const squares = blocks + kBlockSquares * stride;
  std::int32_t* const deviations = blocks + kBlockDeviation * stride;
  const int columns = grid.columns();
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const bool is_whole = (row + 1) << grid.bits <= grid.height;
  const int whole = is_whole ? grid.width >> grid.bits : 0;
  const int pixels = 1 << 2 * grid.bits;
  const auto unit = hn::Set(floats, static_cast<float>(kLevelUnit));
  int c = 0;
  // As block_spread() and block_deviation().
  for (; c + lanes <= whole; c += lanes) {
    const auto sum = hn::PromoteTo(d, hn::LoadU(integers, blocks + c));
    const auto square = hn::PromoteTo(d, hn::LoadU(integers, squares + c));
    const auto spread =
        hn::Sub(hn::Mul(hn::Set(d, static_cast<double>(pixels)), square), hn::Mul(sum, sum));
    const auto root = hn::Sqrt(hn::DemoteTo(floats, spread));
    const auto deviation =
        hn::Div(hn::Mul(root, unit), hn::Set(floats, static_cast<float>(pixels)));
    hn::StoreU(hn::ConvertTo(integers, deviation), integers, deviations + c);
  }
  for (; c < columns; ++c) {
    const int own = grid.block_pixels(c, row);
    const BlockSums sums{blocks[c], squares[c]};
    const auto spread = static_cast<float>(block_spread(sums, own));
    deviations[c] = block_deviation(std::sqrt(spread), own);
    const BlockSums all = whole_block(sums, own, grid.bits);
    blocks[c] = all.sum;
    squares[c] = all.squares;
  }
  for (c = 0; c < columns; ++c) squares[c] >>= grid.square_bits();
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kNeutral[kBlockStatistics] = {0, 0, kLargest, kLargest, 0};
  for (int s = 0; s < kBlockStatistics; ++s) {
    std::fill_n(blocks + s * stride - kBlockMargin, kBlockMargin, kNeutral[s]);
    std::fill(blocks + s * stride + columns, blocks + (s + 1) * stride - kBlockMargin, kNeutral[s]);
  }
}

/// Combines `count` values of each statistic, `step` elements apart.
HWY_INLINE void combine_blocks(const std::int32_t* blocks, int stride, int columns, int count,
                               std::ptrdiff_t step, std::int32_t* windows) {
  const Integers d;
  for (int c = 0; c < columns; c += static_cast<int>(hn::Lanes(d))) {
    const auto at = [&](const std::int32_t* from, int statistic)
                        HWY_ATTR { return hn::LoadU(d, from + statistic * stride); };
    const std::int32_t* from = blocks + c;
    auto sum = at(from, kBlockSum);
    auto squares = at(from, kBlockSquares);
    auto deviation = at(from, kBlockDeviation);
    auto low = at(from, kBlockMin);
    auto high = at(from, kBlockMax);
    for (int i = 1; i < count; ++i) {
      from += step;
      sum = hn::Add(sum, at(from, kBlockSum));
      squares = hn::Add(squares, at(from, kBlockSquares));
      deviation = hn::Min(deviation, at(from, kBlockDeviation));
      low = hn::Min(low, at(from, kBlockMin));
      high = hn::Max(high, at(from, kBlockMax));
    }
    const auto store = [&](int statistic, hn::Vec<Integers> value)
                           HWY_ATTR { hn::StoreU(value, d, windows + statistic * stride + c); };
    store(kBlockSum, sum);
    store(kBlockSquares, squares);
    store(kBlockDeviation, deviation);
    store(kBlockMin, low);
    store(kBlockMax, high);
  }
}

void combine_block_columns(const std::int32_t* blocks, int stride, int columns, int radius,
                           std::int32_t* windows) {
  combine_blocks(blocks - radius, stride, columns, 2 * radius + 1, 1, windows);
}

void combine_block_rows(const std::int32_t* blocks, int stride, int columns, int rows,
                        std::int32_t* windows) {
  combine_blocks(blocks, stride, columns, rows,
                 static_cast<std::ptrdiff_t>(kBlockStatistics) * stride, windows);
}

// ---- levels of windows

const hn::CappedTag<double, kBlockMargin / 2> kDoubles;
const hn::Rebind<float, decltype(kDoubles)> kFloats;
const hn::Rebind<std::int32_t, decltype(kDoubles)> kIntegers;
const hn::Rebind<std::int16_t, decltype(kDoubles)> kLevels;

using WindowIntegers = hn::VFromD<decltype(kIntegers)>;

HWY_INLINE WindowIntegers integer(int value) {
  return hn::Set(kIntegers, value);
}
HWY_INLINE WindowIntegers statistic_of(const WindowRow& row, int statistic, int c) {
  return hn::LoadU(kIntegers, row.statistics + statistic * row.stride + c);
}
HWY_INLINE WindowIntegers pixels_of(const WindowRow& row, int c) {
  return hn::Mul(hn::LoadU(kIntegers, row.window_columns + c), integer(row.column_pixels));
}

// The arithmetic is that of window_level() and vote_for_light(), so that the results are equal.
void derive_levels(const WindowRow& row, bool light, std::int16_t* background,
                   std::int16_t* threshold, std::int16_t* noise) {
  const auto unit = hn::Set(kFloats, static_cast<float>(kLevelUnit));
  const auto lanes = static_cast<int>(hn::Lanes(kDoubles));
  int c = 0;
  for (; c + lanes <= row.columns; c += lanes) {
    const auto pixels = pixels_of(row, c);
    const auto sum = statistic_of(row, kBlockSum, c);
    const auto deviation = statistic_of(row, kBlockDeviation, c);
    const auto extreme = statistic_of(row, light ? kBlockMax : kBlockMin, c);
    const auto ink = hn::Mul(extreme, pixels);
    const auto products = hn::Mul(hn::PromoteTo(kDoubles, extreme),
                                  hn::PromoteTo(kDoubles, hn::Sub(ink, hn::Add(sum, sum))));
    const auto scaled = hn::Mul(hn::PromoteTo(kDoubles, statistic_of(row, kBlockSquares, c)),
                                hn::Set(kDoubles, static_cast<double>(1 << row.square_bits)));
    const auto squares = hn::Max(hn::Add(scaled, products), hn::Zero(kDoubles));
    const auto differences = light ? hn::Sub(ink, sum) : hn::Sub(sum, ink);
    const auto least = hn::ShiftRight<1>(hn::Add(pixels, integer(1)));
    const auto range =
        hn::ConvertTo(kIntegers, hn::Div(hn::Mul(hn::DemoteTo(kFloats, squares), unit),
                                         hn::ConvertTo(kFloats, hn::Max(differences, least))));
    const auto darkest =
        hn::ShiftLeft<kLevelBits>(light ? hn::Sub(integer(255), extreme) : extreme);
    const auto level = hn::Min(hn::Add(darkest, range), integer(kHighestLevel));
    const auto contrast = hn::Sub(level, darkest);
    const auto limit =
        hn::Min(hn::Mul(integer(kNoiseFactor), deviation), hn::Mul(integer(kNoiseLimit), contrast));
    const auto depth = hn::Max(
        hn::ShiftRight<kShareBits>(hn::Max(hn::Mul(integer(kInkFraction), contrast), limit)),
        integer(kMinContrast));
    hn::StoreU(hn::DemoteTo(kLevels, level), kLevels, background + c);
    hn::StoreU(hn::DemoteTo(kLevels, hn::Max(hn::Sub(level, depth), integer(0))), kLevels,
               threshold + c);
    hn::StoreU(hn::DemoteTo(kLevels, deviation), kLevels, noise + c);
  }
  for (; c < row.columns; ++c) {
    const InkLevel level = window_level(row.window(c), light, row.square_bits);
    background[c] = level.background;
    threshold[c] = level.threshold;
    noise[c] = level.noise;
  }
}

std::int64_t count_votes(const WindowRow& row) {
  const auto unit = hn::Set(kFloats, static_cast<float>(kLevelUnit));
  const auto lanes = static_cast<int>(hn::Lanes(kDoubles));
  auto votes = hn::Zero(kIntegers);
  int c = 0;
  for (; c + lanes <= row.columns; c += lanes) {
    const auto pixels = pixels_of(row, c);
    const auto low = statistic_of(row, kBlockMin, c);
    const auto high = statistic_of(row, kBlockMax, c);
    const auto noise = hn::ShiftRight<kShareBits>(
        hn::Mul(integer(2 * kNoiseFactor), statistic_of(row, kBlockDeviation, c)));
    const auto mean = hn::ConvertTo(
        kIntegers, hn::Div(hn::Mul(hn::ConvertTo(kFloats, statistic_of(row, kBlockSum, c)), unit),
                           hn::ConvertTo(kFloats, pixels)));
    const auto vote = hn::Sub(hn::ShiftLeft<kLevelBits>(hn::Add(high, low)), hn::Add(mean, mean));
    const auto is_flat = hn::Lt(hn::ShiftLeft<kLevelBits>(hn::Sub(high, low)),
                                hn::Add(integer(2 * kMinContrast), noise));
    votes = hn::Add(votes, hn::IfThenZeroElse(is_flat, vote));
  }
  // A row has at most kMaxImageSide / 8 windows, whose votes are below 2^16.
  std::int64_t sum = hn::GetLane(hn::SumOfLanes(kIntegers, votes));
  for (; c < row.columns; ++c) sum += vote_for_light(row.window(c));
  return sum;
}

// ---- pixels of blocks

/// Blocks that are interpolated at once.
constexpr int kPiece = 64;

/// The lines of the halves of blocks before their centers and of those after them.
struct BlockLines {
  std::int16_t base_before[kPiece];
  std::int16_t base_after[kPiece];
  std::int16_t before[kPiece];  // slopes
  std::int16_t after[kPiece];
};

HWY_INLINE void find_lines(const std::int16_t* HWY_RESTRICT upper,
                           const std::int16_t* HWY_RESTRICT lower, const RowPlace& place,
                           int columns, int bits, int first, int count, BlockLines& lines) {
  int levels[kPiece + 2];
  for (int i = 0; i < count; ++i)
    levels[i + 1] = level_of_column(upper[first + i], lower[first + i], place, bits);
  for (const int i : {-1, count}) {
    const int c = std::clamp(first + i, 0, columns - 1);
    levels[i + 1] = level_of_column(upper[c], lower[c], place, bits);
  }
  for (int i = 0; i < count; ++i) {
    const LevelLine before(levels[i], levels[i + 1], levels[i + 1], bits);
    const LevelLine after(levels[i + 1], levels[i + 2], levels[i + 1], bits);
    lines.base_before[i] = static_cast<std::int16_t>(before.base);
    lines.base_after[i] = static_cast<std::int16_t>(after.base);
    lines.before[i] = static_cast<std::int16_t>(before.slope);
    lines.after[i] = static_cast<std::int16_t>(after.slope);
  }
}

void interpolate_blocks(const std::int16_t* upper, const std::int16_t* lower, const RowPlace& place,
                        int columns, int bits, int first, int end, std::uint8_t* out) {
  const hn::CappedTag<std::int16_t, 8> d;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const int side = 1 << bits;
  const int half = side / 2;
  BlockLines lines;
  for (; first < end; first += kPiece) {
    const int count = std::min(kPiece, end - first);
    find_lines(upper, lower, place, columns, bits, first, count, lines);
    for (int i = 0; i < side; i += static_cast<int>(hn::Lanes(d))) {
      const auto at = hn::Iota(d, static_cast<std::int16_t>(i - half));
      const auto is_before = hn::Lt(at, hn::Zero(d));
      std::uint8_t* to = out + i;
      for (int c = 0; c < count; ++c, to += side) {
        const auto slope =
            hn::IfThenElse(is_before, hn::Set(d, lines.before[c]), hn::Set(d, lines.after[c]));
        const auto base = hn::IfThenElse(is_before, hn::Set(d, lines.base_before[c]),
                                         hn::Set(d, lines.base_after[c]));
        const auto value = hn::Add(base, hn::Mul(slope, at));
        hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kLevelBits>(value)), bytes, to);
      }
    }
    out += static_cast<std::ptrdiff_t>(count) * side;
  }
}

void find_ink(const std::uint8_t* pixels, std::uint8_t invert, const std::uint8_t* thresholds,
              int count, std::uint64_t* bits) {
  constexpr int kWord = 64;
  std::uint8_t last_pixels[kWord];
  std::uint8_t last_thresholds[kWord];
  for (int first = 0; first < count; first += kWord) {
    const std::uint8_t* in = pixels + first;
    const std::uint8_t* below = thresholds + first;
    if (count - first < kWord) {
      // Nothing beyond the last pixel is read.
      std::memset(last_pixels, 0, kWord);
      std::memset(last_thresholds, 0, kWord);
      std::memcpy(last_pixels, in, static_cast<std::size_t>(count - first));
      std::memcpy(last_thresholds, below, static_cast<std::size_t>(count - first));
      in = last_pixels;
      below = last_thresholds;
    }
    std::uint64_t word = 0;
#if HWY_TARGET == HWY_SCALAR
    for (int i = 0; i < kWord; ++i)
      if ((in[i] ^ invert) < below[i]) word |= std::uint64_t{1} << i;
#else
    const hn::CappedTag<std::uint8_t, kWord> d;
    const auto mask = hn::Set(d, invert);
    for (int i = 0; i < kWord; i += static_cast<int>(hn::Lanes(d))) {
      const auto pixel = hn::Xor(hn::LoadU(d, in + i), mask);
      std::uint64_t part = 0;
      std::uint8_t of_mask[8] = {};
      hn::StoreMaskBits(d, hn::Lt(pixel, hn::LoadU(d, below + i)), of_mask);
      for (std::size_t b = 0; b < hn::Lanes(d) / 8; ++b)
        part |= static_cast<std::uint64_t>(of_mask[b]) << (8 * b);
      word |= part << i;
    }
#endif
    bits[first / kWord] = word;
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {
namespace {

HWY_EXPORT(measure_groups);
HWY_EXPORT(finish_blocks);
HWY_EXPORT(combine_block_columns);
HWY_EXPORT(combine_block_rows);
HWY_EXPORT(derive_levels);
HWY_EXPORT(count_votes);
HWY_EXPORT(interpolate_blocks);
HWY_EXPORT(find_ink);

}  // namespace

void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int width,
                    PixelGroup* out) noexcept {
  HWY_DYNAMIC_DISPATCH(measure_groups)(in, stride, rows, width, out);
}

void finish_blocks(const InkGrid& grid, int row, int stride, std::int32_t* blocks) noexcept {
  HWY_DYNAMIC_DISPATCH(finish_blocks)(grid, row, stride, blocks);
}

void combine_block_columns(const std::int32_t* blocks, int stride, int columns, int radius,
                           std::int32_t* windows) noexcept {
  HWY_DYNAMIC_DISPATCH(combine_block_columns)(blocks, stride, columns, radius, windows);
}

void combine_block_rows(const std::int32_t* blocks, int stride, int columns, int rows,
                        std::int32_t* windows) noexcept {
  HWY_DYNAMIC_DISPATCH(combine_block_rows)(blocks, stride, columns, rows, windows);
}

void derive_levels(const WindowRow& row, bool light, std::int16_t* background,
                   std::int16_t* threshold, std::int16_t* noise) noexcept {
  HWY_DYNAMIC_DISPATCH(derive_levels)(row, light, background, threshold, noise);
}

std::int64_t count_votes(const WindowRow& row) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_votes)(row);
}

void interpolate_blocks(const std::int16_t* upper, const std::int16_t* lower, const RowPlace& place,
                        int columns, int bits, int first, int end, std::uint8_t* out) noexcept {
  HWY_DYNAMIC_DISPATCH(interpolate_blocks)(upper, lower, place, columns, bits, first, end, out);
}

void find_ink(const std::uint8_t* pixels, std::uint8_t invert, const std::uint8_t* thresholds,
              int count, std::uint64_t* bits) noexcept {
  HWY_DYNAMIC_DISPATCH(find_ink)(pixels, invert, thresholds, count, bits);
}

}  // namespace ocellus::detail
#endif  // HWY_ONCE
