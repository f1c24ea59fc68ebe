// Sums and extremes of groups of pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ocellus::detail {

/// Columns of a group.
inline constexpr int kGroupColumns = 8;

/// Statistics of the pixels of kGroupColumns columns and up to 128 rows.
struct PixelGroup {
  std::uint32_t sum;
  std::uint32_t squares;
  std::uint8_t min;
  std::uint8_t max;
};

/// Computes `count` groups side by side; `in` is the first pixel of the first row.
void measure_groups(const std::uint8_t* in, std::ptrdiff_t stride, int rows, int count,
                    PixelGroup* out) noexcept;

}  // namespace ocellus::detail
