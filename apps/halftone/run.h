// Runs Halftone or Cnn with the image that it writes.
#pragma once

#include "apps/common/operator_run.h"
#include "apps/io/image_io.h"
#include "ocellus/cellular_network.h"

namespace ocellus::app {

/// An engine with one of the two operators on it.
class CellRun {
 public:
  /// Throws InputError with the library's reason.
  CellRun(const EngineConfig& engine, const OperatorConfig& config)
      : image_(info_of(config).planes[0].size, info_of(config).planes[0].format),
        output_(output_of(image_)),
        run_(engine, config, &output_) {}

  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }
  /// The record of the last frame.
  const CellularNetworkRecord& record() const { return run_.op().record<CellularNetworkRecord>(); }
  const GrayImage& image() const { return image_; }
  const OperatorInfo& info() const { return run_.op().info(); }
  const EngineInfo& engine() const { return run_.engine(); }
  const Footprint& footprint() const { return run_.footprint(); }

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
