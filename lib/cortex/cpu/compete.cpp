// Scores of the minicolumns of a hypercolumn.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cortex/classifier.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cortex/cpu/compete.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Weights that a 16-bit number can add up: 127 * 258 < 2^15.
constexpr int kMostRows = 256;

void compete_all(const std::int8_t* weights, const std::int32_t* bias, const std::uint16_t* active,
                 int count, int minicolumns, std::int32_t* scores) {
  const hn::CappedTag<std::int16_t, kMinicolumnAlignment> d;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  const hn::CappedTag<std::int32_t, kMinicolumnAlignment> d32;
  const hn::Rebind<std::int16_t, decltype(d32)> d16;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t wide = hn::Lanes(d32);
  const auto stride = static_cast<std::size_t>(minicolumns);
  HWY_ALIGN std::int16_t sums[kMinicolumnAlignment];
  std::copy_n(bias, minicolumns, scores);
  for (int begin = 0; begin < count; begin += kMostRows) {
    const int end = std::min(begin + kMostRows, count);
    for (std::size_t m = 0; m < stride; m += lanes) {
      auto sum = hn::Zero(d);
      for (int i = begin; i < end; ++i)
        sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(d8, weights + active[i] * stride + m)));
      hn::Store(sum, d, sums);
      for (std::size_t k = 0; k < lanes; k += wide) {
        const auto more = hn::PromoteTo(d32, hn::LoadU(d16, sums + k));
        hn::StoreU(hn::Add(hn::LoadU(d32, scores + m + k), more), d32, scores + m + k);
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(compete_all);

void compete(const std::int8_t* weights, const std::int32_t* bias, const std::uint16_t* active,
             int count, int minicolumns, std::int32_t* scores) noexcept {
  HWY_DYNAMIC_DISPATCH(compete_all)(weights, bias, active, count, minicolumns, scores);
}

}  // namespace ocellus::detail
#endif
