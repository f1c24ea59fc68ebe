#include "core/checks.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "core/failure.h"
#include "ocellus/operator.h"

namespace ocellus::detail {

const char* format_name(PixelFormat format) noexcept {
  static constexpr const char* kNames[] = {"kGray8", "kGray16", "kFloat32", "kYuy2", "kUyvy",
                                           "kBgr",   "kRgb",    "kBgrx",    "kRgbx"};
  static_assert(std::size(kNames) == kPixelFormats);
  const auto number = static_cast<std::size_t>(format);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

Check check_range(const char* field, int value, int low, int high) noexcept {
  if (value < low || value > high)
    return invalid_argument("%s is %d; it must be %d to %d", field, value, low, high);
  return {};
}

Check check_geometry(ImageSize size, PixelFormat format, const Rect& roi, int depth) noexcept {
  if (size.width < 1 || size.height < 1 || size.width > kMaxImageSide ||
      size.height > kMaxImageSide) {
    return invalid_argument("size is %dx%d; width and height must be 1 to %d", size.width,
                            size.height, kMaxImageSide);
  }
  if (static_cast<int>(format) >= kPixelFormats) {
    return invalid_argument(
        "format is %d; it must be kGray8, kGray16, kFloat32, kYuy2, kUyvy, kBgr, kRgb, kBgrx or "
        "kRgbx",
        static_cast<int>(format));
  }
  if (roi.empty() && (roi.x != 0 || roi.y != 0)) {
    return invalid_argument(
        "roi is 0x0 at (%d, %d); give it a width and a height, or leave it empty at (0, 0) for the "
        "whole image",
        roi.x, roi.y);
  }
  if (!roi.empty() && (roi.x < 0 || roi.y < 0 || roi.width < 1 || roi.height < 1 ||
                       roi.width > size.width - roi.x || roi.height > size.height - roi.y)) {
    return invalid_argument(
        "roi is %dx%d at (%d, %d); it must lie inside the image of %dx%d, or be empty for the "
        "whole image",
        roi.width, roi.height, roi.x, roi.y, size.width, size.height);
  }
  return check_range("depth", depth, 1, kMaxDepth);
}

Check check_plane(const char* what, const PlaneInfo& info, const ImageView& plane,
                  PixelFormat frame) noexcept {
  const char* const name = info.name;
  if (plane.size != info.size) {
    return invalid_argument("%s %s is %dx%d; it must be %dx%d", what, name, plane.size.width,
                            plane.size.height, info.size.width, info.size.height);
  }
  const bool may_have_color = info.follows_frame && has_color(frame);
  if (plane.format != info.format && !(may_have_color && plane.format == frame)) {
    return invalid_argument("%s %s has the format %s; it must have %s%s%s", what, name,
                            format_name(plane.format), format_name(info.format),
                            may_have_color ? " or that of the frames, " : "",
                            may_have_color ? format_name(frame) : "");
  }
  // Pixels with color are written byte by byte.
  const std::ptrdiff_t element = has_color(plane.format) ? 1 : bytes_per_pixel(plane.format);
  const std::ptrdiff_t least = row_bytes(plane.format, info.size.width);
  if (plane.stride < least || plane.stride % element != 0) {
    if (element == 1)
      return invalid_argument("%s %s: stride is %td bytes; it must be at least %td", what, name,
                              plane.stride, least);
    return invalid_argument(
        "%s %s: stride is %td bytes; it must be a multiple of %td and at least %td", what, name,
        plane.stride, element, least);
  }
  if (reinterpret_cast<std::uintptr_t>(plane.data) % static_cast<std::uintptr_t>(element) != 0) {
    return invalid_argument("%s %s is at %p; it must be aligned to its %td-byte elements", what,
                            name, plane.data, element);
  }
  return {};
}

Rect whole_or(const Rect& roi, ImageSize size) noexcept {
  return roi.empty() ? Rect{0, 0, size.width, size.height} : roi;
}

}  // namespace ocellus::detail
