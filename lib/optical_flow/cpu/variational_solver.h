// The steps of the variational solver on bands of rows. A warp, its linear system and all sweeps
// run in one pass over the rows: each half sweep follows one row behind the one before. What a band
// needs of its neighbors it computes itself, so the result does not depend on the bands.
#pragma once

#include <array>

#include "image/warp.h"
#include "optical_flow/cpu/planes.h"
#include "optical_flow/pyramid_plan.h"
#include "optical_flow/variational.h"

namespace ocellus::detail {

using FlowPlanes = std::array<FloatPlane, 2>;  ///< u and v

/// Repeats the ends of a row of the flow or of the guide, as the solver reads them.
inline void extend_flow_row(float* row, int width) noexcept {
  replicate_edges(row, width, kGuidedReach, kGuidedReach);
}

/// The planes of a level. Their pixel (0, 0) is the first one of `region`. Rows of the flow and of
/// the guide repeat their ends kGuidedReach times.
struct VariationalLevel {
  WarpSource next;        ///< the whole next frame
  FloatPlane reference;   ///< the frame whose flow is computed, smoothed like the next one
  FloatPlane guide;       ///< the same frame before it was smoothed
  FloatPlane residual;    ///< of the last warp
  FloatPlane confidence;  ///< its origin is null on all levels but the finest
  Rect region;            ///< of the image
  float smoothness;
  int half_sweeps;
  int reweightings;
};

inline constexpr int kCandidates = 5;  ///< the flow of the pixel itself, then those of neighbors

/// Memory of one worker.
struct VariationalScratch {
  /// A ring of rows whose even and odd pixels are apart.
  using ColorRing = std::array<RowRing, 2>;

  RowRing mean, residual, ix, iy, right, down, joined[2], match[kCandidates], trust, zeros;
  RowRing lines;  // of one row of the image
  ColorRing flow[2], inverse[3], constant[2], right_color, down_color;

  /// For rows of `width` pixels.
  void layout(LayoutBuilder& builder, int width, const PyramidConfig& config) noexcept;
};

/// Computes rows [begin, end) of a step:
///
///     kCandidates    gives pixels the flow of a neighbor that fits better
///     kRefine        one warp and its solution; the last one of a level keeps its residual and
///                    has no median
///     kGuidedMedian  takes the median of the flow of pixels that look alike
void variational_step(const PyramidStep& step, const VariationalLevel& level, const FlowPlanes& in,
                      const FlowPlanes& out, int begin, int end,
                      const VariationalScratch& scratch) noexcept;

}  // namespace ocellus::detail
