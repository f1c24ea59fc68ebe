// What the files of the C interface share: the operator, enumerators and planes of the caller, and
// errors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <span>
#include <utility>

#include "core/failure.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/ocellus_c.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the C interface
struct ocellus_operator {
  ocellus::OperatorHandle handle;
};
// NOLINTEND(readability-identifier-naming)

namespace ocellus::detail {

/// An enumerator of both interfaces.
template <typename Enum>
struct Enumerator {
  std::int32_t number;
  Enum value;
  const char* name;  ///< in C
};
#define OCELLUS_ENUMERATOR(number, value) \
  { number, value, #number }

/// Every enumeration that C programs give to the library, complete and in its order.
template <typename Enum>
struct Enumerators;
template <>
struct Enumerators<PixelFormat> {
  static constexpr std::array<Enumerator<PixelFormat>, kPixelFormats> kAll{
      {OCELLUS_ENUMERATOR(OCELLUS_GRAY8, PixelFormat::kGray8),
       OCELLUS_ENUMERATOR(OCELLUS_GRAY16, PixelFormat::kGray16),
       OCELLUS_ENUMERATOR(OCELLUS_FLOAT32, PixelFormat::kFloat32),
       OCELLUS_ENUMERATOR(OCELLUS_YUY2, PixelFormat::kYuy2),
       OCELLUS_ENUMERATOR(OCELLUS_UYVY, PixelFormat::kUyvy),
       OCELLUS_ENUMERATOR(OCELLUS_BGR, PixelFormat::kBgr),
       OCELLUS_ENUMERATOR(OCELLUS_RGB, PixelFormat::kRgb),
       OCELLUS_ENUMERATOR(OCELLUS_BGRX, PixelFormat::kBgrx),
       OCELLUS_ENUMERATOR(OCELLUS_RGBX, PixelFormat::kRgbx)}};
};
template <>
struct Enumerators<MemorySpace> {
  static constexpr std::array<Enumerator<MemorySpace>, 3> kAll{
      {OCELLUS_ENUMERATOR(OCELLUS_MEMORY_HOST, MemorySpace::kHost),
       OCELLUS_ENUMERATOR(OCELLUS_MEMORY_PINNED, MemorySpace::kPinned),
       OCELLUS_ENUMERATOR(OCELLUS_MEMORY_CUDA, MemorySpace::kCuda)}};
};
template <>
struct Enumerators<DeviceWait> {
  static constexpr std::array<Enumerator<DeviceWait>, 3> kAll{
      {OCELLUS_ENUMERATOR(OCELLUS_WAIT_SPIN, DeviceWait::kSpin),
       OCELLUS_ENUMERATOR(OCELLUS_WAIT_YIELD, DeviceWait::kYield),
       OCELLUS_ENUMERATOR(OCELLUS_WAIT_BLOCK, DeviceWait::kBlock)}};
};
#undef OCELLUS_ENUMERATOR

/// Whether the enumerators have the same numbers in both interfaces: 0, 1 and so on.
template <typename Enum>
constexpr bool same_numbers() noexcept {
  std::int32_t next = 0;
  return std::ranges::all_of(Enumerators<Enum>::kAll, [&next](const Enumerator<Enum>& one) {
    return one.number == next++ && one.number == static_cast<std::int32_t>(one.value);
  });
}

/// A number of the caller as an enumerator. `what`: its place in the call, such as "frame.memory".
/// Errors: InvalidArgument (no enumerator has this number).
template <typename Enum>
Expected<Enum> enum_of(const char* what, std::int32_t number) noexcept {
  static_assert(same_numbers<Enum>());
  constexpr auto& kAll = Enumerators<Enum>::kAll;
  if (number >= 0 && number < static_cast<std::int32_t>(kAll.size()))
    return static_cast<Enum>(number);
  char names[Error::kTextCapacity] = "";
  std::size_t at = 0;
  for (std::size_t i = 0; i < kAll.size() && at < sizeof(names); ++i) {
    const char* const between = i == 0 ? "" : i + 1 == kAll.size() ? " or " : ", ";
    at += static_cast<std::size_t>(
        std::snprintf(names + at, sizeof(names) - at, "%s%s", between, kAll[i].name));
  }
  return invalid_argument("%s is %d; it must be %s", what, static_cast<int>(number), names);
}

/// A plane that is left out has no other members.
inline Expected<ImageView> view_of(const ocellus_plane& plane, std::size_t index) noexcept {
  if (plane.data == nullptr) return ImageView{};
  char what[40];
  std::snprintf(what, sizeof(what), "planes[%zu].format", index);
  OCELLUS_TRY_ASSIGN(format, enum_of<PixelFormat>(what, plane.format));
  std::snprintf(what, sizeof(what), "planes[%zu].memory", index);
  OCELLUS_TRY_ASSIGN(space, enum_of<MemorySpace>(what, plane.memory));
  return ImageView{plane.data,  {plane.width, plane.height}, plane.stride, *format, *space,
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

/// The failure of the first pointer that is null, or OCELLUS_OK.
inline ocellus_status refuse_null(
    std::initializer_list<std::pair<const char*, const void*>> arguments,
    ocellus_error* out) noexcept {
  for (const auto& [name, pointer] : arguments)
    if (pointer == nullptr) return fail_null(name, out);
  return OCELLUS_OK;
}

}  // namespace ocellus::detail
