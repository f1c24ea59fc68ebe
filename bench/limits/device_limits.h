// Measures the limits of a CUDA device: how fast it reads and copies its memory and multiplies. Not
// part of the library; linked into the program for `ocellus bench` and into tests.
#pragma once

#include <cstddef>

#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

struct DeviceLimits {
  int compute_capability = 0;  ///< 10 x major + minor
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  /// Newest CUDA version that the driver supports: 1000 x major + 10 x minor.
  int driver_version = 0;
  int runtime_version = 0;        ///< CUDA version that the program was built with
  std::size_t block_bytes = 0;    ///< size of the block that was read, many times the L2 cache
  double read_bytes_per_s = 0.0;  ///< of device memory
  double copy_bytes_per_s = 0.0;  ///< bytes read plus bytes written, per second
  double flops = 0.0;     ///< single precision; a fused multiply-add counts as two operations
  double clock_hz = 0.0;  ///< clock of the multiprocessors while they multiplied
};

/// Uses some of the device's memory for a fraction of a second. Each result is the best of several
/// runs, because it is a limit and not an average. Errors: those of Engine::create, DeviceLost,
/// System.
Expected<DeviceLimits> measure_device_limits(const EngineConfig& engine) noexcept;

}  // namespace ocellus::cuda
