#include "realtime/interpose.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OCELLUS_INTERPOSE 0
#else
#define OCELLUS_INTERPOSE 1
#endif

namespace {

std::atomic<bool> armed{false};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> frees{0};
std::atomic<std::uint64_t> set_apart{0};
std::atomic<long> live{0};
// Written before `armed` is.
const void* apart_begin = nullptr;
const void* apart_end = nullptr;
thread_local bool armed_here = false;

[[maybe_unused]] void count(std::atomic<std::uint64_t>& counter, const void* caller) {
  if (!armed.load(std::memory_order_acquire)) return;
  const bool apart = caller >= apart_begin && caller < apart_end && !armed_here;
  (apart ? set_apart : counter).fetch_add(1, std::memory_order_relaxed);
}
/// False when the block is refused.
[[maybe_unused]] bool count_allocation(const void* caller) {
  count(allocations, caller);
  if (!ocellus::test::is_refused(ocellus::test::SystemCall::kMemory)) return true;
  errno = ENOMEM;
  return false;
}
[[maybe_unused]] void count_free(const void* pointer, const void* caller) {
  if (pointer == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  count(frees, caller);
}
[[maybe_unused]] void* counted_live(void* block) {
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

namespace ocellus::test {

bool interposer_present() {
  return OCELLUS_INTERPOSE != 0;
}

void arm_interposer(const void* begin, const void* end) {
  allocations = 0;
  frees = 0;
  set_apart = 0;
  apart_begin = begin;
  apart_end = end;
  armed_here = true;
  armed = true;
}

AllocationCounts disarm_interposer() {
  armed = false;
  armed_here = false;
  return {allocations.load(), frees.load(), set_apart.load()};
}

namespace {

std::atomic<bool> refusing{false};
// Written before `refusing` is.
SystemCall refused_call = SystemCall::kMemory;
int refused_number = 0;
bool refuse_all_after = false;
std::atomic<int> calls{0};
std::atomic<int> refused{0};

}  // namespace

void arm_refusal(SystemCall call, int n, bool all_after) {
  refused_call = call;
  refused_number = n;
  refuse_all_after = all_after;
  calls = 0;
  refused = 0;
  refusing = true;
}

Refusals disarm_refusal() {
  refusing = false;
  return {calls.load(), refused.load()};
}

bool is_refused(SystemCall call) {
  if (!refusing.load(std::memory_order_acquire) || call != refused_call) return false;
  const int number = calls.fetch_add(1) + 1;
  const bool refuse = number == refused_number || (refuse_all_after && number > refused_number);
  if (refuse) refused.fetch_add(1);
  return refuse;
}

long live_allocations() {
  return live.load();
}

}  // namespace ocellus::test

#if OCELLUS_INTERPOSE

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
  return count_allocation(__builtin_return_address(0)) ? counted_live(__libc_malloc(size))
                                                       : nullptr;
}
void* calloc(std::size_t count, std::size_t size) {
  return count_allocation(__builtin_return_address(0)) ? counted_live(__libc_calloc(count, size))
                                                       : nullptr;
}
void* realloc(void* pointer, std::size_t size) {
  if (!count_allocation(__builtin_return_address(0))) return nullptr;
  void* const block = __libc_realloc(pointer, size);
  if (pointer == nullptr) return counted_live(block);
  if (block == nullptr && size == 0) live.fetch_sub(1, std::memory_order_relaxed);
  return block;
}
void* memalign(std::size_t alignment, std::size_t size) {
  return count_allocation(__builtin_return_address(0))
             ? counted_live(__libc_memalign(alignment, size))
             : nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return count_allocation(__builtin_return_address(0))
             ? counted_live(__libc_memalign(alignment, size))
             : nullptr;
}
int posix_memalign(void** pointer, std::size_t alignment, std::size_t size) {
  if (!count_allocation(__builtin_return_address(0))) return ENOMEM;
  *pointer = counted_live(__libc_memalign(alignment, size));
  return *pointer == nullptr ? ENOMEM : 0;
}
void free(void* pointer) {
  count_free(pointer, __builtin_return_address(0));
  __libc_free(pointer);
}

}  // extern "C"

namespace {

void* allocate_or_null(std::size_t size, std::size_t alignment, const void* caller) noexcept {
  if (!count_allocation(caller)) return nullptr;
  return counted_live(alignment == 0 ? __libc_malloc(size == 0 ? 1 : size)
                                     : __libc_memalign(alignment, size == 0 ? 1 : size));
}
void* allocate_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  void* const block = allocate_or_null(size, alignment, caller);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void release(void* pointer, const void* caller) noexcept {
  count_free(pointer, caller);
  __libc_free(pointer);
}
std::size_t number(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate_or_throw(size, 0, __builtin_return_address(0));
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size, 0, __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, 0, __builtin_return_address(0));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, 0, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, number(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, number(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, number(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, number(alignment), __builtin_return_address(0));
}
void operator delete(void* pointer) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete[](void* pointer) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete(void* pointer, std::size_t) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete[](void* pointer, std::size_t) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete(void* pointer, std::align_val_t) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete[](void* pointer, std::align_val_t) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept {
  release(pointer, __builtin_return_address(0));
}
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept {
  release(pointer, __builtin_return_address(0));
}

#endif
