// Kernels that reach a device's limits.
#pragma once

#include <vector_types.h>

#include <cstdint>

namespace ocellus::cuda {

struct LimitArguments {
  float4* block;
  std::int64_t vectors;   ///< of 16 bytes
  std::int64_t* outcome;  ///< clocks of one block; also where a sum goes that nobody looks for
  int rounds;
};

using LimitKernel = void (*)(LimitArguments);

inline constexpr int kStreamingThreads = 512;
/// One block on each multiprocessor: what it measures is the whole of it. As many threads as all
/// multiprocessors have room for since compute capability 7.5.
inline constexpr int kMultiplyThreads = 1024;
/// Independent chains of multiply-adds in a thread.
inline constexpr int kChains = 8;

/// Numbers that are not all alike: a device can be faster on zeros.
LimitKernel fill_kernel() noexcept;
/// Reads the block once.
LimitKernel read_kernel() noexcept;
/// Copies its second half to its first.
LimitKernel copy_kernel() noexcept;
/// `rounds` multiply-adds in each of kChains chains of every thread; tells the clocks it took.
LimitKernel multiply_add_kernel() noexcept;

}  // namespace ocellus::cuda
