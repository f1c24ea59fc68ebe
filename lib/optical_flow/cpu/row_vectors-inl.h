// What the row functions of optical flow share, compiled for each instruction set.
#if defined(OCELLUS_OPTICAL_FLOW_ROW_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OCELLUS_OPTICAL_FLOW_ROW_VECTORS_INL_H
#undef OCELLUS_OPTICAL_FLOW_ROW_VECTORS_INL_H
#else
#define OCELLUS_OPTICAL_FLOW_ROW_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include "image/separable_filter.h"

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

HWY_INLINE V constant(float value) {
  return hn::Set(D(), value);
}
HWY_INLINE V load(const float* from) {
  return hn::LoadU(D(), from);
}
HWY_INLINE void store(V value, float* to) {
  hn::StoreU(value, D(), to);
}
HWY_INLINE V square(V value) {
  return hn::Mul(value, value);
}
HWY_INLINE int lane_count() {
  return static_cast<int>(hn::Lanes(D()));
}

/// Computes out[x] = f(in[x], ...) over a row. `out` may be one of the inputs.
template <typename F, typename... In>
HWY_INLINE void map_row(int width, float* out, const F& f, const In*... in) {
  const int lanes = lane_count();
  for (int x = 0; x < width; x += lanes) store(f(load(in + x)...), out + x);
}

/// (1 -8 0 8 -1) / 12
HWY_INLINE V derivative(const float* before2, const float* before, const float* after,
                        const float* after2) {
  return hn::NegMulAdd(constant(1.0f / 12.0f), hn::Sub(load(after2), load(before2)),
                       hn::Mul(constant(8.0f / 12.0f), hn::Sub(load(after), load(before))));
}
/// In the middle of five rows.
HWY_INLINE V derivative_x(const float* const* rows, int x) {
  const float* const at = rows[2] + x;
  return derivative(at - 2, at - 1, at + 1, at + 2);
}
HWY_INLINE V derivative_y(const float* const* rows, int x) {
  return derivative(rows[0] + x, rows[1] + x, rows[3] + x, rows[4] + x);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
