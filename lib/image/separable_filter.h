// Row and column passes of separable filters on rows of floats.
//
// The functions may read and write up to kRowSlack floats beyond `width`; every row buffer of the
// library has this room. The last vector therefore needs no special case, and the value of a pixel
// does not depend on the division of an image into bands.
#pragma once

#include <cstddef>

namespace ocellus::detail {

/// Floats that a row buffer has beyond its width.
inline constexpr int kRowSlack = 16;

/// Floats from row to row in the library's own planes: whole cache lines, with room for kRowSlack.
constexpr std::size_t row_stride(int width) {
  return (static_cast<std::size_t>(width) + kRowSlack + 15) / 16 * 16;
}

/// out[x] = sum over k of taps[k] in[x + k - left], k = 0..n-1, for x in [0, width). `in` must be
/// readable at all of these positions.
void filter_row(const float* in, const float* taps, int n, int left, float* out,
                int width) noexcept;

/// out[x] = sum over k of taps[k] rows[k][x]. With `accumulate`, the sum is added to out[x].
void filter_column(const float* const* rows, const float* taps, int n, float* out, int width,
                   bool accumulate) noexcept;

/// out[x] = weight[0] in[x] + sum over k = 1..radius of weight[k] (in[x-k] + in[x+k]).
void filter_row_symmetric(const float* in, const float* weight, int radius, float* out,
                          int width) noexcept;

/// Writes row[0] to the `left` floats before the row and row[width-1] to the `right` floats after
/// it.
void replicate_edges(float* row, int width, int left, int right) noexcept;

}  // namespace ocellus::detail
