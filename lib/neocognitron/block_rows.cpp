#include "neocognitron/block_rows.h"

#include <algorithm>

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

void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int count,
                    PixelGroup* out) {
  int g = 0;
#if HWY_TARGET != HWY_SCALAR
  const auto step = static_cast<int>(hn::Lanes(kSums));
  for (; g + step <= count; g += step) {
    measure_vector(in + g * kGroupColumns, stride, rows, out + g);
  }
#endif
  for (; g < count; ++g) {
    PixelGroup group{0, 0, 255, 0};
    for (int y = 0; y < rows; ++y) {
      const std::uint8_t* row = in + y * stride + g * kGroupColumns;
      for (int x = 0; x < kGroupColumns; ++x) {
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

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {
namespace {

HWY_EXPORT(measure_groups);

}  // namespace

void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int count,
                    PixelGroup* out) noexcept {
  HWY_DYNAMIC_DISPATCH(measure_groups)(in, stride, rows, count, out);
}

}  // namespace ocellus::detail
#endif  // HWY_ONCE
