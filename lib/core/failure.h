// Short forms for the errors that the library's own checks return.
#pragma once

#include "ocellus/status.h"

namespace ocellus::detail {

/// An Error of kInvalidArgument; printf's format. The text names the field, its value and what
/// would be right.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> invalid_argument(const char* format,
                                                                             ...) noexcept;

}  // namespace ocellus::detail
