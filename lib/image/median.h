// Median filter with a window of 3x3 pixels, row by row.
#pragma once

namespace ocellus::detail {

/// out[x] = median of the 3x3 pixels around x. `rows` are the three rows around the output row.
/// Each must be readable one pixel before its start and after its end, where the caller repeats the
/// edge. NaN is not supported.
void median_row(const float* const* rows, float* out, int width) noexcept;

}  // namespace ocellus::detail
