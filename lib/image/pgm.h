// Gray images in binary PGM files.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// The size in the header of a binary PGM file, at most 1000000 along each side. Does not allocate.
/// Errors: IoError, InvalidArgument (another file type), CorruptFile.
Expected<ImageSize> read_pgm_size(const char* path) noexcept;

/// Reads a binary PGM file (P5, 8 or 16 bits) of this size. Writes width * height numbers to
/// `values`, row by row, from 0 for black to 1 for the largest value. Does not allocate. Errors:
/// IoError, InvalidArgument (another size or file type), CorruptFile.
Expected<void> read_pgm(const char* path, ImageSize size, float* values) noexcept;

}  // namespace ocellus::detail
