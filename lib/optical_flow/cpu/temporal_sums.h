// Temporal sums of rows of stored frames.
#pragma once

#include "ocellus/frame.h"

namespace ocellus::detail {

/// out[s][x] = sum over tau of taps[s][tau] frames[tau][x], for `sums` sums, without scaling. Rows
/// of frames must be readable, and rows of out writable, up to kRowSlack beyond `width`.
void temporal_sums_row(const void* const* frames, PixelFormat format, int nt,
                       const float* const* taps, int sums, float* const* out, int width) noexcept;

}  // namespace ocellus::detail
