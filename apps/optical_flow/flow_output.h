// What commands that write flow fields share: the options of drawing, and the files or the video of
// the fields.
#pragma once

#include <string>
#include <vector>

#include "apps/common/operator_options.h"
#include "apps/io/flow_file.h"
#include "apps/io/frame_output.h"
#include "ocellus/flow_draw.h"

namespace ocellus::app {

/// The options of OverlayConfig.
class FlowDrawOptions {
 public:
  /// This object must outlive the command.
  void add_to(CLI::App& command) {
    const OverlayConfig defaults;
    options_.add_to(command, "Drawing", &defaults);
  }
  /// Throws InputError.
  OverlayConfig config() const {
    OverlayConfig config;
    options_.set(&config);
    return config;
  }

 private:
  TableOptions options_{OverlayConfig::options()};
};

/// The given drawing options that have no effect on this output. `video`: whether it is one.
/// `objects`: whether moving objects are found, with the same thresholds.
std::vector<UnusedOptions> unused_draw_options(const std::string& output, bool video,
                                               bool objects = false);

/// Writes the fields of one or all frames: to .flo or .png files, or to a video.
class FlowFieldOutput {
 public:
  /// Endings of the files.
  static const std::vector<std::string>& extensions();

  FlowFieldOutput(FrameOutput& output, const OverlayConfig& draw)
      : output_(output), draw_(draw), max_motion_(draw.max_motion) {}

  /// Whether the output is a .png file or a video.
  bool colored() const { return !output_.none() && output_.extension() != ".flo"; }
  float max_motion() const { return max_motion_; }

  /// Takes the region and the thresholds of the operator. `boxes`: those of the objects are drawn.
  void set(const OpticalFlowConfig& config, bool boxes);
  /// Throws InputError. In a video with `objects`, only what belongs to one of them is drawn.
  void write(FlowField& field, const InputFrame& frame,
             const MovingObjectsRecord* objects = nullptr);

 private:
  FrameOutput& output_;
  OverlayConfig draw_;
  bool boxes_ = false;
  float max_motion_;
};

}  // namespace ocellus::app
