// Gray images in binary PGM files.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Reads a binary PGM file (P5, 8 or 16 bits) of this size. Writes width * height numbers to
/// `values`, row by row, from 0 for black to 1 for the largest value. Does not allocate. Errors:
/// IoError, InvalidArgument (another size or file type), CorruptFile.
Expected<void> read_pgm(const char* path, ImageSize size, float* values) noexcept;

}  // namespace ocellus::detail
