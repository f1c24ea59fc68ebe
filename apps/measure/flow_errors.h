// The errors of a flow field against the truth.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/io/flow_file.h"

namespace ocellus::app {

/// Errors over the compared pixels: known in the truth, inside mask and border, and valid in the
/// result.
struct FlowErrors {
  std::int64_t counted = 0;  ///< pixels with known truth inside mask and border
  std::int64_t compared =
      0;  ///< of those, valid in the result (and, with a density, among the most confident)
  std::int64_t invalid = 0;  ///< of those, invalid in the result
  double mean = 0.0;         ///< end-point error, pixels
  double median = 0.0;
  double deviation = 0.0;
  double above_half =
      0.0;  ///< fraction of pixels with an end-point error above 0.5, 1 and 3 pixels
  double above_one = 0.0;
  double above_three = 0.0;
  double angle_mean =
      0.0;  ///< degrees between (u, v, 1) and the truth's (Barron, Fleet and Beauchemin 1994)
  double angle_deviation = 0.0;

  double density() const {
    return counted > 0 ? static_cast<double>(compared) / static_cast<double>(counted) : 0.0;
  }
};

struct ErrorSelection {
  const std::vector<std::uint8_t>* mask = nullptr;  ///< pixels where it is not 0 are compared
  int border = 0;                                   ///< pixels to leave out on all sides
  const std::vector<float>* confidence = nullptr;
  double density =
      100.0;  ///< with confidence: percent of the counted pixels to keep, the most confident ones
};

/// Both fields must have the same size.
FlowErrors flow_errors(const FlowField& result, const FlowField& truth,
                       const ErrorSelection& selection);

}  // namespace ocellus::app
