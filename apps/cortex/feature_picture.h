// A picture of the features that the lowest level of a cortical classifier has learned.
#pragma once

#include <string>

#include "ocellus/cortex_training.h"

namespace ocellus::app {

/// Writes the minicolumns of the hypercolumn in the middle of the lowest level to a PNG, 16 in a
/// row. Gray levels are the probabilities that a pixel of the window is active, of (a) in
/// ocellus/cortex_model.h: 0 is black. Throws InputError.
void write_feature_picture(const std::string& path, const TrainedCortex& cortex);

}  // namespace ocellus::app
