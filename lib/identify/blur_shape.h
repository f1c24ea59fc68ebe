// Blurs that a few numbers describe.
#pragma once

#include <vector>

namespace ocellus::identify {

struct BlurShape {
  enum class Kind { kNone, kGaussian, kDisk, kMotion };

  Kind kind = Kind::kNone;
  double size = 0.0;   ///< sigma, radius or length, in pixels
  double angle = 0.0;  ///< of the motion, in degrees, counterclockwise from the x axis
  double x = 0.0;      ///< displacement, in pixels
  double y = 0.0;

  /// "gaussian", "disk", "motion", or "" for kNone.
  const char* name() const;
};

/// The kernel of a shape that is not kNone, (2 radius + 1)^2 values with the sum 1. What lies
/// outside is cut off or, for a motion, moved to the border.
std::vector<double> draw(const BlurShape& shape, int radius);

}  // namespace ocellus::identify
