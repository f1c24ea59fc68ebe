// Median filter with a square window, row by row.
#pragma once

namespace ocellus::detail {

/// out[x] = median of the size x size pixels around x; size is 3 or 5. `rows` are the `size` rows
/// around the output row. Each must be readable size/2 pixels before its start and after its end,
/// where the caller repeats the edge. NaN is not supported.
void median_row(const float* const* rows, int size, float* out, int width) noexcept;

}  // namespace ocellus::detail
