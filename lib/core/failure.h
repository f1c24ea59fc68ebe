// Short forms for the errors that the library's own code returns.
#pragma once

#include "ocellus/status.h"

namespace ocellus::detail {

/// An Error of kInvalidArgument; printf's format. The text names the field, its value and what
/// would be right.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> invalid_argument(const char* format,
                                                                             ...) noexcept;

/// An Error of kOutOfMemory: the system, not the engine's block, had none for an operator's object.
tl::unexpected<Error> no_memory_for_operator() noexcept;

}  // namespace ocellus::detail
