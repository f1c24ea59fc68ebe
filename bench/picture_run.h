// PictureRun: an engine with one operator on it, whose only plane is a gray picture.
#pragma once

#include "apps/io/operator_run.h"

namespace ocellus::app {

/// The picture has 8 or 16 bits.
class PictureRun {
 public:
  /// Throws InputError with the library's reason.
  PictureRun(const EngineConfig& engine, const OperatorConfig& config)
      : image_(info_of(config).planes[0].size, info_of(config).planes[0].format),
        output_(output_of(image_)),
        run_(engine, config, &output_) {}

  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }
  const RunningOperator& op() const { return run_.op(); }
  const GrayImage& image() const { return image_; }
  const OperatorInfo& info() const { return run_.op().info(); }
  const EngineInfo& engine() const { return run_.engine(); }

 private:
  static OperatorOutput output_of(GrayImage& image) {
    OperatorOutput output;
    output.planes[0] = {image.pixels.data(), image.size,         image.stride(),
                        image.format,        MemorySpace::kHost, nullptr};
    return output;
  }

  GrayImage image_;
  OperatorOutput output_;
  OperatorRun run_;
};

}  // namespace ocellus::app
