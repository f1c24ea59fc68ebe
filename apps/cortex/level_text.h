// Levels of a hierarchy of hypercolumns on the command line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ocellus/cortex_model.h"

namespace ocellus::app {

/// Parses the levels of --levels, each such as 12x12/2x2:256: window, stride, minicolumns. With
/// `fields`, the lowest level may be one of free fields, such as "15*78:200": hypercolumns, inputs
/// and minicolumns. Returns the number of levels. Throws InputError.
int parse_levels(const std::vector<std::string>& texts, std::span<CorticalLevel> levels,
                 CortexParameters* fields = nullptr);

}  // namespace ocellus::app
