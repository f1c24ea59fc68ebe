#include "ocellus/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "core/log.h"

namespace ocellus {
namespace {

__attribute__((format(printf, 2, 0))) Error format_error(Status status, const char* format,
                                                         va_list arguments) noexcept {
  Error error;
  error.status = status;
  std::vsnprintf(error.text, sizeof(error.text), format, arguments);
  return error;
}

}  // namespace

const char* status_message(Status status) noexcept {
  switch (status) {
    case Status::kOk:
      return "success";
    case Status::kInvalidArgument:
      return "a value is out of its range";
    case Status::kUnsupported:
      return "not supported by this backend or build";
    case Status::kOutOfMemory:
      return "not enough memory";
    case Status::kQueueFull:
      return "as many frames are in flight as the depth allows";
    case Status::kInvalidTicket:
      return "not a ticket in flight";
    case Status::kDeadlineMissed:
      return "not done before the deadline";
    case Status::kBackendUnavailable:
      return "the backend is not available";
    case Status::kDeviceLost:
      return "the device is lost";
    case Status::kCorruptFile:
      return "the file is damaged or of another kind";
    case Status::kIoError:
      return "the file could not be read or written";
    case Status::kSystem:
      return "the operating system refused";
    case Status::kStopped:
      return "the operator was stopped";
  }
  return "unknown status";
}

const char* status_name(Status status) noexcept {
  switch (status) {
    case Status::kOk:
      return "Ok";
    case Status::kInvalidArgument:
      return "InvalidArgument";
    case Status::kUnsupported:
      return "Unsupported";
    case Status::kOutOfMemory:
      return "OutOfMemory";
    case Status::kQueueFull:
      return "QueueFull";
    case Status::kInvalidTicket:
      return "InvalidTicket";
    case Status::kDeadlineMissed:
      return "DeadlineMissed";
    case Status::kBackendUnavailable:
      return "BackendUnavailable";
    case Status::kDeviceLost:
      return "DeviceLost";
    case Status::kCorruptFile:
      return "CorruptFile";
    case Status::kIoError:
      return "IoError";
    case Status::kSystem:
      return "System";
    case Status::kStopped:
      return "Stopped";
  }
  return "Unknown";
}

Error make_error(Status status, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const Error error = format_error(status, format, arguments);
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
