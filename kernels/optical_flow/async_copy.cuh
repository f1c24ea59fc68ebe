// Asynchronous copies from global to shared memory, which run while a warp computes. For
// architectures that support them; see RingCopy.
#pragma once

#include <cstdint>

namespace ocellus::cuda {

/// Architecture of this compiler pass, 10 x major + minor; 0 for the host.
#if defined(__CUDA_ARCH__)
inline constexpr int kArchitecture = __CUDA_ARCH__ / 10;
#else
inline constexpr int kArchitecture = 0;
#endif

// The functions below are defined for every architecture. They may only be called on architectures
// that have the instruction: 8.0 and later for copy_async, 9.0 and later for barriers and bulk
// copies.

__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// Cache policy for data that is read once in a frame, so that it does not evict data that is read
/// again.
__device__ inline std::uint64_t evict_first() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// Copies 16 bytes; each thread copies its own. __pipeline_commit ends a group of its copies.
__device__ inline void copy_async(std::uint32_t to, const void* from, std::uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "l"(policy)
               : "memory");
}

__device__ inline void init_barrier(std::uint32_t barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
/// Makes new barriers visible to the copy engine.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// The present phase of the barrier ends when this many bytes have been copied.
__device__ inline void expect_bytes(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits until the phase with this parity has ended.
__device__ inline void wait_barrier(std::uint32_t barrier, unsigned parity) {
  unsigned ended;
  do {
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "  selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(ended)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (ended == 0);
}
/// Copies a multiple of 16 bytes; the barrier counts them.
__device__ inline void copy_bulk(std::uint32_t to, const void* from, int bytes,
                                 std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}
/// Orders previous reads by threads before later writes by the copy engine.
__device__ inline void fence_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace ocellus::cuda
