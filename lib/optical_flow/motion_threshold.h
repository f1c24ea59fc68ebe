// MotionThreshold: which vectors of a field are motion. Drawing and the search for objects share
// it.
#pragma once

#include <cmath>

#include "ocellus/optical_flow.h"

namespace ocellus::detail {

class MotionThreshold {
 public:
  /// Without its plane `deviation`, `min_deviations` has no effect.
  MotionThreshold(const FlowOutput& flow, float min_motion, float min_deviations) noexcept
      : deviation_(flow.deviation),
        min_motion_(min_motion),
        min_deviations_(flow.deviation.data != nullptr ? min_deviations : 0.0f) {}

  /// `length`: of the vector at pixel (x, y). False for NaN and infinity.
  bool passes(float length, int x, int y) const noexcept {
    if (!(length > 0.0f) || length < min_motion_ || !std::isfinite(length)) return false;
    // The deviation may be infinite, which 0 must not multiply.
    return !(min_deviations_ > 0.0f) ||
           length >= min_deviations_ * deviation_.row<const float>(y)[x];
  }

 private:
  ImageView deviation_;
  float min_motion_;
  float min_deviations_;
};

}  // namespace ocellus::detail
