// Halving and doubling of images, row by row. Pixel (x, y) of a level lies at (2x, 2y) of the level
// below.
#pragma once

namespace ocellus::detail {

/// One row of the half-size image: [1 4 6 4 1] / 16 in both directions, then every second pixel.
/// `rows` are five neighboring rows around the source row 2y, edges repeated by the caller; `work`
/// is a row of width_in with a margin of 2 before and kRowSlack + 2 behind. Writes (width_in + 1) /
/// 2 pixels.
void reduce_row(const float* const* rows, int width_in, float* work, float* out) noexcept;

/// One row of the double-size flow: mean of the nearest coarse values, times 2 (a pixel of the
/// coarse level is two of the fine one). `upper` and `lower` are coarse rows y/2 and (y+1)/2, the
/// same for even y, each readable up to column (width_out + 1) / 2, the last value repeated. An odd
/// width_out writes one float more.
void expand_flow_row(const float* upper, const float* lower, float* out, int width_out) noexcept;

}  // namespace ocellus::detail
