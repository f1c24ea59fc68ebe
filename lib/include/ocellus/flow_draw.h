// Draws a flow field with the Middlebury color wheel or as arrows over a camera frame. No
// allocation. Link ocellus::draw, or pkg-config's ocellus-draw.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"
#include "ocellus/overlay_image.h"

namespace ocellus {

/// Draws each motion as a color. Hue shows the direction. Saturation shows the length up to
/// `max_motion`; colors beyond it are darkened. Invalid flow (NaN) is black. Source: Baker et al.,
/// "A Database and Evaluation Methodology for Optical Flow", IJCV 2011.
///
/// `rgb` has the flow's size, three bytes per pixel, and rows that are `rgb_stride` bytes apart.
/// `max_motion` must be > 0, in pixels per frame; otherwise the whole image is black.
void draw_flow_wheel(const FlowOutput& flow, float max_motion, std::uint8_t* rgb,
                     std::ptrdiff_t rgb_stride) noexcept;

/// Returns the length that `percent` percent (0 to 100; NaN counts as 0) of the valid vectors do
/// not exceed, at least 1e-3. It is a suitable scale for drawing.
float flow_magnitude_percentile(const FlowOutput& flow, float percent) noexcept;

/// How arrows are drawn.
struct OverlayConfig {
  int step = 16;            ///< pixels between arrows, clamped to 4 to 256
  float scale = 4.0f;       ///< length in pixels of an arrow for a motion of 1 pixel per frame, > 0
  float min_motion = 0.5f;  ///< shorter vectors are not drawn; pixels per frame
  float max_motion = 8.0f;  ///< motion at full color saturation, pixels per frame
  Rect roi;                 ///< position of the flow field in the image; empty: the whole image
};

/// Draws an arrow every `step` pixels. Where the frame has chroma, the color wheel gives the
/// arrow's color. Draws nothing if `scale` or `max_motion` is not above 0, or if `roi` begins
/// outside the image.
void draw_flow_overlay(const FlowOutput& flow, const OverlayConfig& config,
                       const OverlayImage& image) noexcept;

}  // namespace ocellus
