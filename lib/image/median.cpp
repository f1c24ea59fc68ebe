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

HWY_INLINE V middle(V a, V b, V c) {
  order(a, b);
  return hn::Max(a, hn::Min(b, c));
}

void median_row(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    V low[3];
    V mid[3];
    V high[3];
    for (int i = 0; i < 3; ++i) {
      low[i] = hn::LoadU(d, rows[0] + x + i - 1);
      mid[i] = hn::LoadU(d, rows[1] + x + i - 1);
      high[i] = hn::LoadU(d, rows[2] + x + i - 1);
      order(low[i], mid[i]);
      order(mid[i], high[i]);
      order(low[i], mid[i]);
    }
    // The median of nine is among these three of the sorted columns.
    const V median =
        middle(hn::Max(hn::Max(low[0], low[1]), low[2]), middle(mid[0], mid[1], mid[2]),
               hn::Min(hn::Min(high[0], high[1]), high[2]));
    hn::StoreU(median, d, out + x);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(median_row);

void median_row(const float* const* rows, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(median_row)(rows, out, width);
}

}  // namespace ocellus::detail
#endif
