// The window sums and the 2x2 solution of equation (3), row by row.
#pragma once

#include <cstddef>

#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Products that the window sums: IxIx, IxIy, IyIy, IxIt, IyIt.
inline constexpr int kProducts = 5;

/// Writes the five products of one row of derivatives to out[p][x].
void derivative_products_row(const float* ix, const float* iy, const float* it, float* const* out,
                             int width) noexcept;

struct SolveRow {
  /// rows[p][k]: product p, filtered along the row. k = 0 is the center row, 2k-1 the row k above
  /// it, and 2k the row k below it.
  const float* rows[kProducts][kMaxWindow];
  const float* weight;  ///< OpticalFlowPlan::weight
  int radius;
  float ridge;      ///< added to the diagonal
  float threshold;  ///< threshold of the confidence
  float invalid;    ///< written for u and v where the solution is not valid
  float* u;
  float* v;
  float* confidence;
  int width;
};

/// Sums the rows and solves. All rows must have kRowSlack.
void lucas_kanade_solve_row(const SolveRow& row) noexcept;

}  // namespace ocellus::detail
