// WindowSolver: Lucas-Kanade over bands of rows of three derivative planes.
#pragma once

#include "core/arena.h"
#include "image/separable_filter.h"
#include "optical_flow/cpu/lucas_kanade.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct WindowScratch {
  float* products = nullptr;  ///< kProducts rows with room for the window on both sides
  float* filtered = nullptr;  ///< window x kProducts rows: products filtered along the row
  float* result = nullptr;    ///< 3 rows
};

struct WindowPlanes {
  const float* ix;
  const float* iy;
  const float* it;
  std::size_t stride;  ///< floats, row_stride at least
  int width;           ///< of the derivative planes
  int height;
  Rect solve;          ///< where flow is wanted, in these planes
};

/// Where rows of results go: rows of `solve`, with any stride in bytes; confidence may be null.
struct WindowOutput {
  float* u;
  float* v;
  float* confidence;
  std::ptrdiff_t stride;
};

class WindowSolver {
 public:
  /// Floats left of a row of products: the window's radius, in whole vectors.
  static constexpr int kMargin = 16;

  static void layout(Carver& carver, int width, int window, WindowScratch& scratch) noexcept;

  /// Solves rows [begin, end) of planes.solve.
  static void solve(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid, const WindowScratch& scratch, int begin,
                    int end, const WindowOutput& out) noexcept;
};

}  // namespace ocellus::detail
