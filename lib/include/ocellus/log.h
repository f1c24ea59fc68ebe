// Log callback. The library prints nothing by itself.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

/// `message` lives only during the call. Called without any lock of the library, by threads that
/// create or destroy and before an abort (Expected), never by `submit` or `wait`. A lost device is
/// logged when the next operator on it, or the engine, is destroyed; before that, errors say it.
using LogCallback = void (*)(void* user, LogLevel level, const char* message);

/// Sets the process-wide callback; nullptr turns logging off (the default). Thread-safe, but a call
/// of the callback before that has begun on another thread may still run: `user` must outlive it.
void set_log_callback(LogCallback callback, void* user) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
