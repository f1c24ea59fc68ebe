#include "apps/optical_flow/flow_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace ocellus::app {

void add_flow_draw_options(CLI::App& command, FlowDrawOptions& o) {
  command
      .add_option("--max-motion", o.max_motion,
                  "Motion with a saturated color, in pixels per frame; 0: the largest so far "
                  "(99th percentile)")
      ->check(finite_range(0.0, 1e6))
      ->capture_default_str();
  command.add_option("--arrow-step", o.arrow_step, "Distance of the arrows in a video, in pixels")
      ->check(CLI::Range(4, 256))
      ->capture_default_str();
  command
      .add_option("--arrow-scale", o.arrow_scale,
                  "Length of an arrow for a motion of one pixel per frame, in pixels")
      ->check(finite_range(0.01, 1000.0))
      ->capture_default_str();
  command
      .add_option("--min-motion", o.min_motion,
                  "Least motion for which an arrow is drawn, in pixels per frame")
      ->check(finite_range(0.0, 1000.0))
      ->capture_default_str();
}

std::vector<UnusedOptions> unused_draw_options(const std::string& output, bool video) {
  UnusedOptions arrows =
      unused_without_video(output, {"--fps", "--arrow-step", "--arrow-scale", "--min-motion"});
  arrows.unused = !video;
  return {
      arrows,
      {!video && file_extension(output) != ".png",
       {"--max-motion"},
       fmt::format("it sets the colors of a .png file or a video, {}{}", output_text(output),
                   output.empty() ? "" : " has no colors")},
  };
}

FlowFieldOutput::FlowFieldOutput(const FrameOptions& frames, const FlowDrawOptions& draw,
                                 double source_fps)
    : FrameOutput(frames, {".flo", ".png"}, source_fps),
      draw_(draw),
      max_motion_(draw.max_motion) {}

void FlowFieldOutput::write(FlowField& field, const InputFrame& frame, const Rect& roi) {
  if (none()) return;
  if (!video() && extension() == ".flo") {
    write_flo(name_of(frame.number), field);
    return;
  }
  update_scale(field);
  if (video()) {
    OverlayConfig overlay;
    overlay.step = draw_.arrow_step;
    overlay.scale = static_cast<float>(draw_.arrow_scale);
    overlay.min_motion = static_cast<float>(draw_.min_motion);
    overlay.max_motion = static_cast<float>(max_motion_);
    overlay.roi = roi;
    draw_flow_overlay(field.output(), overlay, video_picture(frame));
    write_video_picture();
    return;
  }
  std::vector<std::uint8_t> rgb(field.pixels() * 3);
  draw_flow_wheel(field.output(), static_cast<float>(max_motion_), rgb.data(),
                  static_cast<std::ptrdiff_t>(field.size.width) * 3);
  write_png_rgb(name_of(frame.number), field.size, rgb.data());
}

/// Without --max-motion, the scale follows the largest motion so far, so that colors do not flicker
/// between frames.
void FlowFieldOutput::update_scale(FlowField& field) {
  if (draw_.max_motion > 0.0) return;
  max_motion_ = std::max(
      {max_motion_, 0.5, static_cast<double>(flow_magnitude_percentile(field.output(), 99.0f))});
}

}  // namespace ocellus::app
