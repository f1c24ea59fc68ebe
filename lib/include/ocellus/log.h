// Log callback. The library itself does not print.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Severity of a log message.
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

/// Receives a log message. `message` is valid only during the call. The library holds no lock
/// during the call. It calls from threads that create or destroy objects, and before an abort (see
/// Expected), never from `submit` or `wait`. A lost device is logged when the next operator on it,
/// or the engine, is destroyed. Until then, the returned errors report it.
using LogCallback = void (*)(void* user, LogLevel level, const char* message);

/// Sets the process-wide callback; nullptr, the default, turns logging off. Thread-safe. A call of
/// the previous callback that has already begun on another thread may still run, so its `user` must
/// remain valid.
void set_log_callback(LogCallback callback, void* user) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
