#include "restoration/cpu/pixels.h"

#include <cstdint>

#include "restoration/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "restoration/cpu/pixels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

// Plain loops, because the compiler vectorizes them for each target.

template <typename Pixel>
HWY_INLINE void write_row(const float* HWY_RESTRICT gray, Pixel* HWY_RESTRICT out, int width) {
  for (int x = 0; x < width; ++x) out[x] = pixel_of<Pixel>(gray[x]);
}

template <typename Pixel>
HWY_INLINE void write_sums(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                           const float* HWY_RESTRICT c, const float* HWY_RESTRICT d,
                           Pixel* HWY_RESTRICT out, int width) {
  for (int x = 0; x < width; ++x) out[x] = pixel_of<Pixel>((a[x] + b[x]) + (c[x] + d[x]));
}

void write_pixels(const float* gray, PixelFormat format, void* out, int width) {
  switch (format) {
    case PixelFormat::kGray8:
      return write_row(gray, static_cast<std::uint8_t*>(out), width);
    case PixelFormat::kGray16:
      return write_row(gray, static_cast<std::uint16_t*>(out), width);
    default:  // kFloat32; no color comes here
      return write_row(gray, static_cast<float*>(out), width);
  }
}

void write_pixel_sums(const float* a, const float* b, const float* c, const float* d,
                      PixelFormat format, void* out, int width) {
  switch (format) {
    case PixelFormat::kGray8:
      return write_sums(a, b, c, d, static_cast<std::uint8_t*>(out), width);
    case PixelFormat::kGray16:
      return write_sums(a, b, c, d, static_cast<std::uint16_t*>(out), width);
    default:  // kFloat32; no color comes here
      return write_sums(a, b, c, d, static_cast<float*>(out), width);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(write_pixels);
HWY_EXPORT(write_pixel_sums);

void write_pixels(const float* gray, PixelFormat format, void* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_pixels)(gray, format, out, width);
}

void write_pixel_sums(const float* const (&rows)[4], PixelFormat format, void* out,
                      int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_pixel_sums)(rows[0], rows[1], rows[2], rows[3], format, out, width);
}

}  // namespace ocellus::detail
#endif
