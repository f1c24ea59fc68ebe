// The steps of the variational solver on bands of rows. A warp, its linear system and all sweeps
// run in one pass over the rows: each half sweep follows one row behind the one before. What a band
// needs of its neighbors it computes itself, so the result does not depend on the bands.
#pragma once

#include <cstddef>

#include "core/layout_builder.h"
#include "image/separable_filter.h"
#include "image/warp.h"
#include "optical_flow/variational.h"

namespace ocellus::detail {

/// A plane of floats with room before and after each row.
struct FloatPlane {
  static constexpr int kMargin = 16;

  float* origin = nullptr;  // pixel (0, 0)
  std::size_t stride = 0;

  float* row(int y) const noexcept {
    return origin + static_cast<std::ptrdiff_t>(y) * static_cast<std::ptrdiff_t>(stride);
  }
};
struct FlowPlanes {
  FloatPlane u;
  FloatPlane v;
};

/// The planes of a level. Their pixel (0, 0) is (x, y) of the image. Rows of the flow and of the
/// guide repeat their ends kGuidedReach times.
struct VariationalLevel {
  WarpSource next;        ///< the whole next frame
  FloatPlane reference;   ///< the frame whose flow is computed, smoothed like the next one
  FloatPlane guide;       ///< the same frame before it was smoothed
  FloatPlane residual;    ///< of the last warp
  FloatPlane confidence;  ///< its origin is null on all levels but the finest
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  float smoothness = 0.0f;
  int half_sweeps = 0;
  int reweightings = 0;
};

/// The steps of one worker, with its memory.
class VariationalSolver {
 public:
  /// For rows of `width` pixels.
  void layout(LayoutBuilder& builder, int width, const PyramidConfig& config) noexcept;

  /// Gives pixels the flow of a neighbor that fits better.
  void candidates(const VariationalLevel& level, const FlowPlanes& in, const FlowPlanes& out,
                  int begin, int end) const noexcept;
  /// One warp. The last one of a level keeps its residual and has no median.
  void refine(const VariationalLevel& level, const FlowPlanes& in, const FlowPlanes& out, bool last,
              int begin, int end) const noexcept;
  void guided_median(const VariationalLevel& level, const FlowPlanes& in, const FlowPlanes& out,
                     int begin, int end) const noexcept;

 private:
  /// The last rows of a plane.
  struct Ring {
    float* rows = nullptr;
    std::size_t stride = 0;
    int mask = 0;

    float* row(int y) const noexcept {
      return rows + static_cast<std::size_t>(y & mask) * stride + FloatPlane::kMargin;
    }
  };
  /// A ring of rows whose even and odd pixels are apart.
  struct ColorRing {
    Ring color[2];
  };

  Ring mean_, residual_, ix_, iy_, right_, down_, joined_[2];
  Ring match_[5], trust_;
  ColorRing u_, v_, inverse_[3], constant_[2], right_color_, down_color_;
  float* line_[5] = {};  // with margins
  float* zeros_ = nullptr;
};

}  // namespace ocellus::detail
