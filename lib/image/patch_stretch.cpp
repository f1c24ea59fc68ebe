#include "image/patch_stretch.h"

#include <cstring>

namespace ocellus::detail {

void stretch_patch(const PatchView& patch, int width, int height, int begin, int end,
                   std::uint8_t* out) noexcept {
  const PatchStretch stretch{patch.width, patch.height, width, height};
  const auto gray = [&](int u, int v) { return int{patch.data[v * patch.stride + u]}; };
  for (int y = begin; y < end; ++y) {
    std::uint8_t* const row = out + static_cast<std::ptrdiff_t>(y) * width;
    if (patch.width == width && patch.height == height) {
      std::memcpy(row, patch.data + y * patch.stride, static_cast<std::size_t>(width));
      continue;
    }
    for (int x = 0; x < width; ++x)
      row[x] = area_mean(stretch, area_sum(stretch, x, y, gray, 0, 1));
  }
}

}  // namespace ocellus::detail
