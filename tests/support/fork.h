// What a child process of fork() can do in a test.
#pragma once

namespace ocellus::test {

/// False under the thread sanitizer, which ends a child process that starts threads.
constexpr bool threads_after_fork() {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  return true;
#endif
}

}  // namespace ocellus::test
