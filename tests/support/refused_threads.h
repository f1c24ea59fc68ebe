// Makes the system refuse threads to this program. Included by one file of a program, because it
// replaces pthread_create.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace ocellus::test {

inline constexpr int kNoThreadLimit = 1'000'000;
/// How many more threads, including those of other libraries, can be started in this process.
inline std::atomic<int> threads_left{kNoThreadLimit};

}  // namespace ocellus::test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (ocellus::test::threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return real(thread, attributes, function, argument);
}
