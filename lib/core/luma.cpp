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
namespace ocellus::HWY_NAMESPACE {
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

/// Rows of RGB. `kBytes` per pixel, of which the first three are color.
template <int kBytes, bool kRedFirst>
struct RgbRows {
  static HWY_INLINE void luma(const std::uint8_t* HWY_RESTRICT row, std::uint8_t* HWY_RESTRICT luma,
                              int width) {
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

  /// Adding one number to R, G and B changes Y by it and leaves Cb and Cr. `to` may be `row`.
  template <bool kKept>
  static HWY_INLINE void replace(const std::uint8_t* row, const std::uint8_t* HWY_RESTRICT luma,
                                 std::uint8_t* to, int width) {
    const Words words;
    const hn::RebindToSigned<Words> numbers;
    const Bytes bytes;
    using V = hn::VFromD<Bytes>;
    const int lanes = static_cast<int>(hn::Lanes(words));
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
      const std::ptrdiff_t at = std::ptrdiff_t{kBytes} * x;
      const V gray = hn::LoadU(bytes, luma + x);
      V first = gray;
      V green = gray;
      V third = gray;
      V unused = gray;
      if constexpr (kBytes == 4) hn::LoadInterleaved4(bytes, row + at, first, green, third, unused);
      if constexpr (kKept) {
        if constexpr (kBytes == 3) hn::LoadInterleaved3(bytes, row + at, first, green, third);
        const auto a = hn::PromoteTo(words, first);
        const auto g = hn::PromoteTo(words, green);
        const auto c = hn::PromoteTo(words, third);
        const auto y = kRedFirst ? luma_of(a, g, c) : luma_of(c, g, a);
        const auto change = hn::Sub(hn::PromoteTo(words, gray), y);  // modulo 2^16
        const auto moved = [&](auto value) HWY_ATTR {  // narrowing limits it to 0 to 255
          return hn::DemoteTo(bytes, hn::BitCast(numbers, hn::Add(value, change)));
        };
        first = moved(a);
        green = moved(g);
        third = moved(c);
      } else {
        first = green = third = gray;
      }
      if constexpr (kBytes == 3)
        hn::StoreInterleaved3(first, green, third, bytes, to + at);
      else
        hn::StoreInterleaved4(first, green, third, unused, bytes, to + at);
    }
    for (; x < width; ++x) {
      const std::uint8_t* const from = row + std::ptrdiff_t{kBytes} * x;
      std::uint8_t* const pixel = to + std::ptrdiff_t{kBytes} * x;
      const int gray = luma[x];
      const int change =
          gray - luma_of_rgb(from[kRedFirst ? 0 : 2], from[1], from[kRedFirst ? 2 : 0]);
      for (int c = 0; c < 3; ++c)
        pixel[c] = static_cast<std::uint8_t>(kKept ? std::clamp(from[c] + change, 0, 255) : gray);
      if constexpr (kBytes == 4) pixel[3] = from[3];
    }
  }
};

/// Rows of YUV 4:2:2. `kAt`: the place of Y in its two bytes.
template <int kAt>
struct YuvRows {
  static HWY_INLINE void luma(const std::uint8_t* HWY_RESTRICT row, std::uint8_t* HWY_RESTRICT luma,
                              int width) {
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

  /// `to` may be `row`.
  template <bool kKept>
  static HWY_INLINE void replace(const std::uint8_t* row, const std::uint8_t* HWY_RESTRICT luma,
                                 std::uint8_t* to, int width) {
    constexpr std::uint8_t kNeutralChroma = 128;
    const hn::ScalableTag<std::uint8_t> d;
    using V = hn::VFromD<decltype(d)>;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
      const std::ptrdiff_t at = std::ptrdiff_t{2} * x;
      V even = hn::Set(d, kNeutralChroma);
      V odd = even;
      if constexpr (kKept) hn::LoadInterleaved2(d, row + at, even, odd);
      const V y = hn::LoadU(d, luma + x);
      hn::StoreInterleaved2(kAt == 0 ? y : even, kAt == 0 ? odd : y, d, to + at);
    }
    for (; x < width + width % 2; ++x) {
      const std::ptrdiff_t y = std::ptrdiff_t{2} * x + kAt;
      const std::ptrdiff_t chroma = std::ptrdiff_t{2} * x + 1 - kAt;
      // The second pixel of the last pair may be outside the picture.
      to[y] = x < width ? luma[x] : row[y];
      to[chroma] = kKept ? row[chroma] : kNeutralChroma;
    }
  }
};

/// Calls `run` with the functions for rows of a format that has color.
template <typename Run>
HWY_INLINE void with_rows(PixelFormat format, const Run& run) {
  switch (format) {
    case PixelFormat::kYuy2:
      return run(YuvRows<0>());
    case PixelFormat::kUyvy:
      return run(YuvRows<1>());
    case PixelFormat::kBgr:
      return run(RgbRows<3, false>());
    case PixelFormat::kRgb:
      return run(RgbRows<3, true>());
    case PixelFormat::kBgrx:
      return run(RgbRows<4, false>());
    case PixelFormat::kRgbx:
      return run(RgbRows<4, true>());
    case PixelFormat::kGray8:
    case PixelFormat::kGray16:
    case PixelFormat::kFloat32:
      break;
  }
}

void luma_of_row(const void* row, PixelFormat format, std::uint8_t* luma, int width) {
  with_rows(format, [&](auto rows) HWY_ATTR {
    rows.luma(static_cast<const std::uint8_t*>(row), luma, width);
  });
}

void replace_luma_row(const void* row, PixelFormat format, const std::uint8_t* luma,
                      PictureColor color, void* to, int width) {
  const auto* const from = static_cast<const std::uint8_t*>(row);
  auto* const out = static_cast<std::uint8_t*>(to);
  with_rows(format, [&](auto rows) HWY_ATTR {
    if (color == PictureColor::kKept)
      rows.template replace<true>(from, luma, out, width);
    else
      rows.template replace<false>(from, luma, out, width);
  });
}

}  // namespace
}  // namespace ocellus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus {

HWY_EXPORT(luma_of_row);
HWY_EXPORT(replace_luma_row);

void luma_of_row(const void* row, PixelFormat format, std::uint8_t* luma, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(luma_of_row)(row, format, luma, width);
}

void replace_luma_row(const void* row, PixelFormat format, const std::uint8_t* luma,
                      PictureColor color, void* to, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(replace_luma_row)(row, format, luma, color, to, width);
}

}  // namespace ocellus
#endif
