// Backward warping of an image by a flow field, row by row.
#pragma once

#include <cstddef>

namespace ocellus::detail {

/// Pixels beyond its edges that the source of a warp must provide by repetition: kWarpBefore to the
/// left and above, kWarpAfter to the right and below.
inline constexpr int kWarpBefore = 1;
inline constexpr int kWarpAfter = 2;

struct WarpSource {
  const float* pixels;  ///< pixel (0, 0)
  std::size_t stride;   ///< floats from row to row; height x stride must be below 2^31
  int width;
  int height;
};

/// out[i] = source at (x + i + u[i], y + v[i]), with the position clamped to the image.
/// Interpolation is Catmull-Rom (cubic) or bilinear. A NaN position counts as 0. Reads up to
/// kRowSlack floats of u and v beyond `width`.
void warp_row(const WarpSource& source, int x, int y, const float* u, const float* v, bool cubic,
              float* out, int width) noexcept;

}  // namespace ocellus::detail
