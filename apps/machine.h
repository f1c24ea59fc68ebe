// What this machine is and can do: its names, its stolen time, its measured limits.
#pragma once

#include <cstdint>
#include <string>

namespace ocellus::app {

/// Time that the hypervisor gave to others while this machine wanted to run, from /proc/stat.
class StealMeter {
 public:
  StealMeter();
  /// Percent of all CPU time since construction; negative when the system does not tell.
  double percent() const;

 private:
  std::uint64_t steal_ = 0;
  std::uint64_t total_ = 0;
};

std::string cpu_name();
std::string system_name();
/// Bytes of the largest cache, 0 when unknown.
std::size_t last_cache_bytes();

struct MachineLimits {
  int threads = 1;
  std::size_t block_bytes = 0;  ///< size of the block that was read, well above the caches
  double read_bytes_per_s = 0.0;
  double copy_bytes_per_s = 0.0;  ///< bytes read plus bytes written
  double flops = 0.0;             ///< fused multiply-adds count two
};

/// Takes about two seconds. Each figure is the best of several passes: a limit, not an average.
MachineLimits measure_limits(int threads);

}  // namespace ocellus::app
