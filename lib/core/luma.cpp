#include "ocellus/luma.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/luma.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::ScalableTag<std::uint16_t>;
using Bytes = hn::Rebind<std::uint8_t, Words>;

/// The sum of luma_of_rgb: MulHigh of 256 v and w is v w / 256.
template <typename V>
HWY_INLINE V luma_of(V r, V g, V b) {
  const Words d;
  const auto term = [d](V value, std::uint16_t weight) HWY_ATTR {
    return hn::MulHigh(hn::ShiftLeft<8>(value), hn::Set(d, weight));
  };
  const V sum = hn::Add(hn::Add(term(r, 19595), term(g, 38470)),
                        hn::Add(term(b, 7471), hn::Set(d, std::uint16_t{128})));
  return hn::ShiftRight<8>(sum);
}

/// `kBytes` per pixel, of which the first three are color.
template <int kBytes, bool kRedFirst>
HWY_INLINE void luma_of_rgb_row(const std::uint8_t* HWY_RESTRICT row,
                                std::uint8_t* HWY_RESTRICT luma, int width) {
  const Words words;
  const Bytes bytes;
  const int lanes = static_cast<int>(hn::Lanes(words));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    hn::VFromD<Bytes> first;
    hn::VFromD<Bytes> green;
    hn::VFromD<Bytes> third;
    const std::uint8_t* const from = row + std::ptrdiff_t{kBytes} * x;
    if constexpr (kBytes == 3) {
      hn::LoadInterleaved3(bytes, from, first, green, third);
    } else {
      hn::VFromD<Bytes> unused;
      hn::LoadInterleaved4(bytes, from, first, green, third, unused);
    }
    const auto a = hn::PromoteTo(words, first);
    const auto g = hn::PromoteTo(words, green);
    const auto c = hn::PromoteTo(words, third);
    const auto y = kRedFirst ? luma_of(a, g, c) : luma_of(c, g, a);
    // Not all versions of Highway narrow unsigned words. At most 255, they are signed ones, too.
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(hn::RebindToSigned<Words>(), y)), bytes, luma + x);
  }
  for (; x < width; ++x) {
    const std::uint8_t* const from = row + std::ptrdiff_t{kBytes} * x;
    luma[x] = luma_of_rgb(from[kRedFirst ? 0 : 2], from[1], from[kRedFirst ? 2 : 0]);
  }
}

/// `kAt`: the place of Y in its two bytes.
template <int kAt>
HWY_INLINE void luma_of_yuv_row(const std::uint8_t* HWY_RESTRICT row,
                                std::uint8_t* HWY_RESTRICT luma, int width) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    hn::VFromD<decltype(d)> even;
    hn::VFromD<decltype(d)> odd;
    hn::LoadInterleaved2(d, row + std::ptrdiff_t{2} * x, even, odd);
    hn::StoreU(kAt == 0 ? even : odd, d, luma + x);
  }
  for (; x < width; ++x) luma[x] = row[std::ptrdiff_t{2} * x + kAt];
}

void luma_of_row(const void* row, PixelFormat format, std::uint8_t* luma, int width) {
  const auto* const bytes = static_cast<const std::uint8_t*>(row);
  switch (format) {
    case PixelFormat::kYuy2:
      return luma_of_yuv_row<0>(bytes, luma, width);
    case PixelFormat::kUyvy:
      return luma_of_yuv_row<1>(bytes, luma, width);
    case PixelFormat::kBgr:
      return luma_of_rgb_row<3, false>(bytes, luma, width);
    case PixelFormat::kRgb:
      return luma_of_rgb_row<3, true>(bytes, luma, width);
    case PixelFormat::kBgrx:
      return luma_of_rgb_row<4, false>(bytes, luma, width);
    case PixelFormat::kRgbx:
      return luma_of_rgb_row<4, true>(bytes, luma, width);
    case PixelFormat::kGray8:
    case PixelFormat::kGray16:
    case PixelFormat::kFloat32:
      break;
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus {
namespace detail {

HWY_EXPORT(luma_of_row);

namespace {

void dispatch(const void* row, PixelFormat format, std::uint8_t* luma, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(luma_of_row)(row, format, luma, width);
}

/// `at`: the place of Y in its two bytes.
void replace_yuv(const std::uint8_t* row, int at, const std::uint8_t* luma, PictureColor color,
                 std::uint8_t* to, int width) noexcept {
  constexpr std::uint8_t kNeutralChroma = 128;
  for (std::ptrdiff_t x = 0; x < width + width % 2; ++x) {
    const std::ptrdiff_t y = 2 * x + at;
    const std::ptrdiff_t chroma = 2 * x + 1 - at;
    // The second pixel of the last pair may be outside the picture.
    to[y] = x < width ? luma[x] : row[y];
    to[chroma] = color == PictureColor::kKept ? row[chroma] : kNeutralChroma;
  }
}

/// Adding one number to R, G and B changes Y by it and leaves Cb and Cr.
void replace_rgb(const std::uint8_t* row, int bytes, int red, const std::uint8_t* luma,
                 PictureColor color, std::uint8_t* to, int width) noexcept {
  for (int x = 0; x < width; ++x, row += bytes, to += bytes) {
    const int gray = luma[x];
    const int change = gray - luma_of_rgb(row[red], row[1], row[2 - red]);
    for (int c = 0; c < 3; ++c) {
      to[c] = static_cast<std::uint8_t>(
          color == PictureColor::kKept ? std::clamp(row[c] + change, 0, 255) : gray);
    }
    if (bytes == 4) to[3] = row[3];
  }
}

}  // namespace
}  // namespace detail

void luma_of_row(const void* row, PixelFormat format, std::uint8_t* luma, int width) noexcept {
  detail::dispatch(row, format, luma, width);
}

void replace_luma_row(const void* row, PixelFormat format, const std::uint8_t* luma,
                      PictureColor color, void* to, int width) noexcept {
  const auto* const from = static_cast<const std::uint8_t*>(row);
  auto* const out = static_cast<std::uint8_t*>(to);
  const bool red_first = format == PixelFormat::kRgb || format == PixelFormat::kRgbx;
  if (format == PixelFormat::kYuy2 || format == PixelFormat::kUyvy)
    detail::replace_yuv(from, format == PixelFormat::kYuy2 ? 0 : 1, luma, color, out, width);
  else if (has_color(format))
    detail::replace_rgb(from, bytes_per_pixel(format), red_first ? 0 : 2, luma, color, out, width);
}

}  // namespace ocellus
#endif
