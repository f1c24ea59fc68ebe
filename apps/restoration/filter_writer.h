// Writes a filter file (*.ocellus). lib/restoration/restoration_filter.fbs describes it.
#pragma once

#include <string>

#include "ocellus/restoration_filter.h"

namespace ocellus::app {

/// Writes the file, if the library takes the filter (`analyze_filter`). No reader sees half a file.
/// Throws InputError.
void write_filter_file(const std::string& path, const RestorationFilter& filter);

}  // namespace ocellus::app
