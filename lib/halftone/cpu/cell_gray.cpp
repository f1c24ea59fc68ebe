// Row functions that convert gray values to u, and outputs to gray values.
#include "halftone/cpu/cell_rows.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/cpu/cell_gray.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

void table_row(const void* in, PixelFormat format, const std::int16_t* HWY_RESTRICT table,
               std::int16_t* HWY_RESTRICT out, int width) {
  if (format == PixelFormat::kGray8) {
    const auto* gray = static_cast<const std::uint8_t*>(in);
    for (int x = 0; x < width; ++x) out[x] = table[gray[x]];
  } else {
    const auto* gray = static_cast<const std::uint16_t*>(in);
    for (int x = 0; x < width; ++x) out[x] = table[gray[x]];
  }
}

bool gray_row(const float* HWY_RESTRICT in, std::uint16_t* HWY_RESTRICT out, int width) {
  bool finite = true;
  for (int x = 0; x < width; ++x) {
    finite &= std::isfinite(in[x]);
    const float held = in[x] > 0.0f ? (in[x] < 255.0f ? in[x] : 255.0f) : 0.0f;
    out[x] = static_cast<std::uint16_t>(std::nearbyint(held * 257.0f));
  }
  return finite;
}

template <typename T>
HWY_INLINE void write_levels(const std::uint8_t* HWY_RESTRICT k, int levels,
                             const T* HWY_RESTRICT table, T* HWY_RESTRICT out, int width) {
  if (levels == 2) {
    const T none = table[0];
    const T one = table[1];
    for (int x = 0; x < width; ++x) out[x] = k[x] != 0 ? one : none;
  } else {
    for (int x = 0; x < width; ++x) out[x] = table[k[x]];
  }
}

void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) {
  switch (format) {
    case PixelFormat::kGray8:
      write_levels(k, levels, static_cast<const std::uint8_t*>(table),
                   static_cast<std::uint8_t*>(out), width);
      break;
    case PixelFormat::kGray16:
      write_levels(k, levels, static_cast<const std::uint16_t*>(table),
                   static_cast<std::uint16_t*>(out), width);
      break;
    default:  // kFloat32; no color comes here
      write_levels(k, levels, static_cast<const float*>(table), static_cast<float*>(out), width);
      break;
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(table_row);
HWY_EXPORT(gray_row);
HWY_EXPORT(write_row);

void table_row(const void* in, PixelFormat format, const std::int16_t* table, std::int16_t* out,
               int width) noexcept {
  HWY_DYNAMIC_DISPATCH(table_row)(in, format, table, out, width);
}
bool gray_row(const float* in, std::uint16_t* out, int width) noexcept {
  return HWY_DYNAMIC_DISPATCH(gray_row)(in, out, width);
}
void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_row)(k, levels, table, format, out, width);
}

}  // namespace ocellus::detail
#endif
