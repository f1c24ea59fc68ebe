// Halves and doubles images, row by row. Pixel (x, y) of a level corresponds to (2x, 2y) of the
// next finer level.
#pragma once

namespace ocellus::detail {

/// Computes one row of the half-size image: [1 4 6 4 1] / 16 in both directions, then every second
/// pixel. `rows` are the five rows around source row 2y, with the edges repeated by the caller.
/// `work` is a row of width_in floats with a margin of 2 before and kRowSlack + 2 after it. Writes
/// (width_in + 1) / 2 pixels.
void reduce_row(const float* const* rows, int width_in, float* work, float* out) noexcept;

/// Computes one row of the double-size flow: the mean of the nearest coarse values, times 2,
/// because one coarse pixel spans two fine pixels. `upper` and `lower` are the coarse rows y/2 and
/// (y+1)/2, which are the same for even y. Both must be readable up to column (width_out + 1) / 2,
/// with the last value repeated. If width_out is odd, one more float is written.
void expand_flow_row(const float* upper, const float* lower, float* out, int width_out) noexcept;

}  // namespace ocellus::detail
