// FlushDenormals: numbers too small for the normal range of float become 0.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace ocellus::detail {

/// While such an object exists, arithmetic of its thread takes denormal numbers as 0 and gives 0 in
/// place of them. A recursion decays into such numbers behind the last bright pixel, where each
/// operation would take many times as long. The destructor restores the thread's mode. No effect
/// on processors other than x86 with SSE and 64-bit ARM.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() noexcept : mode_(_mm_getcsr()) {
    _mm_setcsr(mode_ | kFlush);
  }
  ~FlushDenormals() {
    _mm_setcsr(mode_);
  }
#elif defined(__aarch64__)
  FlushDenormals() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(mode_) : : "memory");
    set(mode_ | kFlush);
  }
  ~FlushDenormals() {
    set(mode_);
  }
#else
  FlushDenormals() noexcept {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#if defined(__SSE__)
 private:
  static constexpr unsigned kFlush = 0x8040;  // results (FTZ) and operands (DAZ)
  unsigned mode_;
#elif defined(__aarch64__)
 private:
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FZ: results and operands
  static void set(std::uint64_t mode) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(mode) : "memory");
  }
  std::uint64_t mode_;
#endif
};

}  // namespace ocellus::detail
