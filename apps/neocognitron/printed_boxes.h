// The printed boxes of a form, which are fields with text.
#pragma once

#include <vector>

#include "apps/io/image_io.h"

namespace ocellus::app {

/// Finds rectangles of thin lines, in reading order. A box around other boxes is none. Boxes that
/// share a line are found as one.
std::vector<Rect> find_printed_boxes(const GrayImage& image);

}  // namespace ocellus::app
