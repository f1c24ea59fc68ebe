// Status, Error and Expected: how every call of the library reports failure. Nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

namespace ocellus {

/// What happened. Only kOk means success.
enum class Status : std::uint8_t {
  kOk = 0,
  kInvalidArgument,     ///< a value of the call or of the configuration is out of its range
  kUnsupported,         ///< valid, but not on this backend or in this build
  kOutOfMemory,         ///< the engine's block is too small, or the system gave none
  kQueueFull,           ///< as many frames are in flight as the operator's depth allows
  kInvalidTicket,       ///< not a ticket of this operator, already waited for, or dropped by reset
  kDeadlineMissed,      ///< not done yet; the frame still belongs to the operator
  kBackendUnavailable,  ///< the backend asked for is not in this build or not on this machine
  kDeviceLost,          ///< the device answers no more; the operator cannot be used again
  kCorruptFile,         ///< a model, filter or kernel file is truncated, damaged or not ours
  kIoError,             ///< a file could not be opened, read or written
  kSystem,              ///< the operating system refused (threads, affinity, priority, locking)
};

/// One short English sentence for a status, static storage.
const char* status_message(Status status) noexcept;

/// The enumerator's name without the k ("InvalidArgument"), static storage.
const char* status_name(Status status) noexcept;

/// A status and the details: what was wrong and what would be right. Fixed size, no allocation.
struct [[nodiscard]] Error {
  static constexpr std::size_t kTextCapacity = 240;

  Status status = Status::kOk;
  char text[kTextCapacity] = {};  ///< NUL-terminated, cut off at the capacity
};

/// Makes an Error with a printf-formatted text.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
Error make_error(Status status, const char* format, ...) noexcept;

/// A value or an Error; the interface of C++23's std::expected. Reading the value of a failed
/// Expected ends the program (the library is built without exceptions), so test it first.
template <typename T>
using Expected = tl::expected<T, Error>;

}  // namespace ocellus
