// Log callback. The library prints nothing by itself.
#pragma once

#include <cstdint>

namespace ocellus {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

/// `message` lives only during the call. May be called from any thread that creates or destroys,
/// without any lock of the library; never from `submit` or `wait`. That a device is lost is logged
/// when the next operator on it, or the engine, is destroyed; before that, errors say it.
using LogCallback = void (*)(void* user, LogLevel level, const char* message);

/// Sets the process-wide callback; nullptr turns logging off (the default). Thread-safe, but a call
/// of the callback before that has begun on another thread may still run: `user` must outlive it.
void set_log_callback(LogCallback callback, void* user) noexcept;

}  // namespace ocellus
