// Brings the image of a character to U0: centered by mass, upright, of one size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "neocognitron/patch_transform.h"
#include "ocellus/neocognitron_model.h"

namespace ocellus::detail {

/// 0: background, 255: ink.
struct InkImage {
  const std::uint8_t* ink = nullptr;
  int width = 0;
  int height = 0;
  std::ptrdiff_t stride = 0;

  std::uint8_t at(int x, int y) const noexcept { return ink[y * stride + x]; }
};

/// Wider images are resampled pixel by pixel.
inline constexpr int kMaxGroupedWidth = 1024;

/// False if the image has no ink.
bool find_transform(const InkImage& image, const PatchNormalization& normalization,
                    PatchTransform& transform) noexcept;

/// Writes 65x65 values from 0 to 1. Where a pixel of U0 covers several pixels of the image, they
/// are averaged. Outside of the image is no ink.
void resample(const InkImage& image, const PatchTransform& transform, float* u0) noexcept;

}  // namespace ocellus::detail
