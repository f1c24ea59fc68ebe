// OverlayImage: a camera frame on which results are drawn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/frame.h"

namespace ocellus {

/// A camera frame to draw on.
struct OverlayImage {
  /// Those with one plane of pixels with color are as in PixelFormat.
  enum class Format : std::uint8_t {
    kGray8,
    kGray16,
    kI420,
    kNv12,
    kP010,  ///< as kNv12 with 16 bits
    kYuy2,
    kUyvy,
    kBgr,
    kRgb,
    kBgrx,
    kRgbx
  };

  Format format = Format::kGray8;
  ImageSize size{};
  std::array<std::uint8_t*, 3> planes{};    ///< Y; U and V, or UV interleaved; or pixels
  std::array<std::ptrdiff_t, 3> strides{};  ///< bytes
};

}  // namespace ocellus
