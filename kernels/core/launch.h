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

Expected<void> launch_kernel(Scope& cuda, const DeviceTraits& traits, cudaStream_t stream,
                             const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                             void** arguments, LaunchOrder order) noexcept;

}  // namespace ocellus::cuda
