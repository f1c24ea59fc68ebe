#include "apps/measure/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "apps/common/common.h"
#include "core/process.h"
#include "ocellus/cpus.h"

namespace ocellus::app {
namespace {

bool read_cpu_times(std::uint64_t& steal, std::uint64_t& total) {
  std::ifstream stat("/proc/stat");
  std::string label;
  if (!(stat >> label) || label != "cpu") return false;
  // Fields: user nice system idle iowait irq softirq steal. Guest time is included in user.
  total = 0;
  for (int i = 0; i < 8; ++i) {
    std::uint64_t value = 0;
    if (!(stat >> value)) return false;
    total += value;
    if (i == 7) steal = value;
  }
  return true;
}

std::string first_match(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "";
}

/// The frequency governors of the CPUs, such as "performance". Empty if the system does not report
/// them, as in most virtual machines.
std::string cpu_governor() {
  std::set<std::string> names;
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
    std::string name;
    if (file >> name) names.insert(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The first line of a file; "" if it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// A text, or null if the system does not report it.
nlohmann::ordered_json known_text(const std::string& text) {
  return or_null(!text.empty(), text);
}

std::string clock_source(const std::string& root) {
  return first_line(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

/// Whether the CPUs belong to a hypervisor, which may give their time to other guests.
bool is_virtual_machine() {
  return first_match("/proc/cpuinfo", "flags").find(" hypervisor") != std::string::npos;
}

/// Whether the kernel is fully preemptible (PREEMPT_RT).
bool is_realtime_kernel() {
  std::ifstream file("/sys/kernel/realtime");
  int on = 0;
  return file >> on && on == 1;
}

/// The version of the NVIDIA driver, as it says itself or as the kernel reports it, or "".
std::string driver_of(const GpuMeter& meter) {
  if (!meter.driver().empty()) return meter.driver();
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  // The first word of digits and dots. The module's name and the architecture precede it.
  while (file >> word) {
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  }
  return "";
}

}  // namespace

StealMeter::StealMeter() {
  if (!read_cpu_times(steal_, total_)) total_ = 0;
}

double StealMeter::percent() const {
  std::uint64_t steal = 0;
  std::uint64_t total = 0;
  if (total_ == 0 || !read_cpu_times(steal, total)) return -1.0;
  return total > total_
             ? 100.0 * static_cast<double>(steal - steal_) / static_cast<double>(total - total_)
             : 0.0;
}

std::string cpu_name() {
  for (const char* key : {"model name", "Model", "Hardware"}) {
    if (std::string name = first_match("/proc/cpuinfo", key); !name.empty()) return name;
  }
  return "unknown processor";
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown system";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string allowed_cpus() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return "";
  std::vector<std::string> ranges;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const int first = cpu;
    while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, &allowed)) ++cpu;
    ranges.push_back(first == cpu ? std::to_string(cpu) : fmt::format("{}-{}", first, cpu));
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

MachineState MachineState::now(const std::string& root) {
  MachineState state;
  std::istringstream loads(first_line(root + "/proc/loadavg"));
  std::string one, five, fifteen;
  if (loads >> one >> five >> fifteen) state.load = fmt::format("{} {} {}", one, five, fifteen);
  const auto add = [](std::optional<std::pair<double, double>>& range, double value) {
    if (!range) range = {value, value};
    range = {std::min(range->first, value), std::max(range->second, value)};
  };
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
    const std::string file =
        fmt::format("{}/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", root, cpu);
    if (const auto khz = number_of<long>(first_line(file)))
      add(state.cpu_mhz, static_cast<double>(*khz) * 1e-3);
  }
  if (!state.cpu_mhz) {
    std::ifstream cpus(root + "/proc/cpuinfo");
    for (std::string line; std::getline(cpus, line);) {
      if (line.rfind("cpu MHz", 0) != 0) continue;
      if (const auto mhz = number_of<double>(line.substr(line.find(':') + 2)))
        add(state.cpu_mhz, *mhz);
    }
  }
  // The processors of some PCs have no zone, but a sensor of one of these names.
  const std::set<std::string> sensors = {"coretemp", "k10temp", "zenpower"};
  for (const char* folder : {"/sys/class/thermal", "/sys/class/hwmon"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(root + folder, error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string path = entry->path().string();
      const bool sensor = sensors.count(first_line(path + "/name")) > 0;
      if (const auto value =
              number_of<long>(first_line(path + (sensor ? "/temp1_input" : "/temp"))))
        state.celsius =
            std::max(state.celsius.value_or(-273.0), static_cast<double>(*value) * 1e-3);
    }
  }
  return state;
}

nlohmann::ordered_json MachineState::json() const {
  return {{"load", known_text(load)},
          {"cpu_mhz", cpu_mhz ? nlohmann::ordered_json{cpu_mhz->first, cpu_mhz->second}
                              : nlohmann::ordered_json()},
          {"celsius", or_null(celsius)}};
}

nlohmann::ordered_json machine_json(const std::string& root) {
  const std::string governor = cpu_governor();
  const UsableCpus cpus = usable_cpus();
  const std::optional<std::uint64_t> memory = detail::memory_limit(root.c_str());
  utsname names{};
  uname(&names);
  return {{"cpu", cpu_name()},
          {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
          {"usable_cpus", cpus.count},
          {"cpu_quota", or_null(cpus.quota > 0.0, cpus.quota)},
          {"memory_limit_bytes", memory == 0 ? nlohmann::ordered_json("none") : or_null(memory)},
          {"governor", known_text(governor)},
          {"clock_source", known_text(clock_source(root))},
          {"virtual_machine", is_virtual_machine()},
          {"realtime_kernel", is_realtime_kernel()},
          {"system", system_name()},
          {"kernel_version", names.version},
          {"kernel_command_line", known_text(first_line(root + "/proc/cmdline"))}};
}

std::string machine_line() {
  const std::string governor = cpu_governor();
  const std::string clock = clock_source("");
  const UsableCpus cpus = usable_cpus();
  const std::optional<std::uint64_t> memory = detail::memory_limit("");
  return fmt::format(
      "{}, {}{}{}{}, {}; {}{}, clock source {}", cpu_name(),
      counted(sysconf(_SC_NPROCESSORS_ONLN), "CPU"),
      is_virtual_machine() ? " of a virtual machine" : "",
      cpus.quota > 0.0 ? fmt::format(", of which a control group grants {:.3g}", cpus.quota) : "",
      memory.value_or(0) > 0
          ? fmt::format(", memory limit {:.0f} MB", static_cast<double>(*memory) * 1e-6)
          : "",
      governor.empty() ? "governor unknown (no cpufreq)" : "governor " + governor, system_name(),
      is_realtime_kernel() ? ", real-time kernel" : "", clock.empty() ? "unknown" : clock);
}

GpuMeter gpu_meter(const EngineInfo& info) {
  return GpuMeter(info.device_bus, GpuMeter::kLibrary, info.integrated ? TegraSensors::kSysfs : "");
}

nlohmann::ordered_json gpu_json(const EngineInfo& info, const GpuMeter& meter) {
  if (info.backend != BackendKind::kCuda) return nullptr;
  const std::string driver = driver_of(meter);
  nlohmann::ordered_json json;
  json["device"] = info.device;
  json["name"] = info.device_name;
  json["bus"] = info.device_bus;
  json["compute_capability"] =
      fmt::format("{}.{}", info.compute_capability / 10, info.compute_capability % 10);
  json["memory_bytes"] = info.device_bytes;
  json["integrated"] = info.integrated;
  json["zero_copy"] = info.zero_copy;
  json["driver"] = or_null(!driver.empty(), driver);
  json["cuda_driver"] = cuda_version(info.driver_cuda);
  json["cuda_runtime"] = cuda_version(info.runtime_cuda);
  if (!meter.nvml_missing().empty()) json["nvml_missing"] = meter.nvml_missing();
  if (!meter.missing().empty()) return json;
  const GpuSettings settings = meter.settings();
  json["clock_mode"] = clock_mode(settings);
  json["settings"] = settings_json(settings);
  json["now"] = reading_json(meter.read());
  if (const std::string source = meter.power_source(); !source.empty())
    json["power_source"] = source;
  for (const RailPower& rail : meter.tegra().rails()) json["rails_w"][rail.name] = rail.watts;
  return json;
}

std::string gpu_line(const EngineInfo& info, const GpuMeter& meter) {
  if (info.backend != BackendKind::kCuda) return "";
  const std::string driver = driver_of(meter);
  std::string line = fmt::format(
      "{} (cuda:{}, {}), {}, compute capability {}.{}, {:.0f} GB, zero copy {}, driver {} for "
      "CUDA {}, built with CUDA {}; ",
      info.device_name, info.device, info.device_bus, info.integrated ? "integrated" : "discrete",
      info.compute_capability / 10, info.compute_capability % 10,
      static_cast<double>(info.device_bytes) * 1e-9, info.zero_copy ? "on" : "off",
      driver.empty() ? "of unknown version" : driver, cuda_version(info.driver_cuda),
      cuda_version(info.runtime_cuda));
  if (!meter.missing().empty()) return line + "clocks unknown: " + meter.missing();
  const GpuSettings s = meter.settings();
  const GpuReading now = meter.read();
  const auto mhz = [](const std::optional<unsigned>& value) {
    return value ? std::to_string(*value) : std::string("?");
  };
  line += fmt::format(
      "clock mode {} (set to SM {}, memory {} MHz; now SM {} of {}, memory {} of {} MHz)",
      clock_mode(s), mhz(s.application_sm_mhz), mhz(s.application_memory_mhz), mhz(now.sm_mhz),
      mhz(s.highest_sm_mhz), mhz(now.memory_mhz), mhz(s.highest_memory_mhz));
  if (now.reasons && *now.reasons != 0)
    line +=
        fmt::format(", clocks limited by: {}", fmt::join(clock_reason_names(*now.reasons), ", "));
  if (s.power_limit_w) line += fmt::format("; power limit {:.0f} W", *s.power_limit_w);
  if (meter.tegra().found()) {
    if (now.power_w) line += fmt::format("; {:.1f} W ({})", *now.power_w, meter.power_source());
    if (now.temperature_c) line += fmt::format("; {} degrees Celsius", *now.temperature_c);
  }
  return line;
}

}  // namespace ocellus::app
