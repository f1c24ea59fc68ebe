// Square medians, row by row.
#pragma once

namespace ocellus::detail {

/// out[x] = median of the size x size pixels around x; size is 3 or 5. `rows` are the `size` rows
/// around it, each readable size/2 before and behind the row, edges repeated by the caller. Without
/// NaN.
void median_row(const float* const* rows, int size, float* out, int width) noexcept;

}  // namespace ocellus::detail
