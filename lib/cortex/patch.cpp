#include "cortex/patch.h"

#include <algorithm>
#include <cstring>

namespace ocellus::detail {
namespace {

/// The mean of the area of pixel (x, y) of the result. Lengths are in units of 1/width of a pixel
/// of the patch along x, and of 1/height along y, so that all of them are integers.
std::uint8_t area_mean(const PatchView& patch, int width, int height, int x, int y) noexcept {
  const std::int64_t left = std::int64_t{x} * patch.width;
  const std::int64_t right = left + patch.width;
  const std::int64_t top = std::int64_t{y} * patch.height;
  const std::int64_t bottom = top + patch.height;
  const auto x_end = static_cast<int>((right + width - 1) / width);
  const auto y_end = static_cast<int>((bottom + height - 1) / height);
  std::int64_t sum = 0;
  for (auto v = static_cast<int>(top / height); v < y_end; ++v) {
    const std::uint8_t* const row = patch.data + v * patch.stride;
    std::int64_t of_row = 0;
    for (auto u = static_cast<int>(left / width); u < x_end; ++u) {
      const std::int64_t covered =
          std::min(right, std::int64_t{u + 1} * width) - std::max(left, std::int64_t{u} * width);
      of_row += covered * row[u];
    }
    sum += of_row * (std::min(bottom, std::int64_t{v + 1} * height) -
                     std::max(top, std::int64_t{v} * height));
  }
  const std::int64_t area = std::int64_t{patch.width} * patch.height;
  return static_cast<std::uint8_t>((sum + area / 2) / area);
}

/// Whether the mean of the border is above the middle between the darkest and the brightest pixel.
bool has_dark_ink(const std::uint8_t* pixels, int width, int height) noexcept {
  const auto [darkest, brightest] = std::minmax_element(pixels, pixels + width * height);
  std::int64_t sum = 0;
  std::int64_t count = 0;
  for (int y = 0; y < height; ++y) {
    const bool whole = y == 0 || y == height - 1;
    for (int x = 0; x < width; x += whole ? 1 : width - 1) {
      sum += pixels[y * width + x];
      ++count;
    }
  }
  return 2 * sum > count * (*darkest + *brightest);
}

}  // namespace

void draw_patch(const PatchView& patch, CortexInk ink, int width, int height,
                std::uint8_t* out) noexcept {
  if (patch.width == width && patch.height == height) {
    for (int y = 0; y < height; ++y)
      std::memcpy(out + static_cast<std::ptrdiff_t>(y) * width, patch.data + y * patch.stride,
                  static_cast<std::size_t>(width));
  } else {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) out[y * width + x] = area_mean(patch, width, height, x, y);
  }
  if (ink == CortexInk::kLight) return;
  if (ink == CortexInk::kAuto && !has_dark_ink(out, width, height)) return;
  for (int i = 0; i < width * height; ++i) out[i] = static_cast<std::uint8_t>(255 - out[i]);
}

}  // namespace ocellus::detail
