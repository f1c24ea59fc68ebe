// The library's side of the log callback.
#pragma once

#include "ocellus/log.h"

namespace ocellus::detail {

/// Formats into a fixed buffer and calls the callback, if one is set. Not for the steady state.
__attribute__((format(printf, 2, 3))) void log_message(LogLevel level, const char* format,
                                                       ...) noexcept;

}  // namespace ocellus::detail
