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

void texture_row(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    V sum = hn::Zero(d);
    const auto add = [&](const float* p, const float* q) HWY_ATTR {
      const V difference = hn::Sub(hn::LoadU(d, p), hn::LoadU(d, q));
      sum = hn::MulAdd(difference, difference, sum);
    };
    for (int k = 0; k < 3; ++k) {
      add(rows[k] + x, rows[k] + x - 1);
      add(rows[k] + x + 1, rows[k] + x);
      add(rows[1] + x + k - 1, rows[0] + x + k - 1);
      add(rows[2] + x + k - 1, rows[1] + x + k - 1);
    }
    hn::StoreU(sum, d, out + x);
  }
}

void squared_gradient_row(const float* HWY_RESTRICT ix, const float* HWY_RESTRICT iy,
                          float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    const V gx = hn::LoadU(d, ix + x);
    const V gy = hn::LoadU(d, iy + x);
    hn::StoreU(hn::MulAdd(gx, gx, hn::Mul(gy, gy)), d, out + x);
  }
}

void deviation_row(const float* const* HWY_RESTRICT means, const float* HWY_RESTRICT texture,
                   const DeviationModel& model, float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0f);
  const V none = hn::Set(d, kNoDeviation);
  const V least = hn::Set(d, model.least * model.least);
  const V noise = hn::Set(d, model.noise);
  const V bend = hn::Set(d, model.bend);
  const V rounding = hn::Set(d, model.rounding / (model.gradient_floor * model.gradient_floor));
  const V gradient_rounding =
      hn::Set(d, model.gradient_rounding / (model.gradient_floor * model.gradient_floor));
  const V singular = hn::Set(d, kSingularDeterminant);
  const V pixel_rounding = hn::Set(d, model.pixel_rounding);
  const V texture_noise = hn::Set(d, model.texture_noise);
  for (int x = 0; x < width; x += lanes) {
    const V xx = hn::LoadU(d, means[0] + x);
    const V b = hn::LoadU(d, means[1] + x);
    const V yy = hn::LoadU(d, means[2] + x);
    const V flat = hn::Sub(hn::Sub(one, xx), yy);
    const V residual = hn::Max(hn::LoadU(d, means[3] + x), hn::Mul(rounding, flat));
    const V a = hn::NegMulAdd(gradient_rounding, flat, xx);
    const V c = hn::NegMulAdd(gradient_rounding, flat, yy);
    const V trace = hn::Add(a, c);
    const V determinant = hn::NegMulAdd(b, b, hn::Mul(a, c));
    const auto definite =
        hn::And(hn::Gt(trace, zero), hn::Gt(determinant, hn::Mul(singular, hn::Mul(trace, trace))));
    // The trace of the inverse of a symmetric matrix is trace / determinant.
    const V covariance = hn::Div(hn::Mul(hn::Mul(noise, residual), trace), determinant);
    const V own =
        hn::Div(pixel_rounding, hn::Max(hn::Sub(hn::LoadU(d, texture + x), texture_noise), zero));
    const V variance = hn::Add(hn::Add(hn::Add(least, covariance), own),
                               hn::Mul(bend, hn::LoadU(d, means[4] + x)));
    hn::StoreU(hn::IfThenElse(definite, hn::Sqrt(variance), none), d, out + x);
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
HWY_EXPORT(texture_row);
HWY_EXPORT(squared_gradient_row);
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
void texture_row(const float* const* rows, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(texture_row)(rows, out, width);
}
void squared_gradient_row(const float* ix, const float* iy, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(squared_gradient_row)(ix, iy, out, width);
}
void deviation_row(const float* const* means, const float* texture, const DeviationModel& model,
                   float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(deviation_row)(means, texture, model, out, width);
}

}  // namespace ocellus::detail
#endif
