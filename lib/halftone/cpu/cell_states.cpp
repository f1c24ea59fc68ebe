// Row functions that compute states, and the padded planes of outputs that they read.
#include "halftone/cpu/cell_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/cpu/cell_states.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D16 = hn::CappedTag<std::int16_t, 16>;
using D32 = hn::RepartitionToWide<D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

HWY_INLINE int lanes16() {
  return static_cast<int>(hn::Lanes(D16()));
}

#if HWY_TARGET != HWY_SCALAR

/// Adds the products of neighboring lanes to the sum.
HWY_INLINE V32 add_products(V16 a, V16 b, V32 sum) {
  const D32 d32;
#if HWY_ARCH_X86
  // One instruction on x86; it does not use the second sum.
  V32 unused = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
#else
  V32 high = hn::Zero(d32);
  const V32 low = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), high);
  return hn::Add(sum, hn::Add(hn::ConcatEven(d32, high, low), hn::ConcatOdd(d32, high, low)));
#endif
}

HWY_INLINE void add_taps(const std::int16_t* HWY_RESTRICT row, const CellTaps& taps, V32& low,
                         V32& high) {
  const D16 d16;
  const D32 d32;
  for (int t = 0; t < taps.count; t += 2) {
    const CellTap& first = taps.taps[t];
    const CellTap& second = taps.taps[t + 1];
    const V16 a = hn::LoadU(d16, row + first.offset);
    const V16 b = hn::LoadU(d16, row + second.offset);
    const auto pair =
        static_cast<std::int32_t>((static_cast<std::uint32_t>(second.weight) << 16) |
                                  (static_cast<std::uint32_t>(first.weight) & 0xFFFFu));
    const V16 weights = hn::BitCast(d16, hn::Set(d32, pair));
    low = add_products(hn::InterleaveLower(d16, a, b), weights, low);
    high = add_products(hn::InterleaveUpper(d16, a, b), weights, high);
  }
}

#endif

HWY_INLINE std::int64_t sum_taps(const std::int16_t* row, const CellTaps& taps) {
  std::int64_t sum = 0;
  for (int t = 0; t < taps.count; ++t)
    sum += static_cast<std::int64_t>(taps.taps[t].weight) * row[taps.taps[t].offset];
  return sum;
}

void binary_states_row(const std::int16_t* control_row, const CellTaps& control,
                       const std::int16_t* feedback_row, const CellTaps& feedback,
                       std::int32_t threshold, const std::int32_t* threshold_row,
                       std::int32_t limit, std::int16_t* x_row, int width) {
  if (threshold_row != nullptr || HWY_TARGET == HWY_SCALAR) {
    for (int x = 0; x < width; ++x) {
      const std::int64_t own = threshold_row != nullptr ? threshold_row[x] : 0;
      const std::int64_t bias =
          bias_of(sum_taps(control_row + x, control), 2, threshold + own, limit);
      x_row[x] = static_cast<std::int16_t>(bias + sum_taps(feedback_row + x, feedback));
    }
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  const D16 d16;
  const D32 d32;
  const V32 zero = hn::Zero(d32);
  const V32 half = hn::Set(d32, kInputOne / 2);
  const V32 added = hn::Set(d32, threshold);
  const V32 most = hn::Set(d32, limit);
  const V32 least = hn::Set(d32, -limit);
  const int lanes = lanes16();
  for (int x = 0; x < width; x += lanes) {
    V32 low = half;
    V32 high = half;
    add_taps(control_row + x, control, low, high);
    low = hn::Add(hn::ShiftRight<kInputBits>(low), added);
    high = hn::Add(hn::ShiftRight<kInputBits>(high), added);
    low = hn::Max(hn::Min(low, most), least);
    high = hn::Max(hn::Min(high, most), least);
    V32 low_fed = zero;
    V32 high_fed = zero;
    add_taps(feedback_row + x, feedback, low_fed, high_fed);
    // Interleaving and demoting both work in blocks of 128 bits, so demoting restores the order.
    hn::StoreU(hn::ReorderDemote2To(d16, hn::Add(low, low_fed), hn::Add(high, high_fed)), d16,
               x_row + x);
  }
#endif
}

HWY_INLINE void sum_row(const std::int16_t* HWY_RESTRICT row, const CellTaps& taps,
                        std::int32_t* HWY_RESTRICT sums, int width) {
  std::memset(sums, 0, static_cast<std::size_t>(width) * sizeof(*sums));
  for (int t = 0; t < taps.count; ++t) {
    const std::int16_t* HWY_RESTRICT from = row + taps.taps[t].offset;
    const std::int32_t weight = taps.taps[t].weight;
    for (int x = 0; x < width; ++x) sums[x] += weight * from[x];
  }
}

void many_states_row(const std::int16_t* control_row, const CellTaps& control,
                     const std::int16_t* feedback_row, const CellTaps& feedback, int levels,
                     std::int32_t threshold, const std::int32_t* threshold_row, std::int32_t* sums,
                     std::int32_t* x_row, int width) {
  sum_row(control_row, control, sums, width);
  sum_row(feedback_row, feedback, sums + width, width);
  for (int x = 0; x < width; ++x) {
    const std::int64_t own = threshold_row != nullptr ? threshold_row[x] : 0;
    x_row[x] = static_cast<std::int32_t>(
        bias_of(sums[x], levels, threshold + own, kManyLevelsLimit) + sums[width + x]);
  }
}

void outputs_row(const std::uint8_t* HWY_RESTRICT k, int levels,
                 const std::int16_t* HWY_RESTRICT input, std::int16_t* HWY_RESTRICT out,
                 int width) {
  const int most = levels - 1;
  if (input == nullptr) {
    for (int x = 0; x < width; ++x) out[x] = static_cast<std::int16_t>(2 * k[x] - most);
  } else {
    for (int x = 0; x < width; ++x)
      out[x] = static_cast<std::int16_t>(input[x] - (2 * k[x] - 1) * kInputOne);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(binary_states_row);
HWY_EXPORT(many_states_row);
HWY_EXPORT(outputs_row);

void binary_states_row(const std::int16_t* control_row, const CellTaps& control,
                       const std::int16_t* feedback_row, const CellTaps& feedback,
                       std::int32_t threshold, const std::int32_t* threshold_row,
                       std::int32_t limit, std::int16_t* x_row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(binary_states_row)
  (control_row, control, feedback_row, feedback, threshold, threshold_row, limit, x_row, width);
}
void many_states_row(const std::int16_t* control_row, const CellTaps& control,
                     const std::int16_t* feedback_row, const CellTaps& feedback, int levels,
                     std::int32_t threshold, const std::int32_t* threshold_row, std::int32_t* sums,
                     std::int32_t* x_row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(many_states_row)
  (control_row, control, feedback_row, feedback, levels, threshold, threshold_row, sums, x_row,
   width);
}
void outputs_row(const std::uint8_t* k, int levels, const std::int16_t* input, std::int16_t* out,
                 int width) noexcept {
  HWY_DYNAMIC_DISPATCH(outputs_row)(k, levels, input, out, width);
}

}  // namespace ocellus::detail
#endif
