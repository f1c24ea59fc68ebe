#include "bench/device_machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "apps/common/printable.h"
#include "apps/measure/machine.h"

namespace ocellus::app {
namespace {

double best_bandwidth(const cuda::DeviceLimits& limits) {
  return std::max(limits.read_bytes_per_s, limits.copy_bytes_per_s);
}

}  // namespace

cuda::DeviceLimits device_limits(const EngineConfig& engine) {
  if (isatty(STDERR_FILENO)) tell("measuring the device...\r");
  return take(cuda::measure_device_limits(engine), "limits of the device");
}

Floor floor_of(const Workload& work, const cuda::DeviceLimits& limits) {
  const double memory = work.bytes / best_bandwidth(limits);
  const double arithmetic = work.flops / limits.flops;
  return {1e3 * std::max(memory, arithmetic), memory >= arithmetic};
}

void add_floor(nlohmann::ordered_json& row, const Workload& work,
               const cuda::DeviceLimits& limits) {
  const Floor floor = floor_of(work, limits);
  row["mb_per_frame"] = work.bytes * 1e-6;
  row["mflop_per_frame"] = work.flops * 1e-6;
  row["floor_ms"] = floor.ms;
  row["floor_by"] = floor.by_memory ? "bytes" : "operations";
}

nlohmann::ordered_json machine_json(const EngineInfo& info, const cuda::DeviceLimits& limits) {
  return {{"device", info.device_name},
          {"compute_capability",
           fmt::format("{}.{}", limits.compute_capability / 10, limits.compute_capability % 10)},
          {"multiprocessors", limits.multiprocessors},
          {"cuda_driver", cuda_version(limits.driver_version)},
          {"cuda_runtime", cuda_version(limits.runtime_version)},
          {"l2_bytes", limits.l2_bytes},
          {"block_bytes", limits.block_bytes},
          {"read_gb_per_s", limits.read_bytes_per_s * 1e-9},
          {"copy_gb_per_s", limits.copy_bytes_per_s * 1e-9},
          {"gflops", limits.flops * 1e-9},
          {"clock_mhz", limits.clock_hz * 1e-6},
          {"cpu", cpu_name()},
          {"system", system_name()}};
}

std::string machine_text(const EngineInfo& info, const cuda::DeviceLimits& limits) {
  return fmt::format(
      "{}, compute capability {}.{}, {} multiprocessors, {} MiB of L2, CUDA {} (driver {}); {}, "
      "{}\n"
      "limits measured: read {:.0f} GB/s, copy {:.0f} GB/s (block of {} MiB), {:.0f} GFLOP/s at "
      "{:.0f} MHz\n",
      info.device_name, limits.compute_capability / 10, limits.compute_capability % 10,
      limits.multiprocessors, limits.l2_bytes >> 20, cuda_version(limits.runtime_version),
      cuda_version(limits.driver_version), cpu_name(), system_name(),
      limits.read_bytes_per_s * 1e-9, limits.copy_bytes_per_s * 1e-9, limits.block_bytes >> 20,
      limits.flops * 1e-9, limits.clock_hz * 1e-6);
}

}  // namespace ocellus::app
