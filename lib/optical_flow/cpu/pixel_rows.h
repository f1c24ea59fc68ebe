// Rows of camera pixels to rows of floats in the range of 8 bits.
#pragma once

#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Writes `width` floats, scaled. False when one is not finite (kFloat32 only; they are written as
/// they are).
bool convert_row(const void* in, PixelFormat format, float* out, int width) noexcept;

/// Copies a row of pixels. False when one is not finite.
bool copy_row(const void* in, PixelFormat format, void* out, int width) noexcept;

/// Sums over time: out[s][x] = sum over tau of taps[s][tau] frames[tau][x] for `sums` sums,
/// unscaled. Rows of frames must be readable and rows of out writable up to kRowSlack beyond
/// `width`.
void temporal_sums_row(const void* const* frames, PixelFormat format, int nt,
                       const float* const* taps, int sums, float* const* out, int width) noexcept;

}  // namespace ocellus::detail
