// Rows on the CPU: results as pixels, and one row of the recursion of a quadrant.
#pragma once

#include <cstddef>

#include "ocellus/frame.h"
#include "ocellus/restoration_filter.h"

namespace ocellus::detail {

/// Writes gray levels as pixels of `format`, rounded and limited to its range.
void write_pixels(const float* gray, PixelFormat format, void* out, int width) noexcept;
/// The same for the sum of four rows.
void write_pixel_sums(const float* const (&rows)[4], PixelFormat format, void* out,
                      int width) noexcept;

/// Floats before a row that are 0, and behind it that may be read and overwritten.
inline constexpr int kRecursionGuard = 32;
inline constexpr int kRecursionSlack = 64;
/// Largest number of columns that are solved at once.
inline constexpr int kMaxRecursionBlock = 16;

/// Coefficients of the feedback within a row, for blocks of n columns, n the number of lanes. In a
/// block that begins at j,
///
///   y(j + p) = sum over l <= p of g(p - l) r(j + l) + sum over s of c(s, p) y(j - s)
///
/// where r is what does not come from the row itself, g the impulse response of b(0, k), and
/// c(s, p) = sum over l <= p of g(p - l) b(0, l + s).
struct RowFeedback {
  alignas(64) float g[kMaxRecursionBlock][kMaxRecursionBlock];  ///< [l][p]
  alignas(64) float c[kMaxFilterSupport][kMaxRecursionBlock];   ///< [s][p], s from 1
};

struct RecursionRow {
  const float* const* x;  ///< m rows: the input at row i, i - 1, ..
  const float* const* y;  ///< m rows: the output; the first one is not used
  const float* a;
  const float* b;
  const RowFeedback* feedback;
  int support = 1;
  int width = 0;
  float* out;
};

/// Computes the tables for the instruction set that run-time dispatch selects. `b` is b(0, k).
void make_row_feedback(const float* b, int support, RowFeedback& feedback) noexcept;
/// Writes `width` values and up to kRecursionSlack - 1 behind them.
void run_recursion_row(const RecursionRow& row) noexcept;

}  // namespace ocellus::detail
