// An allocator between the program and glibc that counts what is allocated and freed, on all
// threads, while it is armed.
#pragma once

#include <cstdint>

namespace ocellus::test {

struct AllocationCounts {
  std::uint64_t allocations = 0;  ///< malloc, calloc, realloc, aligned and new in every form
  std::uint64_t frees = 0;        ///< of something, not of a null pointer
};

/// True when the interposed functions are in use. They are not under a sanitizer, which has its
/// own.
bool interposer_present();

/// Counts from 0, on all threads, until disarmed.
void arm_interposer();
AllocationCounts disarm_interposer();

}  // namespace ocellus::test
