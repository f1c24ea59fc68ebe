// Whether the system has memory for what a file says of itself.
#pragma once

#include <cstdlib>

#include "core/failure.h"

namespace ocellus::detail {

/// A std::vector that gets no memory ends the program. A reader calls this before it makes vectors
/// whose sizes a file decides. `what`: names the file in the error. Errors: OutOfMemory.
inline Expected<void> check_memory(const char* what, std::uint64_t bytes) noexcept {
  void* const probe = bytes > SIZE_MAX ? nullptr : std::malloc(static_cast<std::size_t>(bytes));
  const bool given = probe != nullptr;
  std::free(probe);
  if (given || bytes == 0) return {};
  return tl::unexpected(make_error(Status::kOutOfMemory,
                                   "%s: the system gave no memory for its %llu bytes", what,
                                   static_cast<unsigned long long>(bytes)));
}

}  // namespace ocellus::detail
