// Levels of a hierarchy of hypercolumns on the command line.
#pragma once

#include <string>

#include "ocellus/cortical_network.h"

namespace ocellus::app {

/// Parses a level of --levels such as 12x12/2x2:256: window, stride, minicolumns. Throws
/// InputError.
CorticalLevel parse_level(const std::string& text);

}  // namespace ocellus::app
