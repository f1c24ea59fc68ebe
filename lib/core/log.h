// log_message: calls the log callback.
#pragma once

#include "ocellus/log.h"

namespace ocellus::detail {

/// Formats the message in a fixed buffer and calls the callback if one is set. Not for use in the
/// steady state.
__attribute__((format(printf, 2, 3))) void log_message(LogLevel level, const char* format,
                                                       ...) noexcept;

}  // namespace ocellus::detail
