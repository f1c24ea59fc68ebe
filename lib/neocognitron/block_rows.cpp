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

using Floats = hn::CappedTag<float, kBlockMargin>;

void finish_blocks(float* blocks, int stride, int columns, const float* scales) {
  const Floats d;
  float* const means = blocks + kBlockMean * stride;
  float* const squares = blocks + kBlockSquare * stride;
  float* const deviations = blocks + kBlockDeviation * stride;
  for (int c = 0; c < columns; c += static_cast<int>(hn::Lanes(d))) {
    const auto scale = hn::LoadU(d, scales + c);
    const auto mean = hn::Mul(hn::LoadU(d, means + c), scale);
    const auto square = hn::Mul(hn::LoadU(d, squares + c), scale);
    const auto variance = hn::Max(hn::Zero(d), hn::Sub(square, hn::Mul(mean, mean)));
    hn::StoreU(mean, d, means + c);
    hn::StoreU(square, d, squares + c);
    hn::StoreU(hn::Sqrt(variance), d, deviations + c);
  }
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kNeutral[kBlockStatistics] = {0.0f, 0.0f, kLargest, kLargest, -kLargest};
  for (int s = 0; s < kBlockStatistics; ++s) {
    std::fill_n(blocks + s * stride - kBlockMargin, kBlockMargin, kNeutral[s]);
    std::fill(blocks + s * stride + columns, blocks + (s + 1) * stride - kBlockMargin, kNeutral[s]);
  }
}

/// Combines `count` values of each statistic, `step` floats apart. Calls `store(statistic, column,
/// value)`.
template <class Store>
HWY_INLINE void combine_blocks(const float* blocks, int stride, int columns, int count,
                               std::ptrdiff_t step, const Store& store) {
  const Floats d;
  for (int c = 0; c < columns; c += static_cast<int>(hn::Lanes(d))) {
    const float* from = blocks + c;
    auto mean = hn::LoadU(d, from + kBlockMean * stride);
    auto square = hn::LoadU(d, from + kBlockSquare * stride);
    auto deviation = hn::LoadU(d, from + kBlockDeviation * stride);
    auto low = hn::LoadU(d, from + kBlockMin * stride);
    auto high = hn::LoadU(d, from + kBlockMax * stride);
    for (int i = 1; i < count; ++i) {
      from += step;
      mean = hn::Add(mean, hn::LoadU(d, from + kBlockMean * stride));
      square = hn::Add(square, hn::LoadU(d, from + kBlockSquare * stride));
      deviation = hn::Min(deviation, hn::LoadU(d, from + kBlockDeviation * stride));
      low = hn::Min(low, hn::LoadU(d, from + kBlockMin * stride));
      high = hn::Max(high, hn::LoadU(d, from + kBlockMax * stride));
    }
    store(kBlockMean, c, mean);
    store(kBlockSquare, c, square);
    store(kBlockDeviation, c, deviation);
    store(kBlockMin, c, low);
    store(kBlockMax, c, high);
  }
}

void sum_block_columns(const float* blocks, int stride, int columns, int radius,
                       const float* scales, float* windows) {
  const Floats d;
  combine_blocks(blocks - radius, stride, columns, 2 * radius + 1, 1,
                 [&](int statistic, int c, hn::Vec<Floats> value) HWY_ATTR {
                   if (statistic <= kBlockSquare) value = hn::Mul(value, hn::LoadU(d, scales + c));
                   hn::StoreU(value, d, windows + statistic * stride + c);
                 });
}

void sum_block_rows(const float* blocks, int stride, int columns, int rows, float* windows) {
  const Floats d;
  const auto scale = hn::Set(d, 1.0f / static_cast<float>(rows));
  combine_blocks(blocks, stride, columns, rows,
                 static_cast<std::ptrdiff_t>(kBlockStatistics) * stride,
                 [&](int statistic, int c, hn::Vec<Floats> value) HWY_ATTR {
                   if (statistic <= kBlockSquare) value = hn::Mul(value, scale);
                   hn::StoreU(value, d, windows + statistic * stride + c);
                 });
}

void largest_of_rows(const float* a, const float* b, const float* c, int columns, float* out) {
  const Floats d;
  for (int i = 0; i < columns; i += static_cast<int>(hn::Lanes(d)))
    hn::StoreU(hn::Max(hn::Max(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), hn::LoadU(d, c + i)), d,
               out + i);
}

// ---- pixels of blocks

/// Blocks that are interpolated at once.
constexpr int kPiece = 64;

/// Fixed-point lines of the pixels of blocks: half a block before the center and half a block after
/// it, 7 fractional bits, so that levels fit 16 bits.
struct BlockLines {
  std::int16_t base_before[kPiece];
  std::int16_t base_after[kPiece];
  std::int16_t before[kPiece];  // slopes
  std::int16_t after[kPiece];
};

HWY_INLINE void find_lines(const float* HWY_RESTRICT upper, const float* HWY_RESTRICT lower,
                           float part, int columns, int side, int first, int count,
                           BlockLines& lines) {
  constexpr float kOne = 128.0f;
  float levels[kPiece + 2];
  for (int i = 0; i < count + 2; ++i) {
    const int c = std::clamp(first + i - 1, 0, columns - 1);
    levels[i] = (upper[c] + (lower[c] - upper[c]) * part) * kOne;
  }
  const float scale = 1.0f / static_cast<float>(side);
  for (int i = 0; i < count; ++i) {
    const auto before = static_cast<int>((levels[i + 1] - levels[i]) * scale);
    const auto after = static_cast<int>((levels[i + 2] - levels[i + 1]) * scale);
    const auto base = static_cast<int>(levels[i + 1]);
    lines.base_before[i] = static_cast<std::int16_t>(base + before / 2);
    lines.base_after[i] = static_cast<std::int16_t>(base + after / 2);
    lines.before[i] = static_cast<std::int16_t>(before);
    lines.after[i] = static_cast<std::int16_t>(after);
  }
}

void interpolate_blocks(const float* upper, const float* lower, float part, int columns, int side,
                        int first, int end, std::uint8_t* out) {
  const hn::CappedTag<std::int16_t, 8> d;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const int half = side / 2;
  BlockLines lines;
  for (; first < end; first += kPiece) {
    const int count = std::min(kPiece, end - first);
    find_lines(upper, lower, part, columns, side, first, count, lines);
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
        hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<7>(value)), bytes, to);
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
HWY_EXPORT(sum_block_columns);
HWY_EXPORT(sum_block_rows);
HWY_EXPORT(largest_of_rows);
HWY_EXPORT(interpolate_blocks);
HWY_EXPORT(find_ink);

}  // namespace

void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int width,
                    PixelGroup* out) noexcept {
  HWY_DYNAMIC_DISPATCH(measure_groups)(in, stride, rows, width, out);
}

void finish_blocks(float* blocks, int stride, int columns, const float* scales) noexcept {
  HWY_DYNAMIC_DISPATCH(finish_blocks)(blocks, stride, columns, scales);
}

void sum_block_columns(const float* blocks, int stride, int columns, int radius,
                       const float* scales, float* windows) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_block_columns)(blocks, stride, columns, radius, scales, windows);
}

void sum_block_rows(const float* blocks, int stride, int columns, int rows,
                    float* windows) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_block_rows)(blocks, stride, columns, rows, windows);
}

void largest_of_rows(const float* a, const float* b, const float* c, int columns,
                     float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(largest_of_rows)(a, b, c, columns, out);
}

void interpolate_blocks(const float* upper, const float* lower, float part, int columns, int side,
                        int first, int end, std::uint8_t* out) noexcept {
  HWY_DYNAMIC_DISPATCH(interpolate_blocks)(upper, lower, part, columns, side, first, end, out);
}

void find_ink(const std::uint8_t* pixels, std::uint8_t invert, const std::uint8_t* thresholds,
              int count, std::uint64_t* bits) noexcept {
  HWY_DYNAMIC_DISPATCH(find_ink)(pixels, invert, thresholds, count, bits);
}

}  // namespace ocellus::detail
#endif  // HWY_ONCE
