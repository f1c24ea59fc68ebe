// The fields of a frame as text: in an option, and in a file.
#pragma once

#include <string_view>

#include "ocellus/neocognitron.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Adds the field "x,y,width,height". Errors: InvalidArgument.
Expected<void> add_field(std::string_view text, TextFields& fields) noexcept;

/// Reads a file with a field on each line. What follows a # is a comment. Errors: IoError, and
/// InvalidArgument with the path and the number of the line.
Expected<void> read_fields_file(const char* path, TextFields& fields) noexcept;

}  // namespace ocellus::detail
