// ocellus cortex: classifies frames, or the images of an IDX file.
#pragma once

#include <string>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"
#include "apps/io/frame_job.h"
#include "ocellus/cortex.h"

namespace ocellus::app {

/// Values of the command line.
struct CortexCommand : FrameCommand {
  CortexCommand() : FrameCommand("cortex") {}

  std::string images;
  std::string labels;
  int batch = 128;
  std::string save_model;  ///< path; empty: none
};

/// Classifies the images of a command. Returns the exit code. Throws InputError.
int classify_images(const CortexCommand& command);

}  // namespace ocellus::app
