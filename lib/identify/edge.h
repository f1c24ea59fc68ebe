// The blur of a straight edge.
#pragma once

#include "identify/blur_estimate.h"
#include "ocellus/identification.h"

namespace ocellus::identify {

struct EdgeFit {
  bool disk = false;   ///< the blur is a disk, else a Gaussian
  double size = 0.0;   ///< radius or sigma, in pixels, without the pixel's own aperture
  double noise = 0.0;  ///< RMS of the residual
  double angle = 0.0;  ///< of the edge's normal, radians
  double contrast = 0.0;
};

/// Fits a straight edge between two uniform areas, blurred by a Gaussian or a disk: least squares
/// over position, angle, both levels and the size of the blur. Errors: InvalidArgument (no edge, or
/// an edge that the model does not describe).
Expected<EdgeFit> fit_edge(const Picture& area);

}  // namespace ocellus::identify
