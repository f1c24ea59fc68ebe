#include "image/pyramid.h"

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/pyramid.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

void reduce_column(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V center = hn::Set(d, 6.0f / 16.0f);
  const V near = hn::Set(d, 4.0f / 16.0f);
  const V far = hn::Set(d, 1.0f / 16.0f);
  for (int x = 0; x < width; x += lanes) {
    V sum = hn::Mul(center, hn::LoadU(d, rows[2] + x));
    sum = hn::MulAdd(near, hn::Add(hn::LoadU(d, rows[1] + x), hn::LoadU(d, rows[3] + x)), sum);
    sum = hn::MulAdd(far, hn::Add(hn::LoadU(d, rows[0] + x), hn::LoadU(d, rows[4] + x)), sum);
    hn::StoreU(sum, d, out + x);
  }
}

// Strided reads: the work is small, and the compiler generates the shuffles of each target.
void reduce_row_half(const float* HWY_RESTRICT in, float* HWY_RESTRICT out, int width_out) {
  for (int x = 0; x < width_out; ++x) {
    const float* at = in + 2 * x;
    out[x] = (at[-2] + at[2]) * (1.0f / 16.0f) + (at[-1] + at[1]) * (4.0f / 16.0f) +
             at[0] * (6.0f / 16.0f);
  }
}

void expand_flow_row(const float* HWY_RESTRICT upper, const float* HWY_RESTRICT lower,
                     float* HWY_RESTRICT out, int width_out) {
  for (int x = 0; x < (width_out + 1) / 2; ++x) {
    const float here = upper[x] + lower[x];
    const float next = upper[x + 1] + lower[x + 1];
    out[2 * x] = here;
    out[2 * x + 1] = 0.5f * (here + next);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(reduce_column);
HWY_EXPORT(reduce_row_half);
HWY_EXPORT(expand_flow_row);

void reduce_row(const float* const* rows, int width_in, float* work, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(reduce_column)(rows, work, width_in);
  replicate_edges(work, width_in, 2, 2);
  HWY_DYNAMIC_DISPATCH(reduce_row_half)(work, out, (width_in + 1) / 2);
}

void expand_flow_row(const float* upper, const float* lower, float* out, int width_out) noexcept {
  HWY_DYNAMIC_DISPATCH(expand_flow_row)(upper, lower, out, width_out);
}

}  // namespace ocellus::detail
#endif
