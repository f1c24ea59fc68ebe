#include "optical_flow/cpu/pyramid_rows.h"

#include "image/separable_filter.h"
#include "optical_flow/pyramid_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/pyramid_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

/// Computes out[x] = f(in[x], ...) over a row. `out` may be one of the inputs.
template <typename F, typename... In>
HWY_INLINE void map_row(int width, float* out, const F& f, const In*... in) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) hn::StoreU(f(hn::LoadU(d, in + x)...), d, out + x);
}

void subtract_row(const float* a, const float* b, float* out, int width) {
  map_row(
      width, out, [](V p, V q) HWY_ATTR { return hn::Sub(p, q); }, a, b);
}

void square_row(const float* in, float* out, int width) {
  map_row(
      width, out, [](V p) HWY_ATTR { return hn::Mul(p, p); }, in);
}

void normalize_row(const float* highpass, const float* variance, float floor, float* out,
                   int width) {
  const D d;
  const V least = hn::Set(d, floor * floor);
  const V scale = hn::Set(d, kContrastScale);
  map_row(
      width, out,
      [=](V h, V s) HWY_ATTR { return hn::Div(hn::Mul(scale, h), hn::Sqrt(hn::Add(s, least))); },
      highpass, variance);
}

void squared_difference_row(const float* a, const float* b, float* squared, int width) {
  map_row(
      width, squared,
      [](V p, V q) HWY_ATTR {
        const V r = hn::Sub(p, q);
        return hn::Mul(r, r);
      },
      a, b);
}

void minimum_row(const float* in, bool first, float* out, int width) {
  if (first) {
    map_row(
        width, out, [](V p) HWY_ATTR { return p; }, in);
  } else {
    map_row(
        width, out, [](V p, V q) HWY_ATTR { return hn::Min(p, q); }, in,
        static_cast<const float*>(out));
  }
}

void fit_row(const float* least, const float* error, float floor, float* out, int width) {
  const D d;
  const V f = hn::Set(d, floor);
  map_row(
      width, out,
      [=](V l, V e) HWY_ATTR {
        const V q = hn::Div(hn::Add(l, f), hn::Add(e, f));
        return hn::Mul(q, hn::Mul(q, q));
      },
      least, error);
}

void add_scaled_row(const float* a, const float* b, float scale, float* out, int width) {
  const D d;
  const V s = hn::Set(d, scale);
  map_row(
      width, out, [=](V p, V q) HWY_ATTR { return hn::Mul(s, hn::Add(p, q)); }, a, b);
}

template <bool kFirst>
HWY_INLINE void accumulate(const ResidualRow& row, float* HWY_RESTRICT s2, float* HWY_RESTRICT st,
                           int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V one = hn::Set(d, 1.0f);
  const V offset = hn::Set(d, row.offset);
  const V offset2 = hn::Set(d, row.offset * row.offset);
  const V inverse_robust2 = hn::Set(d, row.robust > 0.0f ? 1.0f / (row.robust * row.robust) : 0.0f);
  const V right = hn::Set(d, static_cast<float>(row.image_width - 1));
  const V bottom = hn::Set(d, static_cast<float>(row.image_height - 1));
  const V y = hn::Set(d, static_cast<float>(row.y));
  const V here_y = hn::Min(y, hn::Sub(bottom, y));
  const V inverse_border = hn::Set(d, 1.0f / row.border);
  const V least = hn::Set(d, kLeastRamp);
  for (int i = 0; i < width; i += lanes) {
    const V residual = hn::Sub(hn::LoadU(d, row.warped + i), hn::LoadU(d, row.reference + i));
    // Distance of the pixel and of its warped position from the nearest edge; negative outside the
    // image.
    const V x = hn::Iota(d, static_cast<float>(row.x + i));
    const V there_x = hn::MulAdd(offset, hn::LoadU(d, row.u + i), x);
    const V there_y = hn::MulAdd(offset, hn::LoadU(d, row.v + i), y);
    const V here = hn::Min(hn::Min(x, hn::Sub(right, x)), here_y);
    const V there = hn::Min(hn::Min(there_x, hn::Sub(right, there_x)),
                            hn::Min(there_y, hn::Sub(bottom, there_y)));
    const V distance = hn::Add(hn::Min(here, there), hn::Set(d, 0.5f));
    const V ramp = hn::Min(one, hn::Max(least, hn::Mul(distance, inverse_border)));
    V weight =
        hn::Div(hn::Mul(ramp, ramp), hn::MulAdd(hn::Mul(residual, residual), inverse_robust2, one));
    if (row.fit != nullptr) weight = hn::Mul(weight, hn::LoadU(d, row.fit + i));
    const V w2 = hn::Mul(weight, offset2);
    const V wt = hn::Mul(hn::Mul(weight, offset), residual);
    hn::StoreU(kFirst ? w2 : hn::Add(hn::LoadU(d, s2 + i), w2), d, s2 + i);
    hn::StoreU(kFirst ? wt : hn::Add(hn::LoadU(d, st + i), wt), d, st + i);
  }
}

void accumulate_residual_row(const ResidualRow& row, bool first, float* s2, float* st, int width) {
  if (first) {
    accumulate<true>(row, s2, st, width);
  } else {
    accumulate<false>(row, s2, st, width);
  }
}

void weighted_products_row(const float* const* HWY_RESTRICT mean, const float* HWY_RESTRICT s2,
                           const float* HWY_RESTRICT st, float gradient_floor,
                           float* const* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V near = hn::Set(d, 8.0f / 12.0f);
  const V far = hn::Set(d, 1.0f / 12.0f);
  const V floor2 = hn::Set(d, gradient_floor * gradient_floor);
  const float* center = mean[2];
  for (int x = 0; x < width; x += lanes) {
    const V ix = hn::NegMulAdd(
        far, hn::Sub(hn::LoadU(d, center + x + 2), hn::LoadU(d, center + x - 2)),
        hn::Mul(near, hn::Sub(hn::LoadU(d, center + x + 1), hn::LoadU(d, center + x - 1))));
    const V iy =
        hn::NegMulAdd(far, hn::Sub(hn::LoadU(d, mean[4] + x), hn::LoadU(d, mean[0] + x)),
                      hn::Mul(near, hn::Sub(hn::LoadU(d, mean[3] + x), hn::LoadU(d, mean[1] + x))));
    const V xx = hn::Mul(ix, ix);
    const V yy = hn::Mul(iy, iy);
    V w2 = hn::LoadU(d, s2 + x);
    V wt = hn::LoadU(d, st + x);
    if (gradient_floor > 0.0f) {
      const V q = hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Add(xx, yy), floor2));
      w2 = hn::Mul(w2, q);
      wt = hn::Mul(wt, q);
    }
    hn::StoreU(hn::Mul(w2, xx), d, out[0] + x);
    hn::StoreU(hn::Mul(w2, hn::Mul(ix, iy)), d, out[1] + x);
    hn::StoreU(hn::Mul(w2, yy), d, out[2] + x);
    hn::StoreU(hn::Mul(wt, ix), d, out[3] + x);
    hn::StoreU(hn::Mul(wt, iy), d, out[4] + x);
  }
}

void add_increment_row(const float* increment, const float* flow, float* out, int width) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  const V minus = hn::Set(d, -1.0f);
  map_row(
      width, out, [=](V p, V q) HWY_ATTR { return hn::Add(q, hn::Min(one, hn::Max(minus, p))); },
      increment, flow);
}

void weigh_flow_row(const float* u, const float* v, const float* confidence, float least, float* c,
                    float* cu, float* cv, int width) {
  const D d;
  const V floor = hn::Set(d, least);
  map_row(
      width, c, [=](V p) HWY_ATTR { return hn::Add(p, floor); }, confidence);
  const auto multiply = [](V p, V q) HWY_ATTR { return hn::Mul(p, q); };
  map_row(width, cu, multiply, static_cast<const float*>(c), u);
  map_row(width, cv, multiply, static_cast<const float*>(c), v);
}

void divide_row(const float* a, const float* b, float* out, int width) {
  map_row(
      width, out, [](V p, V q) HWY_ATTR { return hn::Div(p, q); }, a, b);
}

void mark_invalid_row(const float* confidence, float threshold, float invalid, float* u, float* v,
                      int width) {
  const D d;
  const V least = hn::Set(d, threshold);
  const V value = hn::Set(d, invalid);
  const auto mark = [=](V c, V p) HWY_ATTR { return hn::IfThenElse(hn::Ge(c, least), p, value); };
  map_row(width, u, mark, confidence, static_cast<const float*>(u));
  map_row(width, v, mark, confidence, static_cast<const float*>(v));
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(subtract_row);
HWY_EXPORT(square_row);
HWY_EXPORT(normalize_row);
HWY_EXPORT(accumulate_residual_row);
HWY_EXPORT(squared_difference_row);
HWY_EXPORT(minimum_row);
HWY_EXPORT(fit_row);
HWY_EXPORT(add_scaled_row);
HWY_EXPORT(weighted_products_row);
HWY_EXPORT(add_increment_row);
HWY_EXPORT(weigh_flow_row);
HWY_EXPORT(divide_row);
HWY_EXPORT(mark_invalid_row);

void subtract_row(const float* a, const float* b, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(subtract_row)(a, b, out, width);
}
void square_row(const float* in, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(square_row)(in, out, width);
}
void normalize_row(const float* highpass, const float* variance, float floor, float* out,
                   int width) noexcept {
  HWY_DYNAMIC_DISPATCH(normalize_row)(highpass, variance, floor, out, width);
}
void accumulate_residual_row(const ResidualRow& row, bool first, float* s2, float* st,
                             int width) noexcept {
  HWY_DYNAMIC_DISPATCH(accumulate_residual_row)(row, first, s2, st, width);
}
void squared_difference_row(const float* a, const float* b, float* squared, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(squared_difference_row)(a, b, squared, width);
}
void minimum_row(const float* in, bool first, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(minimum_row)(in, first, out, width);
}
void fit_row(const float* least, const float* error, float floor, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(fit_row)(least, error, floor, out, width);
}
void add_scaled_row(const float* a, const float* b, float scale, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(add_scaled_row)(a, b, scale, out, width);
}
void weighted_products_row(const float* const* mean, const float* s2, const float* st,
                           float gradient_floor, float* const* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(weighted_products_row)(mean, s2, st, gradient_floor, out, width);
}
void add_increment_row(const float* increment, const float* flow, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(add_increment_row)(increment, flow, out, width);
}
void weigh_flow_row(const float* u, const float* v, const float* confidence, float least, float* c,
                    float* cu, float* cv, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(weigh_flow_row)(u, v, confidence, least, c, cu, cv, width);
}
void divide_row(const float* a, const float* b, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(divide_row)(a, b, out, width);
}
void mark_invalid_row(const float* confidence, float threshold, float invalid, float* u, float* v,
                      int width) noexcept {
  HWY_DYNAMIC_DISPATCH(mark_invalid_row)(confidence, threshold, invalid, u, v, width);
}

}  // namespace ocellus::detail
#endif
