// Writes a filter file (*.ocellus). lib/restoration/restoration_filter.fbs describes it.
#pragma once

#include <string>

#include "ocellus/restoration_filter.h"

namespace ocellus::app {

/// Writes the file, if the library takes the filter. No reader sees half a file. `residual` is the
/// RMS error of a restored picture in gray levels of 8 bits, -1 if it is unknown. Returns what
/// `analyze_filter` says of the filter. Throws InputError.
FilterProperties write_filter_file(const std::string& path, const RestorationFilter& filter,
                                   double residual = -1.0);

}  // namespace ocellus::app
