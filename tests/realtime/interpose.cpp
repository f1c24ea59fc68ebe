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

[[maybe_unused]] void count_allocation() {
  if (armed.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
[[maybe_unused]] void count_free(const void* pointer) {
  if (pointer != nullptr && armed.load(std::memory_order_relaxed))
    frees.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

namespace ocellus::test {

bool interposer_present() {
  return OCELLUS_INTERPOSE != 0;
}

void arm_interposer() {
  allocations = 0;
  frees = 0;
  armed = true;
}

AllocationCounts disarm_interposer() {
  armed = false;
  return {allocations.load(), frees.load()};
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
  count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  count_allocation();
  return __libc_realloc(pointer, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** pointer, std::size_t alignment, std::size_t size) {
  count_allocation();
  *pointer = __libc_memalign(alignment, size);
  return *pointer == nullptr ? ENOMEM : 0;
}
void free(void* pointer) {
  count_free(pointer);
  __libc_free(pointer);
}

}  // extern "C"

namespace {

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  count_allocation();
  void* pointer = alignment == 0 ? __libc_malloc(size == 0 ? 1 : size)
                                 : __libc_memalign(alignment, size == 0 ? 1 : size);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  count_allocation();
  return alignment == 0 ? __libc_malloc(size == 0 ? 1 : size)
                        : __libc_memalign(alignment, size == 0 ? 1 : size);
}
void release(void* pointer) noexcept {
  count_free(pointer);
  __libc_free(pointer);
}
std::size_t number(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate_or_throw(size, 0);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size, 0);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, 0);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, number(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, number(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, number(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, number(alignment));
}
void operator delete(void* pointer) noexcept {
  release(pointer);
}
void operator delete[](void* pointer) noexcept {
  release(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
  release(pointer);
}
void operator delete[](void* pointer, std::size_t) noexcept {
  release(pointer);
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept {
  release(pointer);
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
  release(pointer);
}
void operator delete(void* pointer, std::align_val_t) noexcept {
  release(pointer);
}
void operator delete[](void* pointer, std::align_val_t) noexcept {
  release(pointer);
}
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept {
  release(pointer);
}
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept {
  release(pointer);
}

#endif
