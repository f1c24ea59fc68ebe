// An allocator between the program and glibc that counts what is allocated and freed, on all
// threads, while it is armed; and that refuses a chosen call.
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

/// What the system can be told to refuse. All but memory: by a program that has
/// interpose_system.cpp, too.
enum class SystemCall { kMemory, kMapping, kThread, kOpen, kStat, kRead, kLock };

/// Lets the n-th call of this kind fail (from 1), on any thread, and with `all_after` those after
/// it too, until disarmed.
void arm_refusal(SystemCall call, int n, bool all_after);
struct Refusals {
  int calls = 0;  ///< of that kind, while armed
  int refused = 0;
};
Refusals disarm_refusal();

/// Blocks that are allocated and not freed.
long live_allocations();

/// For those who stand in for a call: whether it is to fail.
bool is_refused(SystemCall call);

}  // namespace ocellus::test
