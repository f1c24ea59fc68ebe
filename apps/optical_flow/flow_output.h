// What commands that write flow fields share: the options of drawing, and the files or the video of
// the fields.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/operator_options.h"
#include "apps/io/flow_file.h"
#include "apps/io/frame_output.h"
#include "ocellus/flow_draw.h"
#include "ocellus/moving_objects.h"

namespace ocellus::app {

/// The options of OverlayConfig.
class FlowDrawOptions {
 public:
  /// `names`: those to offer; all if it is empty.
  explicit FlowDrawOptions(const std::vector<std::string>& names = {})
      : options_(OverlayConfig::options(), names) {}

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
  TableOptions options_;
};

/// The given drawing options that have no effect on this output. `video`: whether it is one.
/// `objects`: whether moving objects are found, with the same thresholds.
std::vector<UnusedOptions> unused_draw_options(const std::string& output, bool video,
                                               bool objects = false);

/// Where the fields of one or all frames are written: .flo or .png files, or a video.
class FlowFieldOutput : public FrameOutput {
 public:
  /// `objects`: without a size, and without the thresholds, which are those of `draw`.
  FlowFieldOutput(const FrameOptions& frames, const OverlayConfig& draw,
                  const MovingObjectsConfig& objects, double source_fps);

  /// Whether the output is a .png file or a video.
  bool colored() const { return !none() && extension() != ".flo"; }
  float max_motion() const { return max_motion_; }

  /// Finds the objects of this field and returns them until the next call. Throws InputError.
  std::span<const MovingObject> find_objects(FlowField& field);
  /// With those beyond the largest number.
  int objects_found() const { return finder_ ? finder_->found() : 0; }
  /// The time that the last search for objects took.
  double finding_ms() const { return finding_ms_; }
  /// Throws InputError. In a video, only what belongs to an object is drawn. `found`: what
  /// `find_objects` has returned for this field; the boxes of these objects are drawn, too.
  void write(FlowField& field, const InputFrame& frame, const Rect& roi,
             const std::optional<std::span<const MovingObject>>& found = {});

 private:
  OverlayConfig draw_;
  MovingObjectsConfig objects_;
  std::optional<MovingObjects> finder_;
  double finding_ms_ = 0.0;
  float max_motion_;
};

}  // namespace ocellus::app
