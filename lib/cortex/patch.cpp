#include "cortex/patch.h"

#include <algorithm>

#include "cortex/patch_arithmetic.h"

namespace ocellus::detail {
namespace {

bool has_dark_ink(const std::uint8_t* pixels, int width, int height) noexcept {
  const auto [darkest, brightest] = std::minmax_element(pixels, pixels + width * height);
  std::int64_t sum = 0;
  for (int y = 0; y < height; ++y) {
    const bool whole = y == 0 || y == height - 1;
    for (int x = 0; x < width; x += whole ? 1 : width - 1) sum += pixels[y * width + x];
  }
  return is_ink_dark(sum, border_pixels(width, height), *darkest, *brightest);
}

}  // namespace

void draw_patch(const PatchView& patch, CortexInk ink, int width, int height,
                std::uint8_t* out) noexcept {
  stretch_patch(patch, width, height, 0, height, out);
  if (ink == CortexInk::kLight) return;
  if (ink == CortexInk::kAuto && !has_dark_ink(out, width, height)) return;
  for (int i = 0; i < width * height; ++i) out[i] = static_cast<std::uint8_t>(255 - out[i]);
}

void deslant(const std::uint8_t* patch, std::ptrdiff_t stride, int width, int height,
             std::uint8_t* out) noexcept {
  InkMoments moments;
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* const row = patch + y * stride;
    int row_ink = 0;
    int row_x = 0;
    for (int x = 0; x < width; ++x) {
      row_ink += row[x];
      row_x += row[x] * x;
    }
    moments.ink += row_ink;
    moments.x += row_x;
    moments.y += std::int64_t{row_ink} * y;
    moments.xy += std::int64_t{row_x} * y;
    moments.yy += std::int64_t{row_ink} * y * y;
  }
  const std::int64_t slant = slant_of(moments);
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* const row = patch + y * stride;
    std::uint8_t* const to = out + static_cast<std::ptrdiff_t>(y) * width;
    const RowShift shift = shift_of_row(moments, slant, y);
    for (int x = 0; x < width; ++x) to[x] = shifted_pixel(row, width, shift, x);
  }
}

}  // namespace ocellus::detail
