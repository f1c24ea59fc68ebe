#include "core/log.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace ocellus {
namespace {

struct Sink {
  std::mutex mutex;
  LogCallback callback = nullptr;
  void* user = nullptr;
};

Sink& sink() noexcept {
  static Sink instance;
  return instance;
}

}  // namespace

void set_log_callback(LogCallback callback, void* user) noexcept {
  Sink& target = sink();
  const std::lock_guard<std::mutex> lock(target.mutex);
  target.callback = callback;
  target.user = user;
}

namespace detail {

void log_message(LogLevel level, const char* format, ...) noexcept {
  // Copied, so that the callback can itself call set_log_callback.
  LogCallback callback = nullptr;
  void* user = nullptr;
  {
    Sink& target = sink();
    const std::lock_guard<std::mutex> lock(target.mutex);
    callback = target.callback;
    user = target.user;
  }
  if (callback == nullptr) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  callback(user, level, text);
}

}  // namespace detail
}  // namespace ocellus
