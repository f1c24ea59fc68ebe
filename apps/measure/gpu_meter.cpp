#include "apps/measure/gpu_meter.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "apps/common/threads.h"

namespace ocellus::app {

// The part of NVML's interface that is used here. NVML keeps these numbers and layouts stable. They
// are declared here, so that a build needs no header of the toolkit. GpuMeter::Library has members
// of these types and external linkage, so they have it, too.
namespace nvml {

using Device = struct DeviceTag*;
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr unsigned kFieldPowerInstant = 186;

struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency_us = 0;
  int type = 0;
  int result = 0;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_wide;
  } value{};
};
static_assert(sizeof(FieldValue) == 40);

}  // namespace nvml

namespace {

template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

template <typename T>
nlohmann::ordered_json range_json(const Range<T>& range) {
  if (range.empty()) return nullptr;
  return {range.low, range.high};
}

}  // namespace

struct GpuMeter::Library {
  using Device = nvml::Device;
  using FieldValue = nvml::FieldValue;

  void* handle = nullptr;
  bool initialized = false;
  Device device = nullptr;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_bus)(const char*, Device*) = nullptr;
  // These functions are optional. Without one, a value is unknown.
  int (*power_usage)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*total_energy)(Device, unsigned long long*) = nullptr;
  int (*field_values)(Device, int, FieldValue*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*highest_clock)(Device, int, unsigned*) = nullptr;
  int (*application_clock)(Device, int, unsigned*) = nullptr;
  int (*default_application_clock)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*persistence)(Device, int*) = nullptr;

  template <typename Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }

  std::string text_of(int result) const {
    const char* text = error_string != nullptr ? error_string(result) : nullptr;
    return fmt::format("{} ({})", text != nullptr ? text : "error", result);
  }

  /// Returns the error, or an empty text.
  std::string open(const std::string& name, const std::string& bus, std::string& driver) {
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      return fmt::format("NVML is not available: {}", why != nullptr ? why : name);
    }
    const bool complete = find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                          find(error_string, "nvmlErrorString") &&
                          find(driver_version, "nvmlSystemGetDriverVersion") &&
                          find(device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
    if (!complete) return fmt::format("{} is not NVML: functions are missing", name);
    find(power_usage, "nvmlDeviceGetPowerUsage");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(total_energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(field_values, "nvmlDeviceGetFieldValues");
    find(clock, "nvmlDeviceGetClockInfo");
    find(highest_clock, "nvmlDeviceGetMaxClockInfo");
    find(application_clock, "nvmlDeviceGetApplicationsClock");
    find(default_application_clock, "nvmlDeviceGetDefaultApplicationsClock");
    find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(temperature, "nvmlDeviceGetTemperature");
    find(persistence, "nvmlDeviceGetPersistenceMode");
    if (const int result = init(); result != nvml::kSuccess)
      return fmt::format("NVML cannot be initialized: {}", text_of(result));
    initialized = true;
    char text[96] = {};
    if (driver_version(text, sizeof(text)) == nvml::kSuccess) driver = text;
    if (const int result = device_by_bus(bus.c_str(), &device); result != nvml::kSuccess) {
      device = nullptr;
      return fmt::format("NVML finds no device at {}: {}", bus, text_of(result));
    }
    return "";
  }

  ~Library() {
    if (initialized) shutdown();
    if (handle != nullptr) dlclose(handle);
  }

  /// Reads one unsigned value of the device.
  template <typename Function, typename... Arguments>
  std::optional<unsigned> ask(Function function, Arguments... arguments) const {
    unsigned value = 0;
    if (function == nullptr || function(device, arguments..., &value) != nvml::kSuccess)
      return std::nullopt;
    return value;
  }
};

GpuMeter::GpuMeter(const std::string& bus, const std::string& library, const std::string& sysfs)
    : library_(std::make_unique<Library>()), tegra_(sysfs) {
  nvml_missing_ = bus.empty() ? "the backend is cpu, and NVML supports GPUs only"
                              : library_->open(library, bus, driver_);
}

GpuMeter::~GpuMeter() = default;
GpuMeter::GpuMeter(GpuMeter&&) noexcept = default;
GpuMeter& GpuMeter::operator=(GpuMeter&&) noexcept = default;

GpuSettings GpuMeter::settings() const {
  GpuSettings settings;
  if (!has_nvml()) {
    settings.highest_sm_mhz = tegra_.highest_gpu_mhz();
    return settings;
  }
  const Library& library = *library_;
  settings.application_sm_mhz = library.ask(library.application_clock, nvml::kClockSm);
  settings.application_memory_mhz = library.ask(library.application_clock, nvml::kClockMemory);
  settings.default_sm_mhz = library.ask(library.default_application_clock, nvml::kClockSm);
  settings.default_memory_mhz = library.ask(library.default_application_clock, nvml::kClockMemory);
  settings.highest_sm_mhz = library.ask(library.highest_clock, nvml::kClockSm);
  if (!settings.highest_sm_mhz) settings.highest_sm_mhz = tegra_.highest_gpu_mhz();
  settings.highest_memory_mhz = library.ask(library.highest_clock, nvml::kClockMemory);
  if (const auto milliwatts = library.ask(library.power_limit))
    settings.power_limit_w = *milliwatts * 1e-3;
  int on = 0;
  if (library.persistence != nullptr && library.persistence(library.device, &on) == nvml::kSuccess)
    settings.persistence = on != 0;
  return settings;
}

GpuReading GpuMeter::read() const {
  GpuReading reading = has_nvml() ? read_nvml() : GpuReading{};
  if (!reading.power_w) reading.power_w = tegra_.power_w();
  if (!reading.sm_mhz) reading.sm_mhz = tegra_.gpu_mhz();
  if (!reading.temperature_c) reading.temperature_c = tegra_.gpu_celsius();
  return reading;
}

GpuReading GpuMeter::read_nvml() const {
  GpuReading reading;
  const Library& library = *library_;
  // On most devices, nvmlDeviceGetPowerUsage returns an average over one second. This field is
  // instantaneous.
  nvml::FieldValue instant;
  instant.field = nvml::kFieldPowerInstant;
  if (library.field_values != nullptr &&
      library.field_values(library.device, 1, &instant) == nvml::kSuccess &&
      instant.result == nvml::kSuccess) {
    reading.power_w = instant.value.as_unsigned * 1e-3;
  } else if (const auto milliwatts = library.ask(library.power_usage)) {
    reading.power_w = *milliwatts * 1e-3;
  }
  reading.sm_mhz = library.ask(library.clock, nvml::kClockSm);
  reading.memory_mhz = library.ask(library.clock, nvml::kClockMemory);
  reading.temperature_c = library.ask(library.temperature, nvml::kTemperatureGpu);
  unsigned long long bits = 0;
  if (library.reasons != nullptr && library.reasons(library.device, &bits) == nvml::kSuccess)
    reading.reasons = bits;
  return reading;
}

std::optional<double> GpuMeter::energy_j() const {
  unsigned long long millijoules = 0;
  if (!has_nvml() || library_->total_energy == nullptr ||
      library_->total_energy(library_->device, &millijoules) != nvml::kSuccess)
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

std::string GpuMeter::power_source() const {
  if (has_nvml() && read_nvml().power_w) return "NVML";
  return tegra_.power_source();
}

std::string GpuMeter::power_missing() const {
  if (tegra_.power_w()) return "";
  if (!has_nvml()) {
    if (!tegra_.found()) return nvml_missing_;
    return nvml_missing_ + "; no monitor of current (ina3221) can be read";
  }
  unsigned milliwatts = 0;
  if (library_->power_usage == nullptr) return "this NVML lacks nvmlDeviceGetPowerUsage";
  const int result = library_->power_usage(library_->device, &milliwatts);
  return result == nvml::kSuccess ? "" : "NVML does not report power: " + library_->text_of(result);
}

std::vector<std::string> clock_reason_names(std::uint64_t reasons) {
  static constexpr const char* kNames[] = {
      "idle",         "application clocks", "power cap",        "hardware slowdown",
      "sync boost",   "software thermal",   "hardware thermal", "power brake",
      "display clock"};
  std::vector<std::string> names;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1u) == 0) continue;
    names.push_back(bit < std::size(kNames) ? kNames[bit] : fmt::format("bit {}", bit));
  }
  return names;
}

std::string clock_mode(const GpuSettings& s) {
  if (!s.application_sm_mhz && !s.default_sm_mhz) return "unknown";
  const bool set =
      (s.application_sm_mhz && s.default_sm_mhz && *s.application_sm_mhz != *s.default_sm_mhz) ||
      (s.application_memory_mhz && s.default_memory_mhz &&
       *s.application_memory_mhz != *s.default_memory_mhz);
  return set ? "application clocks" : "default";
}

void GpuActivity::add(const GpuReading& reading) {
  ++samples;
  if (reading.power_w) {
    power_sum_w += *reading.power_w;
    ++power_samples;
    power_w.add(*reading.power_w);
  }
  if (reading.sm_mhz) sm_mhz.add(*reading.sm_mhz);
  if (reading.memory_mhz) memory_mhz.add(*reading.memory_mhz);
  if (reading.temperature_c) temperature_c.add(*reading.temperature_c);
  if (reading.reasons) {
    reasons |= *reading.reasons;
    reasons_known = true;
  }
}

std::optional<double> GpuActivity::mean_power_w() const {
  // The counter changes only about every 100 ms.
  if (energy_j && seconds >= 1.0) return *energy_j / seconds;
  if (power_samples > 0) return power_sum_w / power_samples;
  return std::nullopt;
}

GpuSampler::GpuSampler(const GpuMeter& meter, std::chrono::milliseconds every)
    : meter_(meter), every_(every) {
  if (!meter_.missing().empty()) {
    begin_ = std::chrono::steady_clock::now();
    return;
  }
  energy_at_begin_ = meter_.energy_j();
  if (every_.count() == 0) {
    activity_.add(meter_.read());
    begin_ = std::chrono::steady_clock::now();
    return;
  }
  // The first sample allocates what the thread needs, before the measurement begins.
  std::unique_lock<std::mutex> lock(mutex_);
  thread_ = start_thread("the thread that reads the power of the GPU", [this] { run(); });
  wake_.wait(lock, [this] { return activity_.samples > 0; });
}

GpuSampler::~GpuSampler() {
  stop();
}

void GpuSampler::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  activity_.add(meter_.read());
  begin_ = std::chrono::steady_clock::now();
  wake_.notify_all();
  for (auto next = begin_ + every_; !wake_.wait_until(lock, next, [this] { return stopping_; });
       next += every_)
    activity_.add(meter_.read());
}

const GpuActivity& GpuSampler::stop() {
  if (stopped_) return activity_;
  stopped_ = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  activity_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (!meter_.missing().empty()) return activity_;
  const std::optional<double> energy = meter_.energy_j();
  if (energy && energy_at_begin_ && *energy > *energy_at_begin_)
    activity_.energy_j = *energy - *energy_at_begin_;
  activity_.add(meter_.read());
  return activity_;
}

nlohmann::ordered_json settings_json(const GpuSettings& s) {
  return {{"application_sm_mhz", or_null(s.application_sm_mhz)},
          {"application_memory_mhz", or_null(s.application_memory_mhz)},
          {"default_sm_mhz", or_null(s.default_sm_mhz)},
          {"default_memory_mhz", or_null(s.default_memory_mhz)},
          {"highest_sm_mhz", or_null(s.highest_sm_mhz)},
          {"highest_memory_mhz", or_null(s.highest_memory_mhz)},
          {"power_limit_w", or_null(s.power_limit_w)},
          {"persistence", or_null(s.persistence)}};
}

nlohmann::ordered_json reading_json(const GpuReading& r) {
  return {{"power_w", or_null(r.power_w)},
          {"sm_mhz", or_null(r.sm_mhz)},
          {"memory_mhz", or_null(r.memory_mhz)},
          {"temperature_c", or_null(r.temperature_c)},
          {"clock_reasons",
           r.reasons ? nlohmann::ordered_json(clock_reason_names(*r.reasons)) : nullptr}};
}

nlohmann::ordered_json activity_json(const GpuMeter& meter, const GpuActivity& a,
                                     std::int64_t frames) {
  nlohmann::ordered_json json;
  const std::optional<double> mean = a.mean_power_w();
  if (mean) {
    json["power_w"] = {{"mean", *mean},
                       {"max", a.power_w.empty() ? nlohmann::ordered_json(nullptr)
                                                 : nlohmann::ordered_json(a.power_w.high)}};
    json["power_source"] = meter.power_source();
    json["mj_per_frame"] =
        frames > 0 ? nlohmann::ordered_json(*mean * a.seconds * 1e3 / static_cast<double>(frames))
                   : nlohmann::ordered_json(nullptr);
  } else {
    json["power_w"] = nullptr;
    json["power_missing"] = meter.power_missing();
  }
  json["samples"] = a.samples;
  json["sm_mhz"] = range_json(a.sm_mhz);
  json["memory_mhz"] = range_json(a.memory_mhz);
  json["temperature_c"] = range_json(a.temperature_c);
  json["clock_reasons"] =
      a.reasons_known ? nlohmann::ordered_json(clock_reason_names(a.reasons)) : nullptr;
  return json;
}

}  // namespace ocellus::app
