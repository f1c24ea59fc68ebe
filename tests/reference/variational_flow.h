// Variational optical flow between two frames in double precision, plane by plane over whole
// images: coarse to fine, constancy of the gradient, smoothness weighted by edges, successive
// over-relaxation, and a guided weighted median on each level.
#pragma once

#include "support/plane.h"

namespace ocellus::reference {

struct VariationalParameters {
  int levels = 5;          ///< of the pyramid, at most 6
  int warps = 3;           ///< on the finest level
  int coarse_warps = 4;    ///< from the third level on; the second one has the mean of both
  int sweeps = 8;          ///< of the solver after each warp on the finest level
  int coarse_sweeps = 12;  ///< on the other levels
  int reweightings = 2;    ///< iterations of the median after the weighted mean
  double smoothness = 1.2;
};

struct VariationalResult {
  test::PlaneD u;
  test::PlaneD v;
  test::PlaneD
      confidence;  ///< the smaller eigenvalue of the data term, less where flow is doubtful
};

/// The flow from `first` to `second`, which have the same size, in gray levels 0 to 255.
VariationalResult variational_flow(const test::PlaneD& first, const test::PlaneD& second,
                                   const VariationalParameters& parameters = {});

}  // namespace ocellus::reference
