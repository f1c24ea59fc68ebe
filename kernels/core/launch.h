// Launching kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/core/cuda_device.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

enum class LaunchOrder : unsigned char {
  kAfter,        ///< after the kernel before
  kOverlapping,  ///< may start before that one has ended; the kernel itself must wait for it.
                 ///< Needs compute capability 9.0 or later, otherwise as kAfter
  kTogether,     ///< as kAfter; all blocks must be resident at once
};

/// `argument` points to the kernel's argument.
Expected<void> launch_code(Scope& cuda, cudaStream_t stream, const void* kernel, dim3 grid,
                           dim3 block, std::size_t shared_bytes, void* argument,
                           LaunchOrder order) noexcept;

/// Launches a kernel with one argument of plain data.
template <typename Argument>
Expected<void> launch_kernel(Scope& cuda, cudaStream_t stream, void (*kernel)(Argument), dim3 grid,
                             dim3 block, std::size_t shared_bytes, Argument argument,
                             LaunchOrder order) noexcept {
  return launch_code(cuda, stream, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes,
                     &argument, order);
}

}  // namespace ocellus::cuda
