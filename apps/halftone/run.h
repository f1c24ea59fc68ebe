// Halftone and Cnn at work, and the image that they write.
#pragma once

#include "apps/io/picture_command.h"
#include "ocellus/cellular_network.h"

namespace ocellus::app {

/// An engine with one of the two on it.
class CellRun : public PictureRun {
 public:
  using PictureRun::PictureRun;

  /// Of the last frame.
  const CellularNetworkRecord& record() const { return op().record<CellularNetworkRecord>(); }
};

}  // namespace ocellus::app
