// CPU time of the calling thread. Time when other threads used the processor does not count.
#pragma once

#include <cstdint>
#include <ctime>

namespace ocellus::test {

inline std::int64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace ocellus::test
