// What commands that write flow fields share: the options of drawing, and the files or the video of
// the fields.
#pragma once

#include <string>
#include <vector>

#include "apps/io/flow_file.h"
#include "apps/io/frame_output.h"

namespace ocellus::app {

struct FlowDrawOptions {
  double max_motion = 0.0;
  int arrow_step = 16;
  double arrow_scale = 4.0;
  double min_motion = 0.5;
};

void add_flow_draw_options(CLI::App& command, FlowDrawOptions& options);
/// The given drawing options that have no effect on this output. `video`: whether it is one.
std::vector<UnusedOptions> unused_draw_options(const std::string& output, bool video);

/// Where the fields of one or all frames are written: .flo or .png files, or a video.
class FlowFieldOutput : public FrameOutput {
 public:
  FlowFieldOutput(const FrameOptions& frames, const FlowDrawOptions& draw, double source_fps);

  /// Whether the output is a .png file or a video.
  bool colored() const { return !none() && extension() != ".flo"; }
  double max_motion() const { return max_motion_; }

  /// Throws InputError.
  void write(FlowField& field, const InputFrame& frame, const Rect& roi);

 private:
  void update_scale(FlowField& field);

  FlowDrawOptions draw_;
  double max_motion_;
};

}  // namespace ocellus::app
