// Replaces malloc and its family. While armed, it counts allocations and frees on all threads, or
// refuses a chosen call.
#pragma once

#include <cstdint>

namespace ocellus::test {

struct AllocationCounts {
  std::uint64_t allocations = 0;  ///< malloc, calloc, realloc, aligned and new in every form
  std::uint64_t frees = 0;        ///< without those of null pointers
  /// Allocations and frees that `arm_interposer` sets apart. They are not in the numbers above.
  std::uint64_t set_apart = 0;
};

/// False under a sanitizer, which has an allocator of its own.
bool interposer_present();

/// Counts from 0, on all threads, until disarmed. Sets apart calls from addresses in [begin, end)
/// on other threads than this one, because a driver has threads of its own.
void arm_interposer(const void* begin = nullptr, const void* end = nullptr);
AllocationCounts disarm_interposer();

/// Calls that can be refused. All but kMemory need interpose_system.cpp in the program.
enum class SystemCall { kMemory, kMapping, kThread, kOpen, kStat, kRead, kLock };

/// Makes the n-th call of this kind fail, counted from 1 on all threads, and with `all_after` also
/// all later ones, until disarmed.
void arm_refusal(SystemCall call, int n, bool all_after);
struct Refusals {
  int calls = 0;  ///< of that kind while armed
  int refused = 0;
};
Refusals disarm_refusal();

/// Blocks that are allocated and not freed.
long live_allocations();

/// For a function that replaces a call: whether the call must fail.
bool is_refused(SystemCall call);

}  // namespace ocellus::test
