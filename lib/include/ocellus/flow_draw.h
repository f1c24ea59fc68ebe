// Draws a flow field with the Middlebury color wheel, alone or over a camera frame, or as arrows.
// No allocation. Link ocellus::draw, or pkg-config's ocellus-draw.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"
#include "ocellus/options.h"
#include "ocellus/overlay_image.h"

namespace ocellus {

/// Draws each motion as a color. Hue shows the direction. Saturation shows the length up to
/// `max_motion`. Colors beyond it darken gradually, to three quarters at twice `max_motion`, so
/// that a length near it makes no edge. Invalid flow (NaN) is black. Source, without the gradual
/// step: Baker et al., "A Database and Evaluation Methodology for Optical Flow", IJCV 2011.
///
/// `rgb` has the flow's size, three bytes per pixel, and rows that are `rgb_stride` bytes apart.
/// `max_motion` must be > 0, in pixels per frame; otherwise the whole image is black.
void draw_flow_wheel(const FlowOutput& flow, float max_motion, std::uint8_t* rgb,
                     std::ptrdiff_t rgb_stride) noexcept;

/// Returns the length that `percent` percent (0 to 100; NaN counts as 0) of the valid vectors do
/// not exceed, at least 1e-3. It is a suitable scale for drawing. Vectors whose squared length is
/// not a finite float are left out.
float flow_magnitude_percentile(const FlowOutput& flow, float percent) noexcept;

/// Returns the scale of a sequence of fields: the largest of `scale`, which is that of the fields
/// before, half a pixel per frame, and the 99th percentile of this field. It never falls, so that
/// the colors of a video do not flicker.
float grown_flow_scale(const FlowOutput& flow, float scale) noexcept;

enum class FlowStyle : std::uint8_t {
  kArrows,
  kWheel,  ///< each pixel that moves gets the color of its motion; the others keep theirs
  kNone
};

/// How a field is drawn over an image.
struct OverlayConfig {
  FlowStyle style = FlowStyle::kArrows;
  /// Pixels between arrows, clamped to 4 to 256. 0: about 40 arrows along the shorter side of the
  /// image, 12 to 64 pixels apart.
  int step = 0;
  float scale = 4.0f;       ///< length in pixels of an arrow for a motion of 1 pixel per frame, > 0
  float min_motion = 1.0f;  ///< shorter vectors are not drawn; pixels per frame
  int min_motion_side = 480;  ///< OpticalFlowConfig::min_motion_side, for the size of the image
  /// Vectors shorter than this multiple of their standard deviation are not drawn. It has an effect
  /// only if the field has the plane `deviation`.
  float min_deviations = 2.0f;
  /// If it is set: the objects of this field. Motion outside of their boxes is not drawn.
  const MovingObjectsRecord* objects = nullptr;
  /// Motion at full color saturation, pixels per frame. 0: `grown_flow_scale` of the field.
  float max_motion = 0.0f;
  bool legend = false;  ///< a color wheel and its largest motion, at the lower right
  Rect roi{};           ///< position of the flow field in the image; empty: the whole image

  /// All members but `objects`, `roi` and the thresholds by name, with their ranges. The thresholds
  /// are options of the operator, too.
  static OptionTable options() noexcept;
};

/// Draws the motion that stands out from its own noise. Where the frame has chroma, the color wheel
/// gives the color of an arrow. Draws nothing if `scale` is not above 0, if `max_motion` is
/// negative, or if `roi` begins outside the image. An image that is too small for the legend gets
/// none.
void draw_flow_overlay(const FlowOutput& flow, const OverlayConfig& config,
                       const OverlayImage& image) noexcept;

/// Draws a box around each object, and its speed in pixels per frame. Lines and text are larger on
/// larger images.
void draw_moving_objects(const MovingObjectsRecord& objects, const OverlayImage& image) noexcept;

}  // namespace ocellus
