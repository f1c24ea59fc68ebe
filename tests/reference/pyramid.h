// FlowMethod::kPyramid with FlowSolver::kLucasKanade in double precision, plane by plane over whole
// images, as described in docs/optical_flow_method.md.
#pragma once

#include <vector>

#include "ocellus/optical_flow.h"
#include "reference/deviation.h"
#include "support/plane.h"

namespace ocellus::reference {

struct PyramidResult {
  test::PlaneD u;
  test::PlaneD v;
  test::PlaneD confidence;
};

/// The flow after the last of `frames`, which are all frames so far, oldest first, in gray levels.
/// The region of interest and the confidence threshold are ignored.
PyramidResult pyramid_flow(const std::vector<test::PlaneD>& frames,
                           const OpticalFlowConfig& config);

/// The standard deviation of the flow of either solver, from the flow after all steps (the whole
/// image, NaN where it is invalid).
DeviationRange pyramid_deviation(const std::vector<test::PlaneD>& frames,
                                 const OpticalFlowConfig& config, const test::PlaneD& u,
                                 const test::PlaneD& v);

}  // namespace ocellus::reference
