// The colors of restored pictures.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/io/frames.h"

namespace ocellus::app {

/// The bytes of an RGB image without padding. `color` is the red, green and blue planes.
std::vector<std::uint8_t> rgb_of(const std::vector<GrayImage>& color);

/// Adds the change of the luma to each plane, so that the differences between the planes stay.
/// Returns planes of 8 bits.
std::vector<GrayImage> with_luma(const std::vector<GrayImage>& color, const GrayImage& before,
                                 const GrayImage& after);

/// Sets luma and chroma of a picture (BT.601, full range) from its color planes.
void set_luma_and_chroma(InputFrame& picture, const std::vector<GrayImage>& color);

}  // namespace ocellus::app
