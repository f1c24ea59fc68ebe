// The limits of the CPUs and of their memory, as measured.
#pragma once

#include <cstddef>

namespace ocellus::app {

/// Size of the largest cache in bytes, or 0 if unknown.
std::size_t last_cache_bytes();

struct MachineLimits {
  int threads = 1;
  std::size_t block_bytes = 0;  ///< size of the block that was read, much larger than the caches
  double read_bytes_per_s = 0.0;
  double copy_bytes_per_s = 0.0;  ///< bytes read plus bytes written
  double flops = 0.0;             ///< one fused multiply-add counts as two
};

/// Takes about two seconds. Each value is the best of several passes, because it is a limit and not
/// an average.
MachineLimits measure_limits(int threads);

}  // namespace ocellus::app
