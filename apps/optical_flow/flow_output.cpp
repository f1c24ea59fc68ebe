#include "apps/optical_flow/flow_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace ocellus::app {

std::vector<UnusedOptions> unused_draw_options(const std::string& output, bool video,
                                               bool objects) {
  UnusedOptions drawing = unused_without_video(
      output, {"--fps", "--style", "--arrow-step", "--arrow-scale", "--legend"});
  drawing.unused = !video;
  UnusedOptions thresholds = unused_without_video(output, {"--min-motion", "--min-deviations"},
                                                  "a video and to --objects");
  thresholds.unused = !video && !objects;
  return {
      drawing,
      thresholds,
      {!video && file_extension(output) != ".png",
       {"--max-motion"},
       fmt::format("it sets the colors of a .png file or a video, {}{}", output_text(output),
                   output.empty() ? "" : " has no colors")},
  };
}

FlowFieldOutput::FlowFieldOutput(const FrameOptions& frames, const OverlayConfig& draw,
                                 const MovingObjectsConfig& objects, double source_fps)
    : FrameOutput(frames, {".flo", ".png"}, source_fps),
      draw_(draw),
      objects_(objects),
      max_motion_(draw.max_motion) {
  objects_.min_motion = draw.min_motion;
  objects_.min_deviations = draw.min_deviations;
}

std::span<const MovingObject> FlowFieldOutput::find_objects(FlowField& field) {
  if (!finder_) {
    objects_.size = field.size;
    finder_.emplace(take(MovingObjects::create(objects_), "moving objects"));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::span<const MovingObject> found = finder_->find(field.output());
  finding_ms_ =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return found;
}

void FlowFieldOutput::write(FlowField& field, const InputFrame& frame, const Rect& roi,
                            const std::optional<std::span<const MovingObject>>& found) {
  if (none()) return;
  if (!video() && extension() == ".flo") {
    write_flo(name_of(frame.number), field);
    return;
  }
  if (draw_.max_motion == 0.0f) max_motion_ = grown_flow_scale(field.output(), max_motion_);
  if (video()) {
    if (!found) find_objects(field);
    OverlayConfig overlay = draw_;
    overlay.max_motion = max_motion_;
    overlay.roi = roi;
    overlay.objects = &*finder_;
    const OverlayImage picture = video_picture(frame);
    // The legend covers boxes, not the other way round.
    if (found) draw_moving_objects(*found, roi, picture);
    draw_flow_overlay(field.output(), overlay, picture);
    write_video_picture();
    return;
  }
  std::vector<std::uint8_t> rgb(field.pixels() * 3);
  draw_flow_wheel(field.output(), max_motion_, rgb.data(),
                  static_cast<std::ptrdiff_t>(field.size.width) * 3);
  write_png_rgb(name_of(frame.number), field.size, rgb.data());
}

}  // namespace ocellus::app
