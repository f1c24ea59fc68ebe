// FlowMethod::kPyramid in double precision, plane by plane over whole images: Lucas-Kanade coarse
// to fine as docs/optical_flow.md describes it.
#pragma once

#include <vector>

#include "ocellus/optical_flow.h"
#include "support/plane.h"

namespace ocellus::reference {

struct PyramidResult {
  test::PlaneD u;
  test::PlaneD v;
  test::PlaneD confidence;
};

/// The flow after the last of `frames`, which are all that have come, oldest first, in gray levels.
/// Neither the region of interest nor the confidence threshold is looked at.
PyramidResult pyramid_flow(const std::vector<test::PlaneD>& frames,
                           const OpticalFlowConfig& config);

}  // namespace ocellus::reference
