#include "image/warp.h"

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/warp.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

/// Clamps a position to [0, high]; NaN becomes 0.
HWY_INLINE V hold(V position, V high) {
  const D d;
  const V positive = hn::IfThenElseZero(hn::Ge(position, hn::Zero(d)), position);
  return hn::Min(positive, high);
}

/// Catmull-Rom weights of the samples at -1, 0, 1 and 2 for a position t in [0, 1).
struct CubicWeights {
  V w0, w1, w2, w3;

  HWY_INLINE explicit CubicWeights(V t) {
    const D d;
    const V half = hn::Set(d, 0.5f);
    const V t2 = hn::Mul(t, t);
    const V t3 = hn::Mul(t2, t);
    w0 = hn::NegMulAdd(half, hn::Add(t3, t), t2);
    w1 = hn::Add(hn::MulSub(hn::Set(d, 1.5f), t3, hn::Mul(hn::Set(d, 2.5f), t2)), hn::Set(d, 1.0f));
    w2 = hn::MulAdd(hn::Set(d, -1.5f), t3, hn::MulAdd(half, t, hn::Mul(hn::Set(d, 2.0f), t2)));
    w3 = hn::Mul(half, hn::Sub(t3, t2));
  }
};

template <bool kCubic>
HWY_INLINE void warp(const WarpSource& source, int x, int y, const float* HWY_RESTRICT u,
                     const float* HWY_RESTRICT v, float* HWY_RESTRICT out, int width) {
  const D d;
  const DI di;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V right = hn::Set(d, static_cast<float>(source.width - 1));
  const V bottom = hn::Set(d, static_cast<float>(source.height - 1));
  const V row = hn::Set(d, static_cast<float>(y));
  const VI stride = hn::Set(di, static_cast<int>(source.stride));
  const int line = static_cast<int>(source.stride);
  const float* base = source.pixels;
  for (int i = 0; i < width; i += lanes) {
    const V at_x =
        hold(hn::Add(hn::LoadU(d, u + i), hn::Iota(d, static_cast<float>(x + i))), right);
    const V at_y = hold(hn::Add(hn::LoadU(d, v + i), row), bottom);
    const VI column = hn::ConvertTo(di, at_x);
    const VI line_number = hn::ConvertTo(di, at_y);
    const V tx = hn::Sub(at_x, hn::ConvertTo(d, column));
    const V ty = hn::Sub(at_y, hn::ConvertTo(d, line_number));
    const VI index = hn::Add(hn::Mul(line_number, stride), column);
    // Where all pixels of a vector move alike, their sources are neighbors, too.
    const VI first = hn::Sub(index, hn::Iota(di, 0));
    const bool together = hn::AllTrue(di, hn::Eq(first, hn::Set(di, hn::GetLane(first))));
    const std::ptrdiff_t start = hn::GetLane(index);
    const auto sample = [&](const float* from) HWY_ATTR {
      return together ? hn::LoadU(d, from + start) : hn::GatherIndex(d, from, index);
    };
    if constexpr (kCubic) {
      const CubicWeights wx(tx);
      const CubicWeights wy(ty);
      const auto across = [&](const float* from) HWY_ATTR {
        V sum = hn::Mul(wx.w0, sample(from - 1));
        sum = hn::MulAdd(wx.w1, sample(from), sum);
        sum = hn::MulAdd(wx.w2, sample(from + 1), sum);
        return hn::MulAdd(wx.w3, sample(from + 2), sum);
      };
      V sum = hn::Mul(wy.w0, across(base - line));
      sum = hn::MulAdd(wy.w1, across(base), sum);
      sum = hn::MulAdd(wy.w2, across(base + line), sum);
      sum = hn::MulAdd(wy.w3, across(base + 2 * line), sum);
      hn::StoreU(sum, d, out + i);
    } else {
      const auto across = [&](const float* from) HWY_ATTR {
        const V left = sample(from);
        return hn::MulAdd(tx, hn::Sub(sample(from + 1), left), left);
      };
      const V upper = across(base);
      hn::StoreU(hn::MulAdd(ty, hn::Sub(across(base + line), upper), upper), d, out + i);
    }
  }
}

void warp_row_cubic(const WarpSource& source, int x, int y, const float* u, const float* v,
                    float* out, int width) {
  warp<true>(source, x, y, u, v, out, width);
}
void warp_row_linear(const WarpSource& source, int x, int y, const float* u, const float* v,
                     float* out, int width) {
  warp<false>(source, x, y, u, v, out, width);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(warp_row_cubic);
HWY_EXPORT(warp_row_linear);

void warp_row(const WarpSource& source, int x, int y, const float* u, const float* v, bool cubic,
              float* out, int width) noexcept {
  if (cubic) {
    HWY_DYNAMIC_DISPATCH(warp_row_cubic)(source, x, y, u, v, out, width);
  } else {
    HWY_DYNAMIC_DISPATCH(warp_row_linear)(source, x, y, u, v, out, width);
  }
}

}  // namespace ocellus::detail
#endif
