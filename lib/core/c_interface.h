// What the files of the C interface share: numbers and planes of the caller, and errors.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "core/failure.h"
#include "ocellus/frame.h"
#include "ocellus/ocellus_c.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// A number of the caller as an enumerator. A number that does not fit is one that no enumerator
/// has.
template <typename Enum>
Enum enum_of(std::int32_t value) noexcept {
  constexpr auto kUnknown = std::numeric_limits<std::uint8_t>::max();
  const bool fits = value >= 0 && value <= kUnknown;
  return static_cast<Enum>(fits ? static_cast<std::uint8_t>(value) : kUnknown);
}

inline ImageView view_of(const ocellus_plane& plane) noexcept {
  return {plane.data,
          {plane.width, plane.height},
          plane.stride,
          enum_of<PixelFormat>(plane.format),
          enum_of<MemorySpace>(plane.memory),
          plane.stream};
}

inline ocellus_status fail(const Error& error, ocellus_error* out) noexcept {
  if (out != nullptr) {
    out->status = static_cast<ocellus_status>(error.status);
    std::memcpy(out->text, error.text, sizeof(out->text));
  }
  return static_cast<ocellus_status>(error.status);
}

inline ocellus_status fail_null(const char* argument, ocellus_error* out) noexcept {
  return fail(invalid_argument("%s is null", argument).value(), out);
}

}  // namespace ocellus::detail
