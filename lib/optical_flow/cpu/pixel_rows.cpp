#include "optical_flow/cpu/pixel_rows.h"

#include <cstdint>

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/pixel_rows.cpp"
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

/// kSums sums that read each frame once.
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
    case PixelFormat::kFloat32:
      return sums_rows<float>(frames, nt, taps, sums, out, width);
  }
}

// Plain loops: the compiler vectorises them for each target, and they need no slack in the caller's
// frame.

template <typename T>
HWY_INLINE void scale_row(const T* HWY_RESTRICT in, float scale, float* HWY_RESTRICT out,
                          int width) {
  for (int x = 0; x < width; ++x) out[x] = static_cast<float>(in[x]) * scale;
}

/// Multiplying by 0 leaves 0 of a finite number and NaN of NaN and infinity.
HWY_INLINE bool all_finite(const float* HWY_RESTRICT in, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  auto sum = zero;
  int x = 0;
  for (; x + lanes <= width; x += lanes) sum = hn::MulAdd(hn::LoadU(d, in + x), zero, sum);
  float rest = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; x < width; ++x) rest += in[x] * 0.0f;
  return rest == 0.0f;
}

bool convert_row(const void* in, PixelFormat format, float* out, int width) {
  switch (format) {
    case PixelFormat::kGray8:
      scale_row(static_cast<const std::uint8_t*>(in), 1.0f, out, width);
      return true;
    case PixelFormat::kGray16:
      scale_row(static_cast<const std::uint16_t*>(in), grey_scale(format), out, width);
      return true;
    case PixelFormat::kFloat32:
      break;
  }
  scale_row(static_cast<const float*>(in), 1.0f, out, width);
  return all_finite(out, width);
}

bool row_is_finite(const float* in, int width) {
  return all_finite(in, width);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>

namespace ocellus::detail {

HWY_EXPORT(convert_row);
HWY_EXPORT(row_is_finite);
HWY_EXPORT(temporal_sums_row);

bool convert_row(const void* in, PixelFormat format, float* out, int width) noexcept {
  return HWY_DYNAMIC_DISPATCH(convert_row)(in, format, out, width);
}

bool copy_row(const void* in, PixelFormat format, void* out, int width) noexcept {
  std::memcpy(out, in,
              static_cast<std::size_t>(width) * static_cast<std::size_t>(bytes_per_pixel(format)));
  return format != PixelFormat::kFloat32 ||
         HWY_DYNAMIC_DISPATCH(row_is_finite)(static_cast<const float*>(out), width);
}

void temporal_sums_row(const void* const* frames, PixelFormat format, int nt,
                       const float* const* taps, int sums, float* const* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(temporal_sums_row)(frames, format, nt, taps, sums, out, width);
}

}  // namespace ocellus::detail
#endif
