// The errors of the identification. The library uses no internal function of ocellus, which a
// shared library does not export.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "ocellus/status.h"

namespace ocellus::identify {

/// Makes an Error of kInvalidArgument from a printf format. The text names the value and the valid
/// values.
__attribute__((format(printf, 1, 2))) inline tl::unexpected<Error> invalid_argument(
    const char* format, ...) noexcept {
  char text[Error::kTextCapacity];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return tl::unexpected(make_error(Status::kInvalidArgument, "%s", text));
}

}  // namespace ocellus::identify
