// Drawing a flow field: the Middlebury color wheel, and arrows over a camera frame. No allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// The color of a motion: hue tells the direction, saturation the length up to `max_motion`;
/// beyond it colors are darkened. Invalid flow (NaN) is black. Source: Baker et al., "A Database
/// and Evaluation Methodology for Optical Flow", IJCV 2011. `rgb` has the flow's size, three bytes
/// a pixel, and rows `rgb_stride` bytes apart; `max_motion` > 0 in pixels per frame, else all is
/// black.
void draw_flow_wheel(const FlowOutput& flow, float max_motion, std::uint8_t* rgb,
                     std::ptrdiff_t rgb_stride) noexcept;

/// The length that `percent` (0 to 100; NaN counts as 0) of the valid vectors do not exceed, at
/// least 1e-3: a scale for drawing.
float flow_magnitude_percentile(const FlowOutput& flow, float percent) noexcept;

/// A camera frame to draw on.
struct OverlayImage {
  enum class Format : std::uint8_t { kGray8, kGray16, kI420, kNv12 };

  Format format = Format::kGray8;
  ImageSize size;
  std::array<std::uint8_t*, 3> planes{};    ///< Y; U and V, or UV interleaved
  std::array<std::ptrdiff_t, 3> strides{};  ///< bytes
};

struct OverlayConfig {
  int step = 16;            ///< pixels between arrows, held within 4 to 256
  float scale = 4.0f;       ///< length of an arrow in pixels for a motion of 1 pixel per frame, > 0
  float min_motion = 0.5f;  ///< shorter vectors are not drawn, pixels per frame
  float max_motion = 8.0f;  ///< full saturation of the colors, pixels per frame
  Rect roi;                 ///< where the flow field lies in the image; empty = whole image
};

/// Draws an arrow every `step` pixels, colored by the wheel where the frame has chroma; nothing
/// when `scale` or `max_motion` is not above 0, or `roi` begins outside the image.
void draw_flow_overlay(const FlowOutput& flow, const OverlayConfig& config,
                       const OverlayImage& image) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
