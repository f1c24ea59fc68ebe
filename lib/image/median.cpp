#include "image/median.h"

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/median.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

HWY_INLINE void order(V& a, V& b) {
  const V low = hn::Min(a, b);
  b = hn::Max(a, b);
  a = low;
}

/// Forgetful selection. In a set of more than half of the values, neither the smallest nor the
/// largest is the median. Both are dropped and the next value is added, until three are left. All
/// indices are template parameters, so the values stay in registers.
template <int kSize, int kLow, int kHigh, int kNext>
HWY_INLINE V select(const float* const* HWY_RESTRICT rows, int x, V* HWY_RESTRICT held) {
  const D d;
  // Moves the smallest of held[kLow..kHigh] to kLow and the largest to kHigh.
  for (int i = kLow, j = kHigh; i < j; ++i, --j) order(held[i], held[j]);
  for (int i = kLow + 1; i <= (kLow + kHigh) / 2; ++i) order(held[kLow], held[i]);
  for (int i = kHigh - 1; i >= (kLow + kHigh + 1) / 2; --i) order(held[i], held[kHigh]);
  if constexpr (kHigh - kLow == 2) {
    return held[kLow + 1];
  } else {
    held[kHigh] = hn::LoadU(d, rows[kNext / kSize] + x + kNext % kSize - kSize / 2);
    return select<kSize, kLow + 1, kHigh, kNext + 1>(rows, x, held);
  }
}

template <int kSize>
HWY_INLINE void median(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT out, int width) {
  constexpr int kFirst = kSize * kSize / 2 + 2;
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    V held[kFirst];
    for (int i = 0; i < kFirst; ++i)
      held[i] = hn::LoadU(d, rows[i / kSize] + x + i % kSize - kSize / 2);
    hn::StoreU(select<kSize, 0, kFirst - 1, kFirst>(rows, x, held), d, out + x);
  }
}

void median3_row(const float* const* rows, float* out, int width) {
  median<3>(rows, out, width);
}
void median5_row(const float* const* rows, float* out, int width) {
  median<5>(rows, out, width);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(median3_row);
HWY_EXPORT(median5_row);

void median_row(const float* const* rows, int size, float* out, int width) noexcept {
  if (size == 3) {
    HWY_DYNAMIC_DISPATCH(median3_row)(rows, out, width);
  } else {
    HWY_DYNAMIC_DISPATCH(median5_row)(rows, out, width);
  }
}

}  // namespace ocellus::detail
#endif
