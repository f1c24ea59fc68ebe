// Runs Halftone or Cnn with the image that it writes.
#pragma once

#include "apps/io/picture_command.h"
#include "ocellus/cellular_network.h"

namespace ocellus::app {

/// An engine with one of the two operators on it.
class CellRun : public PictureRun {
 public:
  using PictureRun::PictureRun;

  /// The record of the last frame.
  const CellularNetworkRecord& record() const { return op().record<CellularNetworkRecord>(); }
};

}  // namespace ocellus::app
