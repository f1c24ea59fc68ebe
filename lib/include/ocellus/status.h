// Status, Error and Expected: how the calls of the library report failure. No call throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// The result of a call. Only kOk means success.
enum class Status : std::uint8_t {
  kOk = 0,
  kInvalidArgument,  ///< a value of the call or of the configuration is out of its range
  kUnsupported,      ///< valid, but not on this backend, in this build or after fork()
  kOutOfMemory,      ///< the engine's block is too small, or the system has no memory
  kQueueFull,        ///< the number of frames in flight equals the operator's depth
  kInvalidTicket,    ///< not a ticket of this operator, already waited for, or dropped by `reset`
  kDeadlineMissed,   ///< not done yet; the operator still uses the frame
  kBackendUnavailable,  ///< the requested backend is not in this build or not on this machine
  kDeviceLost,          ///< the device does not respond any more; the operator cannot be used again
  kCorruptFile,  ///< a model, filter or kernel file is truncated, damaged or not of this format
  kIoError,      ///< a file could not be opened, read or written
  kSystem,       ///< the system or CUDA refused a call (threads, priority, a copy)
  kStopped,      ///< `stop` was called: the frame has no result, or was not taken
};

/// Returns one short English sentence for a status. Static storage.
const char* status_message(Status status) noexcept;

/// Returns the enumerator's name without the k ("InvalidArgument"). Static storage.
const char* status_name(Status status) noexcept;

/// A status and a text that says what is wrong and what is valid. Fixed size, no allocation.
struct [[nodiscard]] Error {
  static constexpr std::size_t kTextCapacity = 240;

  Status status = Status::kOk;
  char text[kTextCapacity] = {};  ///< NUL-terminated, truncated at the capacity
};

/// Makes an Error with a printf-formatted text.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
Error make_error(Status status, const char* format, ...) noexcept;

template <typename T>
class Expected;

namespace detail {

/// Passes the text of `error` to the log callback and aborts the program.
[[noreturn]] void abort_on_value_of(const Error& error) noexcept;
/// Aborts the program because the error of a successful Expected was read.
[[noreturn]] void abort_on_error_of_success() noexcept;

template <typename U, typename T>
concept ValueFor =
    std::is_constructible_v<T, U> && !std::is_same_v<std::remove_cvref_t<U>, Expected<T>> &&
    !std::is_same_v<std::remove_cvref_t<U>, tl::unexpected<Error>>;

}  // namespace detail

/// A value or an Error: the accessors of C++23's std::expected, with checks. A failure must not go
/// unnoticed, so the compiler warns if a result is ignored. Reading the value of a failed Expected,
/// or the error of a successful one, passes the text to the log callback and aborts the program, in
/// every build. Test the result first.
///
/// `tl::unexpected(error)` makes a failure.
template <typename T>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = Error;

  template <detail::ValueFor<T> U = T>
  constexpr explicit(!std::is_convertible_v<U, T>) Expected(U&& value) noexcept
      : held_(std::forward<U>(value)) {}
  constexpr Expected(const tl::unexpected<Error>& error) noexcept : held_(error) {}
  constexpr Expected() noexcept = default;

  constexpr bool has_value() const noexcept { return held_.has_value(); }
  constexpr explicit operator bool() const noexcept { return held_.has_value(); }

  constexpr T& value() & noexcept { return *checked(); }
  constexpr const T& value() const& noexcept { return *checked(); }
  constexpr T&& value() && noexcept { return std::move(*checked()); }
  constexpr T& operator*() & noexcept { return *checked(); }
  constexpr const T& operator*() const& noexcept { return *checked(); }
  constexpr T&& operator*() && noexcept { return std::move(*checked()); }
  constexpr T* operator->() noexcept { return checked(); }
  constexpr const T* operator->() const noexcept { return checked(); }
  template <typename U>
  constexpr T value_or(U&& other) const& noexcept {
    return has_value() ? *held_ : static_cast<T>(std::forward<U>(other));
  }

  constexpr const Error& error() const noexcept {
    if (has_value()) [[unlikely]]
      detail::abort_on_error_of_success();
    return held_.error();
  }

 private:
  constexpr T* checked() noexcept {
    if (!has_value()) [[unlikely]]
      detail::abort_on_value_of(held_.error());
    return &*held_;
  }
  constexpr const T* checked() const noexcept { return const_cast<Expected*>(this)->checked(); }

  tl::expected<T, Error> held_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Expected<void> {
 public:
  using value_type = void;
  using error_type = Error;

  constexpr Expected() noexcept = default;
  constexpr Expected(const tl::unexpected<Error>& error) noexcept : held_(error) {}

  constexpr bool has_value() const noexcept { return held_.has_value(); }
  constexpr explicit operator bool() const noexcept { return held_.has_value(); }
  constexpr void value() const noexcept {
    if (!has_value()) [[unlikely]]
      detail::abort_on_value_of(held_.error());
  }
  constexpr void operator*() const noexcept { value(); }
  constexpr const Error& error() const noexcept {
    if (has_value()) [[unlikely]]
      detail::abort_on_error_of_success();
    return held_.error();
  }

 private:
  tl::expected<void, Error> held_;
};

}  // namespace ocellus

#pragma GCC visibility pop
