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
// Written before `armed` is.
const void* apart_begin = nullptr;
const void* apart_end = nullptr;
thread_local bool armed_here = false;

[[maybe_unused]] void count(std::atomic<std::uint64_t>& counter, const void* caller) {
  if (!armed.load(std::memory_order_acquire)) return;
  const bool apart = caller >= apart_begin && caller < apart_end && !armed_here;
  (apart ? set_apart : counter).fetch_add(1, std::memory_order_relaxed);
}
[[maybe_unused]] void count_allocation(const void* caller) {
  count(allocations, caller);
}
[[maybe_unused]] void count_free(const void* pointer, const void* caller) {
  if (pointer != nullptr) count(frees, caller);
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

}  // namespace ocellus::test

#if OCELLUS_INTERPOSE

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_realloc(pointer, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** pointer, std::size_t alignment, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  *pointer = __libc_memalign(alignment, size);
  return *pointer == nullptr ? ENOMEM : 0;
}
void free(void* pointer) {
  count_free(pointer, __builtin_return_address(0));
  __libc_free(pointer);
}

}  // extern "C"

namespace {

void* allocate_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  count_allocation(caller);
  void* pointer = alignment == 0 ? __libc_malloc(size == 0 ? 1 : size)
                                 : __libc_memalign(alignment, size == 0 ? 1 : size);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
void* allocate_or_null(std::size_t size, std::size_t alignment, const void* caller) noexcept {
  count_allocation(caller);
  return alignment == 0 ? __libc_malloc(size == 0 ? 1 : size)
                        : __libc_memalign(alignment, size == 0 ? 1 : size);
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
