// What this machine is and can do: its names, its stolen time, its measured limits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/measure/gpu_meter.h"
#include "ocellus/engine.h"

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
/// The frequency governors of the CPUs, such as "performance"; empty when the system does not tell,
/// as in most virtual machines.
std::string cpu_governor();
/// Whether the CPUs are a hypervisor's, which may give their time to others.
bool is_virtual_machine();
/// Whether the kernel is preemptible throughout (PREEMPT_RT).
bool is_realtime_kernel();
/// The NVIDIA driver's version as the kernel tells it; empty without one.
std::string nvidia_driver();
/// "13.0" from 13000.
std::string cuda_version(int number);

/// The facts about the CPUs and the system that a figure depends on, and the same in a line.
nlohmann::ordered_json machine_json();
std::string machine_line();
/// The same for a CUDA device of an engine; null and "" for the CPU.
nlohmann::ordered_json gpu_json(const EngineInfo& info, const GpuMeter& meter);
std::string gpu_line(const EngineInfo& info, const GpuMeter& meter);

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
