#include "image/pixel_rows.h"

#include <cstdint>
#include <cstring>

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/pixel_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;

// Plain loops, because the compiler vectorizes them for each target and they do not read beyond the
// caller's frame.

template <typename T>
HWY_INLINE void scale_row(const T* HWY_RESTRICT in, float scale, float* HWY_RESTRICT out,
                          int width) {
  for (int x = 0; x < width; ++x) out[x] = static_cast<float>(in[x]) * scale;
}

/// Multiplying by 0 gives 0 for a finite number and NaN for NaN and infinity.
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
      scale_row(static_cast<const std::uint16_t*>(in), gray_scale(format), out, width);
      return true;
    default:  // kFloat32; no color comes here
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
namespace ocellus::detail {

HWY_EXPORT(convert_row);
HWY_EXPORT(row_is_finite);

bool convert_row(const void* in, PixelFormat format, float* out, int width) noexcept {
  return HWY_DYNAMIC_DISPATCH(convert_row)(in, format, out, width);
}

bool copy_row(const void* in, PixelFormat format, void* out, int width) noexcept {
  std::memcpy(out, in,
              static_cast<std::size_t>(width) * static_cast<std::size_t>(bytes_per_pixel(format)));
  return format != PixelFormat::kFloat32 ||
         HWY_DYNAMIC_DISPATCH(row_is_finite)(static_cast<const float*>(out), width);
}

}  // namespace ocellus::detail
#endif
