// Scores of the minicolumns of a hypercolumn.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

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
  std::copy_n(bias, minicolumns, scores);
  const auto add = [&](auto sum, std::size_t m) {
    HWY_ALIGN std::int16_t sums[kMinicolumnAlignment];
    hn::Store(sum, d, sums);
    for (std::size_t k = 0; k < lanes; k += wide) {
      const auto more = hn::PromoteTo(d32, hn::LoadU(d16, sums + k));
      hn::StoreU(hn::Add(hn::LoadU(d32, scores + m + k), more), d32, scores + m + k);
    }
  };
  for (int begin = 0; begin < count; begin += kMostRows) {
    const int end = std::min(begin + kMostRows, count);
    std::size_t m = 0;
    // Several vectors of a row at a time: whole cache lines, and sums that do not wait for each
    // other.
    for (; m + 4 * lanes <= stride; m += 4 * lanes) {
      auto sum0 = hn::Zero(d);
      auto sum1 = hn::Zero(d);
      auto sum2 = hn::Zero(d);
      auto sum3 = hn::Zero(d);
      for (int i = begin; i < end; ++i) {
        const std::int8_t* const row = weights + active[i] * stride + m;
        sum0 = hn::Add(sum0, hn::PromoteTo(d, hn::LoadU(d8, row)));
        sum1 = hn::Add(sum1, hn::PromoteTo(d, hn::LoadU(d8, row + lanes)));
        sum2 = hn::Add(sum2, hn::PromoteTo(d, hn::LoadU(d8, row + 2 * lanes)));
        sum3 = hn::Add(sum3, hn::PromoteTo(d, hn::LoadU(d8, row + 3 * lanes)));
      }
      add(sum0, m);
      add(sum1, m + lanes);
      add(sum2, m + 2 * lanes);
      add(sum3, m + 3 * lanes);
    }
    for (; m < stride; m += lanes) {
      auto sum = hn::Zero(d);
      for (int i = begin; i < end; ++i)
        sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(d8, weights + active[i] * stride + m)));
      add(sum, m);
    }
  }
}

int find_best(const std::int32_t* scores, int count) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  const auto least = hn::Set(d, std::numeric_limits<std::int32_t>::min());
  auto most = least;
  std::size_t m = 0;
  for (; m + lanes <= n; m += lanes) most = hn::Max(most, hn::LoadU(d, scores + m));
  std::int32_t best = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; m < n; ++m) best = std::max(best, scores[m]);
  const auto wanted = hn::Set(d, best);
  for (m = 0; m + lanes <= n; m += lanes) {
    const std::intptr_t at = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, scores + m), wanted));
    if (at >= 0) return static_cast<int>(m) + static_cast<int>(at);
  }
  while (scores[m] != best) ++m;
  return static_cast<int>(m);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(compete_all);
HWY_EXPORT(find_best);

void compete(const std::int8_t* weights, const std::int32_t* bias, const std::uint16_t* active,
             int count, int minicolumns, std::int32_t* scores) noexcept {
  HWY_DYNAMIC_DISPATCH(compete_all)(weights, bias, active, count, minicolumns, scores);
}

int best_score(const std::int32_t* scores, int count) noexcept {
  return HWY_DYNAMIC_DISPATCH(find_best)(scores, count);
}

}  // namespace ocellus::detail
#endif
