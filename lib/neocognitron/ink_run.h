// InkRun, for the host and for devices.
#pragma once

#include <cstdint>

namespace ocellus::detail {

/// Consecutive pixels of ink in a row.
struct InkRun {
  std::uint16_t y;
  std::uint16_t first;
  std::uint16_t end;       ///< one past the last pixel
  std::uint16_t contrast;  ///< mean difference to the background, in 1/64 of a gray level
  std::uint32_t label;     ///< the component, after `connect`
};

}  // namespace ocellus::detail
