// The machine's names and its stolen CPU time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "apps/measure/gpu_meter.h"
#include "ocellus/engine.h"

namespace ocellus::app {

/// CPU time that the hypervisor gave to other guests while this machine wanted to run, from
/// /proc/stat.
class StealMeter {
 public:
  StealMeter();
  /// Percentage of all CPU time since construction; negative if the system does not report it.
  double percent() const;

 private:
  std::uint64_t steal_ = 0;
  std::uint64_t total_ = 0;
};

std::string cpu_name();
std::string system_name();
std::string host_name();
/// Date and time in UTC, such as "2026-11-24T20:06:54Z".
std::string utc_now();
/// The CPUs on which the process may run, such as "0-3,8". Empty if the system does not report
/// them.
std::string allowed_cpus();
/// For example "13.0" for 13000.
std::string cuda_version(int number);

/// What changes while the machine runs. `root` precedes the paths of all files, for tests.
struct MachineState {
  std::string load;                                  ///< "0.53 0.61 0.70", of 1, 5 and 15 minutes
  std::optional<std::pair<double, double>> cpu_mhz;  ///< the slowest and the fastest CPU
  std::optional<double> celsius;  ///< of the warmest zone of the processor or the board

  static MachineState now(const std::string& root = "");
  nlohmann::ordered_json json() const;  ///< null for what the system does not report
};

/// The properties of the CPUs and the system that affect measurements, as JSON and in one line.
nlohmann::ordered_json machine_json(const std::string& root = "");
std::string machine_line();
/// The meter of an engine's device.
GpuMeter gpu_meter(const EngineInfo& info);
/// The same for an engine's CUDA device. For the CPU: null and "".
nlohmann::ordered_json gpu_json(const EngineInfo& info, const GpuMeter& meter);
std::string gpu_line(const EngineInfo& info, const GpuMeter& meter);

}  // namespace ocellus::app
