// A list of frames whose characters are known, from which `ocellus train digits` learns.
#pragma once

#include <string>

#include "ocellus/labeled_images.h"

namespace ocellus::app {

/// Reads a text file with a frame on each line: an image file, the characters in it, and their
/// boxes as in `--fields` of `ocellus digits`. Each character of the text is a class. Paths begin
/// at the folder of the list. Lines that are empty or begin with # are skipped. Throws InputError
/// that names the line.
LabeledImages read_labeled_frames(const std::string& path);

}  // namespace ocellus::app
