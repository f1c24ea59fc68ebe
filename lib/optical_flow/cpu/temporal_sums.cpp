#include "optical_flow/cpu/temporal_sums.h"

#include <cstdint>

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/temporal_sums.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using V = hn::Vec<D>;

HWY_INLINE V load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <typename T>
HWY_INLINE V load(D d, const T* from) {
  const hn::Rebind<T, D> dt;
  const hn::Rebind<std::int32_t, D> di;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(dt, from)));
}

/// Computes kSums sums and reads each frame once.
template <int kSums, typename T>
HWY_INLINE void sums_row(const void* const* HWY_RESTRICT frames, int nt,
                         const float* const* HWY_RESTRICT taps, float* const* HWY_RESTRICT out,
                         int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    V sum[kSums];
    for (int s = 0; s < kSums; ++s) sum[s] = hn::Zero(d);
    for (int tau = 0; tau < nt; ++tau) {
      const V pixel = load(d, static_cast<const T*>(frames[tau]) + x);
      for (int s = 0; s < kSums; ++s) sum[s] = hn::MulAdd(hn::Set(d, taps[s][tau]), pixel, sum[s]);
    }
    for (int s = 0; s < kSums; ++s) hn::StoreU(sum[s], d, out[s] + x);
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

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(temporal_sums_row);

void temporal_sums_row(const void* const* frames, PixelFormat format, int nt,
                       const float* const* taps, int sums, float* const* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(temporal_sums_row)(frames, format, nt, taps, sums, out, width);
}

}  // namespace ocellus::detail
#endif
