// Short forms for the errors that the library's own code returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "ocellus/status.h"

namespace ocellus::detail {

/// Precision of printf's "%.*s" for a text of the user that may be long.
inline int shown(std::string_view text) noexcept {
  return static_cast<int>(std::min<std::size_t>(text.size(), 60));
}

/// An Error of kInvalidArgument; printf's format. The text names the field, its value and what
/// would be right.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> invalid_argument(const char* format,
                                                                             ...) noexcept;

/// An Error of kOutOfMemory: the system, not the engine's block, had none for an operator's object.
tl::unexpected<Error> no_memory_for_operator() noexcept;

}  // namespace ocellus::detail
