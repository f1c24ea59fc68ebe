// Gray images in binary PGM files.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Reads a binary PGM file (P5, 8 or 16 bits) of this size. `values`: width * height numbers, row
/// by row, 0 for black to 1 for the largest value. Allocates nothing. Errors: IoError,
/// InvalidArgument (another size or another kind of file), CorruptFile.
Expected<void> read_pgm(const char* path, ImageSize size, float* values) noexcept;

}  // namespace ocellus::detail
