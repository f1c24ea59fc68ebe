#include "apps/optical_flow/flow_output.h"

#include <fmt/format.h>

namespace ocellus::app {

std::vector<UnusedOptions> unused_draw_options(const std::string& output, bool video,
                                               bool objects) {
  UnusedOptions drawing = unused_without_video(
      output, {"--fps", "--style", "--arrow-step", "--arrow-scale", "--legend"});
  drawing.unused = !video;
  UnusedOptions thresholds = unused_without_video(
      output, {"--min-motion", "--min-deviations", "--min-area"}, "a video and to --objects");
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

const std::vector<std::string>& FlowFieldOutput::extensions() {
  static const std::vector<std::string> endings = {".flo", ".png"};
  return endings;
}

void FlowFieldOutput::set(const OpticalFlowConfig& config, bool boxes) {
  draw_.roi = config.roi;
  draw_.min_motion = config.min_motion;
  draw_.min_motion_side = config.min_motion_side;
  draw_.min_deviations = config.min_deviations;
  boxes_ = boxes;
}

void FlowFieldOutput::write(FlowField& field, const InputFrame& frame,
                            const MovingObjectsRecord* objects) {
  if (output_.none()) return;
  if (!output_.video() && output_.extension() == ".flo") {
    write_flo(output_.name_of(frame.number), field);
    return;
  }
  if (draw_.max_motion == 0.0f) max_motion_ = grown_flow_scale(field.output(), max_motion_);
  if (output_.video()) {
    OverlayConfig overlay = draw_;
    overlay.max_motion = max_motion_;
    overlay.objects = objects;
    const OverlayImage picture = output_.video_picture(frame);
    // The legend covers boxes, not the other way round.
    if (boxes_ && objects != nullptr) draw_moving_objects(*objects, picture);
    draw_flow_overlay(field.output(), overlay, picture);
    output_.write_video_picture();
    return;
  }
  std::vector<std::uint8_t> rgb(field.pixels() * 3);
  draw_flow_wheel(field.output(), max_motion_, rgb.data(),
                  static_cast<std::ptrdiff_t>(field.size.width) * 3);
  write_png_rgb(output_.name_of(frame.number), field.size, rgb.data());
}

}  // namespace ocellus::app
