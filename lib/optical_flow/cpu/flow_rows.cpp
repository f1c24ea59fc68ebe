#include "optical_flow/cpu/flow_rows.h"

#include <cstdint>

#include "optical_flow/pyramid_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/flow_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "optical_flow/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

// ---- the window sums and the 2x2 solution

void derivative_products_row(const float* HWY_RESTRICT ix, const float* HWY_RESTRICT iy,
                             const float* HWY_RESTRICT it, float* const* HWY_RESTRICT out,
                             int width) {
  const int lanes = lane_count();
  for (int x = 0; x < width; x += lanes) {
    const V dx = load(ix + x);
    const V dy = load(iy + x);
    const V dt = load(it + x);
    store(hn::Mul(dx, dx), out[0] + x);
    store(hn::Mul(dx, dy), out[1] + x);
    store(hn::Mul(dy, dy), out[2] + x);
    store(hn::Mul(dx, dt), out[3] + x);
    store(hn::Mul(dy, dt), out[4] + x);
  }
}

void lucas_kanade_solve_row(const SolveRow& row) {
  const int lanes = lane_count();
  const V ridge = constant(row.ridge);
  const V half = constant(0.5f);
  const V threshold = constant(row.threshold);
  const V invalid = constant(row.invalid);
  const V singular = constant(kSingularRatio);
  for (int x = 0; x < row.width; x += lanes) {
    V sum[kProducts];
    for (int p = 0; p < kProducts; ++p)
      sum[p] = hn::Mul(constant(row.weight[0]), load(row.rows[p][row.radius] + x));
    for (int k = 1; k <= row.radius; ++k) {
      const V weight = constant(row.weight[k]);
      for (int p = 0; p < kProducts; ++p) {
        const V pair =
            hn::Add(load(row.rows[p][row.radius - k] + x), load(row.rows[p][row.radius + k] + x));
        sum[p] = hn::MulAdd(weight, pair, sum[p]);
      }
    }
    // Eigenvalues of the structure tensor: mean -/+ spread.
    const V mean = hn::Mul(half, hn::Add(sum[0], sum[2]));
    const V difference = hn::Mul(half, hn::Sub(sum[0], sum[2]));
    const V spread = hn::Sqrt(hn::MulAdd(difference, difference, hn::Mul(sum[1], sum[1])));
    const V smaller = hn::Max(hn::Sub(mean, spread), hn::Zero(D()));
    const V larger = hn::Add(mean, spread);

    const V a = hn::Add(sum[0], ridge);
    const V c = hn::Add(sum[2], ridge);
    const V determinant = hn::NegMulAdd(sum[1], sum[1], hn::Mul(a, c));
    const V inverse = hn::Div(constant(1.0f), determinant);
    // The minus sign of equation (3) is in the order of the differences.
    const V u = hn::Mul(hn::MulSub(sum[1], sum[4], hn::Mul(c, sum[3])), inverse);
    const V v = hn::Mul(hn::MulSub(sum[1], sum[3], hn::Mul(a, sum[4])), inverse);

    // With a ridge the system is never singular. Without one, a flat window makes it singular.
    const V least = hn::Max(constant(kFlat), hn::Mul(singular, hn::Add(larger, ridge)));
    const auto solvable = hn::Gt(hn::Add(smaller, ridge), least);
    // These two sums have a factor It and, together, both others.
    const auto finite = hn::IsFinite(hn::Add(sum[3], sum[4]));
    const auto valid = hn::And(finite, hn::And(solvable, hn::Ge(smaller, threshold)));
    store(hn::IfThenElse(valid, u, invalid), row.u + x);
    store(hn::IfThenElse(valid, v, invalid), row.v + x);
    store(hn::IfThenElseZero(finite, smaller), row.confidence + x);
  }
}

// ---- temporal sums of stored frames

HWY_INLINE V load_pixels(const float* from) {
  return load(from);
}
template <typename T>
HWY_INLINE V load_pixels(const T* from) {
  const hn::Rebind<T, D> dt;
  const hn::Rebind<std::int32_t, D> di;
  return hn::ConvertTo(D(), hn::PromoteTo(di, hn::LoadU(dt, from)));
}

/// Computes kSums sums and reads each frame once.
template <int kSums, typename T>
HWY_INLINE void sums_row(const void* const* HWY_RESTRICT frames, int nt,
                         const float* const* HWY_RESTRICT taps, float* const* HWY_RESTRICT out,
                         int width) {
  const int lanes = lane_count();
  for (int x = 0; x < width; x += lanes) {
    V sum[kSums];
    for (int s = 0; s < kSums; ++s) sum[s] = hn::Zero(D());
    for (int tau = 0; tau < nt; ++tau) {
      const V pixel = load_pixels(static_cast<const T*>(frames[tau]) + x);
      for (int s = 0; s < kSums; ++s) sum[s] = hn::MulAdd(constant(taps[s][tau]), pixel, sum[s]);
    }
    for (int s = 0; s < kSums; ++s) store(sum[s], out[s] + x);
  }
}

template <typename T>
HWY_INLINE void sums_rows(const void* const* frames, int nt, const float* const* taps, int sums,
                          float* const* out, int width) {
  int s = 0;
  for (; s + 4 <= sums; s += 4) sums_row<4, T>(frames, nt, taps + s, out + s, width);
  for (; s + 2 <= sums; s += 2) sums_row<2, T>(frames, nt, taps + s, out + s, width);
  for (; s < sums; ++s) sums_row<1, T>(frames, nt, taps + s, out + s, width);
}

void temporal_sums_row(const void* const* frames, PixelFormat format, int nt,
                       const float* const* taps, int sums, float* const* out, int width) {
  switch (format) {
    case PixelFormat::kGray8:
      return sums_rows<std::uint8_t>(frames, nt, taps, sums, out, width);
    case PixelFormat::kGray16:
      return sums_rows<std::uint16_t>(frames, nt, taps, sums, out, width);
    default:  // kFloat32; no color comes here
      return sums_rows<float>(frames, nt, taps, sums, out, width);
  }
}

// ---- the pyramid

void subtract_row(const float* a, const float* b, float* out, int width) {
  map_row(
      width, out, [](V p, V q) HWY_ATTR { return hn::Sub(p, q); }, a, b);
}

void square_row(const float* in, float* out, int width) {
  map_row(
      width, out, [](V p) HWY_ATTR { return hn::Mul(p, p); }, in);
}

void normalize_row(const float* highpass, const float* variance, float* out, int width) {
  const V least = constant(kContrastFloor * kContrastFloor);
  const V scale = constant(kContrastScale);
  map_row(
      width, out,
      [=](V h, V s) HWY_ATTR { return hn::Div(hn::Mul(scale, h), hn::Sqrt(hn::Add(s, least))); },
      highpass, variance);
}

void mean_row(const float* a, const float* b, float* out, int width) {
  const V half = constant(0.5f);
  map_row(
      width, out, [=](V p, V q) HWY_ATTR { return hn::Mul(half, hn::Add(p, q)); }, a, b);
}

void split_row(const float* HWY_RESTRICT in, float* HWY_RESTRICT even, float* HWY_RESTRICT odd,
               int width) {
  const int lanes = lane_count();
  for (int k = 0; 2 * k < width; k += lanes) {
    V a;
    V b;
    hn::LoadInterleaved2(D(), in + 2 * k, a, b);
    store(a, even + k);
    store(b, odd + k);
  }
}

void weighted_products_row(const ResidualRow& row, float* const* HWY_RESTRICT out, int width) {
  const int lanes = lane_count();
  const V right = constant(static_cast<float>(row.image_width - 1));
  const V bottom = constant(static_cast<float>(row.image_height - 1));
  const V y = constant(static_cast<float>(row.y));
  const V here_y = hn::Min(y, hn::Sub(bottom, y));
  const V inverse_border = constant(1.0f / kBorderRamp);
  const V least = constant(kLeastRamp);
  for (int i = 0; i < width; i += lanes) {
    // Distance of the pixel and of its warped position from the nearest edge; negative outside the
    // image.
    const V x = hn::Iota(D(), static_cast<float>(row.x + i));
    const V there_x = hn::Add(load(row.flow[0] + i), x);
    const V there_y = hn::Add(load(row.flow[1] + i), y);
    const V here = hn::Min(hn::Min(x, hn::Sub(right, x)), here_y);
    const V there = hn::Min(hn::Min(there_x, hn::Sub(right, there_x)),
                            hn::Min(there_y, hn::Sub(bottom, there_y)));
    const V distance = hn::Add(hn::Min(here, there), constant(0.5f));
    const V ramp = hn::Min(constant(1.0f), hn::Max(least, hn::Mul(distance, inverse_border)));
    const V weight = hn::Mul(ramp, ramp);
    const V residual = hn::Sub(load(row.warped + i), load(row.reference + i));
    const V ix = derivative_x(row.mean.data(), i);
    const V iy = derivative_y(row.mean.data(), i);
    const V wx = hn::Mul(weight, ix);
    const V wy = hn::Mul(weight, iy);
    store(hn::Mul(wx, ix), out[0] + i);
    store(hn::Mul(wx, iy), out[1] + i);
    store(hn::Mul(wy, iy), out[2] + i);
    store(hn::Mul(wx, residual), out[3] + i);
    store(hn::Mul(wy, residual), out[4] + i);
  }
}

void add_increment_row(const float* increment, const float* flow, float* out, int width) {
  const V one = constant(1.0f);
  const V minus = constant(-1.0f);
  map_row(
      width, out, [=](V p, V q) HWY_ATTR { return hn::Add(q, hn::Min(one, hn::Max(minus, p))); },
      increment, flow);
}

// ---- the standard deviation of the flow

HWY_INLINE V known(V value) {
  return hn::IfThenZeroElse(hn::IsNaN(value), value);
}

void gradient_row(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT ix,
                  float* HWY_RESTRICT iy, int width) {
  const int lanes = lane_count();
  for (int x = 0; x < width; x += lanes) {
    store(derivative_x(rows, x), ix + x);
    store(derivative_y(rows, x), iy + x);
  }
}

void deviation_terms_row(const DeviationSamples& of, float gradient_floor,
                         float* const* HWY_RESTRICT out, int samples) {
  const int lanes = lane_count();
  const V floor2 = constant(gradient_floor * gradient_floor);
  const V one = constant(1.0f);
  const V quarter = constant(0.25f);
  for (int x = 0; x < samples; x += lanes) {
    const V gx = load(of.image[0] + x);
    const V gy = load(of.image[1] + x);
    const V r = load(of.image[2] + x);
    const V xx = hn::Mul(gx, gx);
    const V yy = hn::Mul(gy, gy);
    const V squares = hn::Add(hn::Add(xx, yy), floor2);
    const V q = hn::Div(one, squares);
    const V rr = hn::Mul(r, r);
    store(hn::Mul(q, xx), out[0] + x);
    store(hn::Mul(q, hn::Mul(gx, gy)), out[1] + x);
    store(hn::Mul(q, yy), out[2] + x);
    store(hn::Div(rr, hn::MulAdd(constant(kResidualShare), rr, squares)), out[3] + x);
    V sum = hn::Zero(D());
    for (const auto& [left, right, above, below] : of.flow) {
      const V across = hn::Sub(known(load(right + x)), known(load(left + x)));
      const V down = hn::Sub(known(load(below + x)), known(load(above + x)));
      sum = hn::MulAdd(across, across, hn::MulAdd(down, down, sum));
    }
    store(hn::Mul(quarter, sum), out[4] + x);
  }
}

void texture_row(const float* const* HWY_RESTRICT rows, float* HWY_RESTRICT out, int width) {
  const int lanes = lane_count();
  for (int x = 0; x < width; x += lanes) {
    V sum = hn::Zero(D());
    const auto add = [&](const float* p, const float* q) HWY_ATTR {
      const V difference = hn::Sub(load(p), load(q));
      sum = hn::MulAdd(difference, difference, sum);
    };
    for (int k = 0; k < 3; ++k) {
      add(rows[k] + x, rows[k] + x - 1);
      add(rows[k] + x + 1, rows[k] + x);
      add(rows[1] + x + k - 1, rows[0] + x + k - 1);
      add(rows[2] + x + k - 1, rows[1] + x + k - 1);
    }
    store(sum, out + x);
  }
}

void deviation_variance_row(const float* const* HWY_RESTRICT means, const DeviationModel& model,
                            float* HWY_RESTRICT out, int samples) {
  const int lanes = lane_count();
  const V zero = hn::Zero(D());
  const V one = constant(1.0f);
  const V none = constant(kNoDeviation);
  const V least = constant(model.least * model.least);
  const V noise = constant(model.noise);
  const V bend = constant(model.bend);
  const V rounding = constant(model.rounding / (model.gradient_floor * model.gradient_floor));
  const V gradient_rounding =
      constant(model.gradient_rounding / (model.gradient_floor * model.gradient_floor));
  const V singular = constant(kSingularDeterminant);
  for (int x = 0; x < samples; x += lanes) {
    const V xx = load(means[0] + x);
    const V b = load(means[1] + x);
    const V yy = load(means[2] + x);
    const V flat = hn::Sub(hn::Sub(one, xx), yy);
    const V residual = hn::Max(load(means[3] + x), hn::Mul(rounding, flat));
    const V a = hn::NegMulAdd(gradient_rounding, flat, xx);
    const V c = hn::NegMulAdd(gradient_rounding, flat, yy);
    const V trace = hn::Add(a, c);
    const V determinant = hn::NegMulAdd(b, b, hn::Mul(a, c));
    const auto definite =
        hn::And(hn::Gt(trace, zero), hn::Gt(determinant, hn::Mul(singular, hn::Mul(trace, trace))));
    // The trace of the inverse of a symmetric matrix is trace / determinant.
    const V covariance = hn::Div(hn::Mul(hn::Mul(noise, residual), trace), determinant);
    const V variance = hn::MulAdd(bend, load(means[4] + x), hn::Add(least, covariance));
    store(hn::IfThenElse(definite, variance, none), out + x);
  }
}

void deviation_row(const float* HWY_RESTRICT variance, const float* HWY_RESTRICT texture,
                   const DeviationModel& model, float* HWY_RESTRICT out, int width) {
  const int lanes = lane_count();
  for (int k = 0; 2 * k < width; k += lanes) {
    const V both = load(variance + k);
    hn::StoreInterleaved2(both, both, D(), out + 2 * k);
  }
  const V zero = hn::Zero(D());
  const V pixel_rounding = constant(model.pixel_rounding);
  const V texture_noise = constant(model.texture_noise);
  map_row(
      width, out,
      [=](V of_sample, V own) HWY_ATTR {
        const V rest = hn::Div(pixel_rounding, hn::Max(hn::Sub(own, texture_noise), zero));
        return hn::Sqrt(hn::Add(of_sample, rest));
      },
      out, texture);
}

const FlowRows& table() {
  static constexpr FlowRows kRows = {
      .derivative_products_row = derivative_products_row,
      .lucas_kanade_solve_row = lucas_kanade_solve_row,
      .temporal_sums_row = temporal_sums_row,
      .subtract_row = subtract_row,
      .square_row = square_row,
      .normalize_row = normalize_row,
      .mean_row = mean_row,
      .split_row = split_row,
      .weighted_products_row = weighted_products_row,
      .add_increment_row = add_increment_row,
      .gradient_row = gradient_row,
      .deviation_terms_row = deviation_terms_row,
      .texture_row = texture_row,
      .deviation_variance_row = deviation_variance_row,
      .deviation_row = deviation_row,
  };
  return kRows;
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(table);

const FlowRows& flow_rows() noexcept {
  return HWY_DYNAMIC_DISPATCH(table)();
}

}  // namespace ocellus::detail
#endif
