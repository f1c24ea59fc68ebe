#include "optical_flow/cpu/deviation_rows.h"

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/deviation_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

HWY_INLINE V known(V value) {
  return hn::IfThenZeroElse(hn::IsNaN(value), value);
}

void gradient_row(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT ix,
                  float* HWY_RESTRICT iy, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V near = hn::Set(d, 8.0f / 12.0f);
  const V far = hn::Set(d, 1.0f / 12.0f);
  const float* center = rows[2];
  for (int x = 0; x < width; x += lanes) {
    const auto derivative = [&](const float* a, const float* b, const float* c,
                                const float* e) HWY_ATTR {
      return hn::NegMulAdd(far, hn::Sub(hn::LoadU(d, e), hn::LoadU(d, a)),
                           hn::Mul(near, hn::Sub(hn::LoadU(d, c), hn::LoadU(d, b))));
    };
    hn::StoreU(derivative(center + x - 2, center + x - 1, center + x + 1, center + x + 2), d,
               ix + x);
    hn::StoreU(derivative(rows[0] + x, rows[1] + x, rows[3] + x, rows[4] + x), d, iy + x);
  }
}

void flow_residual_row(const float* ix, const float* iy, const float* it, const float* u,
                       const float* v, float* residual, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    const V along_x =
        hn::MulAdd(hn::LoadU(d, ix + x), known(hn::LoadU(d, u + x)), hn::LoadU(d, it + x));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, iy + x), known(hn::LoadU(d, v + x)), along_x), d,
               residual + x);
  }
}

void known_flow_row(const float* in, float* out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) hn::StoreU(known(hn::LoadU(d, in + x)), d, out + x);
}

void deviation_terms_row(const float* HWY_RESTRICT ix, const float* HWY_RESTRICT iy,
                         const float* HWY_RESTRICT residual, const FlowRows& flow,
                         float gradient_floor, float* const* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V floor2 = hn::Set(d, gradient_floor * gradient_floor);
  const V one = hn::Set(d, 1.0f);
  const V quarter = hn::Set(d, 0.25f);
  for (int x = 0; x < width; x += lanes) {
    const V gx = hn::LoadU(d, ix + x);
    const V gy = hn::LoadU(d, iy + x);
    const V r = hn::LoadU(d, residual + x);
    const V xx = hn::Mul(gx, gx);
    const V yy = hn::Mul(gy, gy);
    const V q = hn::Div(one, hn::Add(hn::Add(xx, yy), floor2));
    hn::StoreU(hn::Mul(q, xx), d, out[0] + x);
    hn::StoreU(hn::Mul(q, hn::Mul(gx, gy)), d, out[1] + x);
    hn::StoreU(hn::Mul(q, yy), d, out[2] + x);
    hn::StoreU(hn::Mul(q, hn::Mul(r, r)), d, out[3] + x);
    V sum = hn::Zero(d);
    for (const float* const* plane : {flow.u, flow.v}) {
      const V across = hn::Sub(hn::LoadU(d, plane[1] + x + 1), hn::LoadU(d, plane[1] + x - 1));
      const V down = hn::Sub(hn::LoadU(d, plane[2] + x), hn::LoadU(d, plane[0] + x));
      sum = hn::MulAdd(across, across, hn::MulAdd(down, down, sum));
    }
    hn::StoreU(hn::Mul(quarter, sum), d, out[4] + x);
  }
}

void deviation_row(const float* const* HWY_RESTRICT means, const DeviationModel& model,
                   float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V ridge = hn::Set(d, kDeviationRidge);
  const V least = hn::Set(d, model.least * model.least);
  const V noise = hn::Set(d, model.noise);
  const V bend = hn::Set(d, model.bend);
  for (int x = 0; x < width; x += lanes) {
    const V a = hn::Add(hn::LoadU(d, means[0] + x), ridge);
    const V b = hn::LoadU(d, means[1] + x);
    const V c = hn::Add(hn::LoadU(d, means[2] + x), ridge);
    // The trace of the inverse of a symmetric matrix is trace / determinant.
    const V trace = hn::Div(hn::Add(a, c), hn::NegMulAdd(b, b, hn::Mul(a, c)));
    const V covariance = hn::Mul(hn::Mul(noise, hn::LoadU(d, means[3] + x)), trace);
    const V variance =
        hn::Add(hn::Add(least, covariance), hn::Mul(bend, hn::LoadU(d, means[4] + x)));
    hn::StoreU(hn::Sqrt(variance), d, out + x);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(gradient_row);
HWY_EXPORT(flow_residual_row);
HWY_EXPORT(known_flow_row);
HWY_EXPORT(deviation_terms_row);
HWY_EXPORT(deviation_row);

void gradient_row(const float* const* rows, float* ix, float* iy, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(gradient_row)(rows, ix, iy, width);
}
void flow_residual_row(const float* ix, const float* iy, const float* it, const float* u,
                       const float* v, float* residual, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(flow_residual_row)(ix, iy, it, u, v, residual, width);
}
void known_flow_row(const float* in, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(known_flow_row)(in, out, width);
}
void deviation_terms_row(const float* ix, const float* iy, const float* residual,
                         const FlowRows& flow, float gradient_floor, float* const* out,
                         int width) noexcept {
  HWY_DYNAMIC_DISPATCH(deviation_terms_row)(ix, iy, residual, flow, gradient_floor, out, width);
}
void deviation_row(const float* const* means, const DeviationModel& model, float* out,
                   int width) noexcept {
  HWY_DYNAMIC_DISPATCH(deviation_row)(means, model, out, width);
}

}  // namespace ocellus::detail
#endif
