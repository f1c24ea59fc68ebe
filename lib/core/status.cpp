#include "ocellus/status.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "core/failure.h"
#include "core/log.h"

namespace ocellus {
namespace {

struct StatusTexts {
  const char* name;
  const char* message;
};
/// In the order of Status.
constexpr StatusTexts kStatuses[] = {
    {"Ok", "success"},
    {"InvalidArgument", "a value is out of its range"},
    {"Unsupported", "not supported by this backend or build"},
    {"OutOfMemory", "not enough memory"},
    {"QueueFull", "as many frames are in flight as the depth allows"},
    {"InvalidTicket", "not a ticket in flight"},
    {"DeadlineMissed", "not done before the deadline"},
    {"BackendUnavailable", "the backend is not available"},
    {"DeviceLost", "the device is lost"},
    {"CorruptFile", "the file is damaged or of another kind"},
    {"IoError", "the file could not be read or written"},
    {"System", "the operating system refused"},
    {"Stopped", "the operator was stopped"},
};
static_assert(std::size(kStatuses) == static_cast<std::size_t>(Status::kStopped) + 1);

StatusTexts texts_of(Status status) noexcept {
  const auto number = static_cast<std::size_t>(status);
  return number < std::size(kStatuses) ? kStatuses[number]
                                       : StatusTexts{"Unknown", "unknown status"};
}

}  // namespace

const char* status_message(Status status) noexcept {
  return texts_of(status).message;
}
const char* status_name(Status status) noexcept {
  return texts_of(status).name;
}

Error make_error(Status status, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const Error error = detail::format_error(status, format, arguments);
  va_end(arguments);
  return error;
}

namespace detail {

void abort_on_value_of(const Error& error) noexcept {
  log_message(LogLevel::kError, "the value of a failed Expected was read; its error is %s: %s",
              status_name(error.status), error.text);
  std::abort();
}

void abort_on_error_of_success() noexcept {
  log_message(LogLevel::kError, "the error of a successful Expected was read");
  std::abort();
}

}  // namespace detail
}  // namespace ocellus
