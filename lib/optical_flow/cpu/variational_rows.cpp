#include "optical_flow/cpu/variational_rows.h"

#include <cstring>

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/variational_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

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

// The estimates of AVX-512 have 14 bits, those of other x86 targets 12, and those of NEON 8. A step
// of Newton doubles them. The determinant of the system needs all bits of a float: where the image
// has little texture, a relative error of 1e-5 changes the flow by percents.
constexpr int kInverseSteps = HWY_ARCH_X86 ? 1 : 2;

HWY_INLINE V inverse(V value) {
  V estimate = hn::ApproximateReciprocal(value);
  for (int step = 0; step < kInverseSteps; ++step)
    estimate = hn::Mul(estimate, hn::NegMulAdd(value, estimate, constant(2.0f)));
  return estimate;
}
// For weights, for which the estimates of AVX-512 are enough.
constexpr bool kGoodEstimates = HWY_TARGET <= HWY_AVX3;

HWY_INLINE V weight_inverse(V value) {
  if constexpr (kGoodEstimates) return hn::ApproximateReciprocal(value);
  return inverse(value);
}
HWY_INLINE V inverse_root(V value) {
  const V estimate = hn::ApproximateReciprocalSqrt(value);
  const V half = hn::Mul(constant(0.5f), hn::Mul(value, estimate));
  return hn::Mul(estimate, hn::NegMulAdd(half, estimate, constant(1.5f)));
}
HWY_INLINE V weight_inverse_root(V value) {
  if constexpr (kGoodEstimates) return hn::ApproximateReciprocalSqrt(value);
  return inverse_root(value);
}

void warp_difference_row(const float* HWY_RESTRICT warped, const float* HWY_RESTRICT reference,
                         float* HWY_RESTRICT residual, float* HWY_RESTRICT mean, int width) {
  const int lanes = lane_count();
  const V half = constant(0.5f);
  for (int x = 0; x < width; x += lanes) {
    const V w = load(warped + x);
    const V a = load(reference + x);
    store(hn::Sub(w, a), residual + x);
    store(hn::Mul(half, hn::Add(w, a)), mean + x);
  }
}

// ---- the smoothness term

/// The weight across one side of a pixel, from the differences of image and flow across it and of
/// the flow along it.
HWY_INLINE V smoothness(V image, V u, V v, V along_u, V along_v, V least, V edge) {
  const V color =
      hn::MulAdd(square(image), constant(1.0f / (kEdgeScale * kEdgeScale)), constant(1.0f));
  const V across = hn::MulAdd(u, u, square(v));
  const V along = hn::MulAdd(along_u, along_u, square(along_v));
  const V s = hn::MulAdd(constant(kCrossShare), along, hn::Add(across, constant(kSmoothnessWidth)));
  return hn::Mul(hn::MulAdd(edge, inverse(color), least), inverse_root(s));
}

void smoothness_row(const SmoothnessRow& row, int width) {
  const int lanes = lane_count();
  const V quarter = constant(0.25f);
  const V least = constant(row.weight * kEdgeShare);
  const V edge = constant(row.weight * (1.0f - kEdgeShare));
  for (int x = 0; x < width; x += lanes) {
    const V image = load(row.guide[0] + x);
    const V right_image = hn::Sub(load(row.guide[0] + x + 1), image);
    const V down_image = hn::Sub(load(row.guide[1] + x), image);
    V across_right[2];
    V across_down[2];
    V along_right[2];
    V along_down[2];
    for (int c = 0; c < 2; ++c) {
      const float* const above = (c == 0 ? row.u : row.v)[0] + x;
      const float* const here = (c == 0 ? row.u : row.v)[1] + x;
      const float* const below = (c == 0 ? row.u : row.v)[2] + x;
      const V center = load(here);
      const V right = load(here + 1);
      const V down = load(below);
      const V diagonal = load(below + 1);
      across_right[c] = hn::Sub(right, center);
      across_down[c] = hn::Sub(down, center);
      along_right[c] =
          hn::Mul(quarter, hn::Sub(hn::Add(down, diagonal), hn::Add(load(above), load(above + 1))));
      along_down[c] = hn::Mul(
          quarter, hn::Sub(hn::Add(right, diagonal), hn::Add(load(here - 1), load(below - 1))));
    }
    store(smoothness(right_image, across_right[0], across_right[1], along_right[0], along_right[1],
                     least, edge),
          row.right + x);
    store(smoothness(down_image, across_down[0], across_down[1], along_down[0], along_down[1],
                     least, edge),
          row.down + x);
  }
}

// ---- the data term and the system

/// (1 -8 0 8 -1) / 12
HWY_INLINE V derivative(const float* before2, const float* before, const float* after,
                        const float* after2) {
  return hn::NegMulAdd(constant(1.0f / 12.0f), hn::Sub(load(after2), load(before2)),
                       hn::Mul(constant(8.0f / 12.0f), hn::Sub(load(after), load(before))));
}
HWY_INLINE V derivative_x(const float* const* rows, int x) {
  const float* const at = rows[2] + x;
  return derivative(at - 2, at - 1, at + 1, at + 2);
}
HWY_INLINE V derivative_y(const float* const* rows, int x) {
  return derivative(rows[0] + x, rows[1] + x, rows[3] + x, rows[4] + x);
}

/// The normal equations of the data term.
struct DataTerm {
  V xx, xy, yy, xt, yt;

  /// Adds the constancy of one derivative, whose own derivatives are p and q and whose difference
  /// is t. The weight is the normalization and that of the penalty in one.
  HWY_INLINE void add(V p, V q, V t) {
    const V n = hn::MulAdd(p, p, hn::MulAdd(q, q, constant(kDataFloor)));
    const V weight = inverse_root(hn::Mul(n, hn::MulAdd(t, t, hn::Mul(constant(kDataWidth), n))));
    const V wp = hn::Mul(weight, p);
    const V wq = hn::Mul(weight, q);
    xx = hn::MulAdd(wp, p, xx);
    xy = hn::MulAdd(wp, q, xy);
    yy = hn::MulAdd(wq, q, yy);
    xt = hn::MulAdd(wp, t, xt);
    yt = hn::MulAdd(wq, t, yt);
  }
  HWY_INLINE void scale(V by) {
    for (V* const value : {&xx, &xy, &yy, &xt, &yt}) *value = hn::Mul(*value, by);
  }
};

void system_row(const SystemRow& row, int width) {
  const D d;
  const int lanes = lane_count();
  const V one = constant(1.0f);
  const V half = constant(0.5f);
  const V least = constant(kLeastDiagonal);
  const V right_end = constant(static_cast<float>(row.image_width - 1));
  const V bottom_end = constant(static_cast<float>(row.image_height - 1));
  const V image_y = constant(static_cast<float>(row.y));
  for (int x = 0; x < width; x += lanes) {
    const V gxy = derivative_y(row.ix, x);
    const V zero = hn::Zero(d);
    DataTerm data{zero, zero, zero, zero, zero};
    data.add(derivative_x(row.ix, x), gxy, derivative_x(row.residual, x));
    data.add(gxy, derivative_y(row.iy, x), derivative_y(row.residual, x));

    const V u = load(row.u + x);
    const V v = load(row.v + x);
    // Distance of the warped position from the nearest edge; negative outside the image.
    const V there_x = hn::Add(hn::Iota(d, static_cast<float>(row.x + x)), u);
    const V there_y = hn::Add(image_y, v);
    const V distance = hn::Min(hn::Min(there_x, hn::Sub(right_end, there_x)),
                               hn::Min(there_y, hn::Sub(bottom_end, there_y)));
    data.scale(hn::Min(one, hn::Max(constant(kLeastDataRamp), hn::Add(distance, half))));

    const V sum = hn::Add(hn::Add(load(row.right + x), load(row.right + x - 1)),
                          hn::Add(hn::Add(load(row.down + x), load(row.up + x)), least));
    const V p = hn::Add(data.xx, sum);
    const V q = hn::Add(data.yy, sum);
    const V determinant = inverse(hn::NegMulAdd(data.xy, data.xy, hn::Mul(p, q)));
    store(hn::Mul(q, determinant), row.inverse[0] + x);
    store(hn::Neg(hn::Mul(data.xy, determinant)), row.inverse[1] + x);
    store(hn::Mul(p, determinant), row.inverse[2] + x);
    store(hn::MulAdd(hn::Add(data.xx, least), u, hn::MulSub(data.xy, v, data.xt)),
          row.constant[0] + x);
    store(hn::MulAdd(hn::Add(data.yy, least), v, hn::MulSub(data.xy, u, data.yt)),
          row.constant[1] + x);
    if (row.confidence != nullptr) {
      const V mean = hn::Mul(half, hn::Add(data.xx, data.yy));
      const V difference = hn::Mul(half, hn::Sub(data.xx, data.yy));
      const V spread = hn::Sqrt(hn::MulAdd(difference, difference, square(data.xy)));
      store(hn::Max(hn::Sub(mean, spread), zero), row.confidence + x);
    }
  }
  // The pixels after the row are neighbors with the weight 0. Their values must be finite.
  for (float* const out :
       {row.inverse[0], row.inverse[1], row.inverse[2], row.constant[0], row.constant[1]})
    std::memset(out + width, 0, kRowSlack * sizeof(float));
}

// ---- red-black sweeps

void split_colors_row(const float* HWY_RESTRICT in, float* HWY_RESTRICT even,
                      float* HWY_RESTRICT odd, int width) {
  const D d;
  const int lanes = lane_count();
  for (int k = 0; 2 * k < width; k += lanes) {
    V a;
    V b;
    hn::LoadInterleaved2(d, in + 2 * k, a, b);
    store(a, even + k);
    store(b, odd + k);
  }
}

void half_sweep_row(const HalfSweepRow& row, int count) {
  const int lanes = lane_count();
  const V relaxation = constant(kRelaxation);
  for (int k = 0; k < count; k += lanes) {
    const V left = load(row.left + k);
    const V right = load(row.right + k);
    const V up = load(row.up + k);
    const V down = load(row.down + k);
    V a = hn::MulAdd(right, load(row.right_u + k), load(row.constant[0] + k));
    V b = hn::MulAdd(right, load(row.right_v + k), load(row.constant[1] + k));
    a = hn::MulAdd(left, load(row.left_u + k), a);
    b = hn::MulAdd(left, load(row.left_v + k), b);
    a = hn::MulAdd(down, load(row.down_u + k), a);
    b = hn::MulAdd(down, load(row.down_v + k), b);
    a = hn::MulAdd(up, load(row.up_u + k), a);
    b = hn::MulAdd(up, load(row.up_v + k), b);
    const V xy = load(row.inverse[1] + k);
    const V u = load(row.u + k);
    const V v = load(row.v + k);
    const V step_u = hn::Sub(hn::MulAdd(load(row.inverse[0] + k), a, hn::Mul(xy, b)), u);
    const V step_v = hn::Sub(hn::MulAdd(load(row.inverse[2] + k), b, hn::Mul(xy, a)), v);
    store(hn::MulAdd(relaxation, step_u, u), row.u + k);
    store(hn::MulAdd(relaxation, step_v, v), row.v + k);
  }
}

void join_colors_row(const float* HWY_RESTRICT even, const float* HWY_RESTRICT odd,
                     const float* HWY_RESTRICT before, float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = lane_count();
  for (int k = 0; 2 * k < width; k += lanes)
    hn::StoreInterleaved2(load(even + k), load(odd + k), d, out + 2 * k);
  const V step = constant(kLargestStep);
  for (int x = 0; x < width; x += lanes) {
    const V old = load(before + x);
    store(hn::Min(hn::Max(load(out + x), hn::Sub(old, step)), hn::Add(old, step)), out + x);
  }
}

// ---- candidates

void match_row(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT out,
               int width) {
  const int lanes = lane_count();
  const V cap = constant(kCandidateCap);
  for (int x = 0; x < width; x += lanes)
    store(hn::Min(hn::Abs(hn::Sub(load(a + x), load(b + x))), cap), out + x);
}

void candidate_row(const CandidateRow& row, int width) {
  const int lanes = lane_count();
  for (int x = 0; x < width; x += lanes) {
    V best = hn::Zero(D());
    V u = load(row.u[0] + x);
    V v = load(row.v[0] + x);
    for (int c = 0; c < kCandidates; ++c) {
      V match = hn::Zero(D());
      for (const float* const line : row.match[c])
        match = hn::Add(match,
                        hn::Add(hn::Add(load(line + x - 1), load(line + x)), load(line + x + 1)));
      if (c == 0) {
        best = hn::MulSub(constant(kCandidateFactor), match, constant(kCandidateMargin));
        continue;
      }
      const auto better = hn::Lt(match, best);
      best = hn::IfThenElse(better, match, best);
      u = hn::IfThenElse(better, load(row.u[c] + x), u);
      v = hn::IfThenElse(better, load(row.v[c] + x), v);
    }
    store(u, row.out_u + x);
    store(v, row.out_v + x);
  }
}

// ---- the guided median

void trust_row(const float* HWY_RESTRICT u, const float* const* HWY_RESTRICT v,
               const float* HWY_RESTRICT residual, float* HWY_RESTRICT trust,
               float* HWY_RESTRICT confidence, int width) {
  const int lanes = lane_count();
  const V one = constant(1.0f);
  for (int x = 0; x < width; x += lanes) {
    const V twice =
        hn::Add(hn::Sub(load(u + x + 1), load(u + x - 1)), hn::Sub(load(v[1] + x), load(v[0] + x)));
    const V convergence = hn::Mul(hn::Min(twice, hn::Zero(D())), constant(0.5f / kOcclusionScale));
    const V difference = hn::Mul(load(residual + x), constant(1.0f / kResidualScale));
    const V q = inverse(hn::Mul(hn::MulAdd(convergence, convergence, one),
                                hn::MulAdd(difference, difference, one)));
    // Fused, so that the compiler cannot fuse only one of the branches.
    store(hn::MulAdd(q, q, constant(kLeastTrust)), trust + x);
    if (confidence != nullptr) store(hn::Mul(load(confidence + x), square(q)), confidence + x);
  }
}

void guided_median_row(const GuidedMedianRow& row, int width) {
  constexpr int kSide = 5;
  const int lanes = lane_count();
  const V one = constant(1.0f);
  const V contrast = constant(1.0f / (kGuidedContrast * kGuidedContrast));
  const V flow_width = constant(kGuidedWidth);
  for (int x = 0; x < width; x += lanes) {
    V weight[kSide * kSide];
    V sum = constant(1e-20f);
    V u = hn::Zero(D());
    V v = hn::Zero(D());
    const V center = load(row.guide[2] + x);
    for (int j = 0; j < kSide; ++j) {
      for (int i = 0; i < kSide; ++i) {
        const int at = x + (i - 2) * kGuidedStep;
        const V color = hn::Sub(load(row.guide[j] + at), center);
        const V q = weight_inverse(hn::MulAdd(square(color), contrast, one));
        const float distance = guided_share(i - 2) * guided_share(j - 2);
        const V t = hn::Mul(square(q), hn::Mul(constant(distance), load(row.trust[j] + at)));
        weight[j * kSide + i] = t;
        sum = hn::Add(sum, t);
        u = hn::MulAdd(t, load(row.u[j] + at), u);
        v = hn::MulAdd(t, load(row.v[j] + at), v);
      }
    }
    V scale = inverse(sum);
    u = hn::Mul(u, scale);
    v = hn::Mul(v, scale);
    for (int k = 0; k < row.reweightings; ++k) {
      const V mean_u = u;
      const V mean_v = v;
      sum = constant(1e-20f);
      u = hn::Zero(D());
      v = hn::Zero(D());
      for (int j = 0; j < kSide; ++j) {
        for (int i = 0; i < kSide; ++i) {
          const int at = x + (i - 2) * kGuidedStep;
          const V there_u = load(row.u[j] + at);
          const V there_v = load(row.v[j] + at);
          const V far = hn::MulAdd(hn::Sub(there_u, mean_u), hn::Sub(there_u, mean_u),
                                   hn::Add(square(hn::Sub(there_v, mean_v)), flow_width));
          const V t = hn::Mul(weight[j * kSide + i], weight_inverse_root(far));
          sum = hn::Add(sum, t);
          u = hn::MulAdd(t, there_u, u);
          v = hn::MulAdd(t, there_v, v);
        }
      }
      scale = inverse(sum);
      u = hn::Mul(u, scale);
      v = hn::Mul(v, scale);
    }
    store(u, row.out_u + x);
    store(v, row.out_v + x);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(warp_difference_row);
HWY_EXPORT(smoothness_row);
HWY_EXPORT(system_row);
HWY_EXPORT(split_colors_row);
HWY_EXPORT(half_sweep_row);
HWY_EXPORT(join_colors_row);
HWY_EXPORT(match_row);
HWY_EXPORT(candidate_row);
HWY_EXPORT(trust_row);
HWY_EXPORT(guided_median_row);

void warp_difference_row(const float* warped, const float* reference, float* residual, float* mean,
                         int width) noexcept {
  HWY_DYNAMIC_DISPATCH(warp_difference_row)(warped, reference, residual, mean, width);
}
void smoothness_row(const SmoothnessRow& row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(smoothness_row)(row, width);
}
void system_row(const SystemRow& row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(system_row)(row, width);
}
void split_colors_row(const float* in, float* even, float* odd, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(split_colors_row)(in, even, odd, width);
}
void half_sweep_row(const HalfSweepRow& row, int count) noexcept {
  HWY_DYNAMIC_DISPATCH(half_sweep_row)(row, count);
}
void join_colors_row(const float* even, const float* odd, const float* before, float* out,
                     int width) noexcept {
  HWY_DYNAMIC_DISPATCH(join_colors_row)(even, odd, before, out, width);
}
void match_row(const float* a, const float* b, float* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(match_row)(a, b, out, width);
}
void candidate_row(const CandidateRow& row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(candidate_row)(row, width);
}
void trust_row(const float* u, const float* const* v, const float* residual, float* trust,
               float* confidence, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(trust_row)(u, v, residual, trust, confidence, width);
}
void guided_median_row(const GuidedMedianRow& row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(guided_median_row)(row, width);
}

}  // namespace ocellus::detail
#endif
