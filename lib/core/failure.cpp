#include "core/failure.h"

#include <cstdarg>
#include <cstdio>

namespace ocellus::detail {

tl::unexpected<Error> invalid_argument(const char* format, ...) noexcept {
  Error error;
  error.status = Status::kInvalidArgument;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error.text, sizeof(error.text), format, arguments);
  va_end(arguments);
  return tl::unexpected(error);
}

tl::unexpected<Error> no_memory_for_operator() noexcept {
  return tl::unexpected(
      make_error(Status::kOutOfMemory, "the system gave no memory for the operator"));
}

}  // namespace ocellus::detail
