// Kernels that reach the limits of a device.
#pragma once

#include <vector_types.h>

#include <cstdint>

namespace ocellus::cuda {

struct LimitArguments {
  float4* block;
  std::int64_t vectors;  ///< number of vectors of 16 bytes
  /// Clock cycles of one block; also the destination of sums that only prevent optimization.
  std::int64_t* outcome;
  int rounds;
};

using LimitKernel = void (*)(LimitArguments);

inline constexpr int kStreamingThreads = 512;
/// One block on each multiprocessor, so that it measures the whole multiprocessor. All
/// multiprocessors since compute capability 7.5 have room for this many threads.
inline constexpr int kMultiplyThreads = 1024;
/// Number of independent chains of multiply-adds in a thread.
inline constexpr int kChains = 8;

/// Fills the block with different numbers, because a device may be faster on zeros.
extern const LimitKernel kFillKernel;
/// Reads the block once.
extern const LimitKernel kReadKernel;
/// Copies the second half of the block to the first half.
extern const LimitKernel kCopyKernel;
/// Computes `rounds` multiply-adds in each of kChains chains of every thread, and stores the clock
/// cycles.
extern const LimitKernel kMultiplyAddKernel;

}  // namespace ocellus::cuda
