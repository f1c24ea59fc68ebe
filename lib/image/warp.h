// Backward warping of an image by a flow field, row by row.
#pragma once

#include <cstddef>

namespace ocellus::detail {

/// Pixels that a source of a warp must repeat beyond its edges: kWarpBefore to the left and above,
/// kWarpAfter to the right and below.
inline constexpr int kWarpBefore = 1;
inline constexpr int kWarpAfter = 2;

struct WarpSource {
  const float* pixels;  ///< pixel (0, 0)
  std::size_t stride;   ///< floats; height x stride must be below 2^31
  int width;
  int height;
};

/// out[i] = source at (x + i + scale u[i], y + scale v[i]), with the position held inside the
/// image. Interpolation is Catmull-Rom (cubic) or bilinear. A position that is not a number counts
/// as 0. Reads u and v up to kRowSlack beyond `width`, like all rows.
void warp_row(const WarpSource& source, int x, int y, const float* u, const float* v, float scale,
              bool cubic, float* out, int width) noexcept;

}  // namespace ocellus::detail
