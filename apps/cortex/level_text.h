// Levels of a hierarchy of hypercolumns on the command line.
#pragma once

#include <string>

#include "ocellus/cortex_model.h"

namespace ocellus::app {

/// Parses a level of --levels such as 12x12/2x2:256: window, stride, minicolumns. Throws
/// InputError.
CorticalLevel parse_level(const std::string& text);

/// Reads a lowest level of free fields, such as "15*78:200": hypercolumns, inputs and minicolumns.
/// Returns false if the text has no star. Throws InputError.
bool parse_fields(const std::string& text, CortexParameters& parameters);

}  // namespace ocellus::app
