// Reading the states that a cellular network begins with. GStreamer's decoders would need a
// pipeline of their own; a binary PGM needs none.
#pragma once

#include <glib.h>

#include <vector>

#include "ocellus/frame.h"
#include "ocellus/status.h"

/// States, -1 to 1, of the gray values of a binary PGM file (P5, 8 or 16 bits), row by row.
/// It must be a regular file, of which no more is read than such an image can need. Errors: IoError
/// (no such file, a device, a pipe), InvalidArgument (another format, another size).
ocellus::Expected<std::vector<float>> gst_ocellus_read_states(const char* path,
                                                              ocellus::ImageSize size,
                                                              bool white_is_one);
