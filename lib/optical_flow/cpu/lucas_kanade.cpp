#include "optical_flow/cpu/lucas_kanade.h"

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/lucas_kanade.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

void derivative_products_row(const float* HWY_RESTRICT ix, const float* HWY_RESTRICT iy,
                             const float* HWY_RESTRICT it, float* const* HWY_RESTRICT out,
                             int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    const V dx = hn::LoadU(d, ix + x);
    const V dy = hn::LoadU(d, iy + x);
    const V dt = hn::LoadU(d, it + x);
    hn::StoreU(hn::Mul(dx, dx), d, out[0] + x);
    hn::StoreU(hn::Mul(dx, dy), d, out[1] + x);
    hn::StoreU(hn::Mul(dy, dy), d, out[2] + x);
    hn::StoreU(hn::Mul(dx, dt), d, out[3] + x);
    hn::StoreU(hn::Mul(dy, dt), d, out[4] + x);
  }
}

void lucas_kanade_solve_row(const SolveRow& row) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V ridge = hn::Set(d, row.ridge);
  const V half = hn::Set(d, 0.5f);
  const V threshold = hn::Set(d, row.threshold);
  const V invalid = hn::Set(d, row.invalid);
  const V singular = hn::Set(d, kSingularRatio);
  for (int x = 0; x < row.width; x += lanes) {
    V sum[kProducts];
    for (int p = 0; p < kProducts; ++p)
      sum[p] = hn::Mul(hn::Set(d, row.weight[0]), hn::LoadU(d, row.rows[p][0] + x));
    for (int k = 1; k <= row.radius; ++k) {
      const V weight = hn::Set(d, row.weight[k]);
      for (int p = 0; p < kProducts; ++p) {
        const V pair =
            hn::Add(hn::LoadU(d, row.rows[p][2 * k - 1] + x), hn::LoadU(d, row.rows[p][2 * k] + x));
        sum[p] = hn::MulAdd(weight, pair, sum[p]);
      }
    }
    // Eigenvalues of the structure tensor: mean -/+ spread.
    const V mean = hn::Mul(half, hn::Add(sum[0], sum[2]));
    const V difference = hn::Mul(half, hn::Sub(sum[0], sum[2]));
    const V spread = hn::Sqrt(hn::MulAdd(difference, difference, hn::Mul(sum[1], sum[1])));
    const V smaller = hn::Max(hn::Sub(mean, spread), hn::Zero(d));
    const V larger = hn::Add(mean, spread);

    const V a = hn::Add(sum[0], ridge);
    const V c = hn::Add(sum[2], ridge);
    const V determinant = hn::NegMulAdd(sum[1], sum[1], hn::Mul(a, c));
    const V inverse = hn::Div(hn::Set(d, 1.0f), determinant);
    // The minus sign of equation (3) is in the order of the differences.
    const V u = hn::Mul(hn::MulSub(sum[1], sum[4], hn::Mul(c, sum[3])), inverse);
    const V v = hn::Mul(hn::MulSub(sum[1], sum[3], hn::Mul(a, sum[4])), inverse);

    // With a ridge the system is never singular. Without one, a flat window makes it singular.
    const V least = hn::Max(hn::Set(d, kFlat), hn::Mul(singular, hn::Add(larger, ridge)));
    const auto solvable = hn::Gt(hn::Add(smaller, ridge), least);
    // These two sums have a factor It and, together, both others.
    const auto finite = hn::IsFinite(hn::Add(sum[3], sum[4]));
    const auto valid = hn::And(finite, hn::And(solvable, hn::Ge(smaller, threshold)));
    hn::StoreU(hn::IfThenElse(valid, u, invalid), d, row.u + x);
    hn::StoreU(hn::IfThenElse(valid, v, invalid), d, row.v + x);
    hn::StoreU(hn::IfThenElseZero(finite, smaller), d, row.confidence + x);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(derivative_products_row);
HWY_EXPORT(lucas_kanade_solve_row);

void derivative_products_row(const float* ix, const float* iy, const float* it, float* const* out,
                             int width) noexcept {
  HWY_DYNAMIC_DISPATCH(derivative_products_row)(ix, iy, it, out, width);
}

void lucas_kanade_solve_row(const SolveRow& row) noexcept {
  HWY_DYNAMIC_DISPATCH(lucas_kanade_solve_row)(row);
}

}  // namespace ocellus::detail
#endif
