// An allocator between the program and glibc that counts what is allocated and freed, on all
// threads, while it is armed.
#pragma once

#include <cstdint>

namespace ocellus::test {

struct AllocationCounts {
  std::uint64_t allocations = 0;  ///< malloc, calloc, realloc, aligned and new in every form
  std::uint64_t frees = 0;        ///< of something, not of a null pointer
  /// Both, from the addresses and on the threads that `arm_interposer` sets apart; not in the
  /// numbers above.
  std::uint64_t set_apart = 0;
};

/// True when the interposed functions are in use. They are not under a sanitizer, which has its
/// own.
bool interposer_present();

/// Counts from 0, on all threads, until disarmed. Calls that come from addresses in [begin, end) on
/// other threads than this one are set apart: a driver has threads of its own.
void arm_interposer(const void* begin = nullptr, const void* end = nullptr);
AllocationCounts disarm_interposer();

}  // namespace ocellus::test
