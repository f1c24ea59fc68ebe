#include "core/failure.h"

#include <cstdio>

namespace ocellus::detail {

Error format_error(Status status, const char* format, va_list arguments) noexcept {
  Error error;
  error.status = status;
  std::vsnprintf(error.text, sizeof(error.text), format, arguments);
  return error;
}

tl::unexpected<Error> failure(Status status, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const Error error = format_error(status, format, arguments);
  va_end(arguments);
  return tl::unexpected(error);
}

tl::unexpected<Error> invalid_argument(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const Error error = format_error(Status::kInvalidArgument, format, arguments);
  va_end(arguments);
  return tl::unexpected(error);
}

tl::unexpected<Error> corrupt_file(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const Error error = format_error(Status::kCorruptFile, format, arguments);
  va_end(arguments);
  return tl::unexpected(error);
}

tl::unexpected<Error> no_memory_for_operator() noexcept {
  return failure(Status::kOutOfMemory, "the system gave no memory for the operator");
}

}  // namespace ocellus::detail
