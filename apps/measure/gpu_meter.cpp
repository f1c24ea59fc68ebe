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
nlohmann::ordered_json range_json(const Range<T>& range) {
  if (range.empty()) return nullptr;
  return {range.low, range.high};
}

}  // namespace

struct GpuMeter::Library {
  using Device = nvml::Device;

  void* handle = nullptr;
  bool initialized = false;
  Device device = nullptr;

  /// Null if this version of NVML lacks the function.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }

  std::string text_of(int result) const {
    const auto error_string = find<const char*(int)>("nvmlErrorString");
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
    const auto init = find<int()>("nvmlInit_v2");
    const auto driver_version = find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
    const auto device_by_bus = find<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || driver_version == nullptr || device_by_bus == nullptr ||
        find<int()>("nvmlShutdown") == nullptr || find<int()>("nvmlErrorString") == nullptr)
      return fmt::format("{} is not NVML: functions are missing", name);
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
    if (initialized) find<int()>("nvmlShutdown")();
    if (handle != nullptr) dlclose(handle);
  }

  /// Reads a value of the device. Nothing if this NVML or the device does not report it.
  template <typename T = unsigned, typename... Arguments>
  std::optional<T> ask(const char* name, Arguments... arguments) const {
    const auto function = find<int(Device, Arguments..., T*)>(name);
    T value{};
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
  settings.application_sm_mhz = library.ask("nvmlDeviceGetApplicationsClock", nvml::kClockSm);
  settings.application_memory_mhz =
      library.ask("nvmlDeviceGetApplicationsClock", nvml::kClockMemory);
  settings.default_sm_mhz = library.ask("nvmlDeviceGetDefaultApplicationsClock", nvml::kClockSm);
  settings.default_memory_mhz =
      library.ask("nvmlDeviceGetDefaultApplicationsClock", nvml::kClockMemory);
  settings.highest_sm_mhz = library.ask("nvmlDeviceGetMaxClockInfo", nvml::kClockSm);
  if (!settings.highest_sm_mhz) settings.highest_sm_mhz = tegra_.highest_gpu_mhz();
  settings.highest_memory_mhz = library.ask("nvmlDeviceGetMaxClockInfo", nvml::kClockMemory);
  if (const auto milliwatts = library.ask("nvmlDeviceGetEnforcedPowerLimit"))
    settings.power_limit_w = *milliwatts * 1e-3;
  if (const auto on = library.ask<int>("nvmlDeviceGetPersistenceMode"))
    settings.persistence = *on != 0;
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
  const auto field_values =
      library.find<int(nvml::Device, int, nvml::FieldValue*)>("nvmlDeviceGetFieldValues");
  if (field_values != nullptr && field_values(library.device, 1, &instant) == nvml::kSuccess &&
      instant.result == nvml::kSuccess) {
    reading.power_w = instant.value.as_unsigned * 1e-3;
  } else if (const auto milliwatts = library.ask("nvmlDeviceGetPowerUsage")) {
    reading.power_w = *milliwatts * 1e-3;
  }
  reading.sm_mhz = library.ask("nvmlDeviceGetClockInfo", nvml::kClockSm);
  reading.memory_mhz = library.ask("nvmlDeviceGetClockInfo", nvml::kClockMemory);
  reading.temperature_c = library.ask("nvmlDeviceGetTemperature", nvml::kTemperatureGpu);
  if (const auto bits =
          library.ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons"))
    reading.reasons = *bits;
  return reading;
}

std::optional<double> GpuMeter::energy_j() const {
  if (!has_nvml()) return std::nullopt;
  const auto millijoules = library_->ask<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
  return millijoules ? std::optional(static_cast<double>(*millijoules) * 1e-3) : std::nullopt;
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
  const auto power_usage = library_->find<int(nvml::Device, unsigned*)>("nvmlDeviceGetPowerUsage");
  if (power_usage == nullptr) return "this NVML lacks nvmlDeviceGetPowerUsage";
  unsigned milliwatts = 0;
  const int result = power_usage(library_->device, &milliwatts);
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
  return {
      {"power_w", or_null(r.power_w)},
      {"sm_mhz", or_null(r.sm_mhz)},
      {"memory_mhz", or_null(r.memory_mhz)},
      {"temperature_c", or_null(r.temperature_c)},
      {"clock_reasons", or_null(r.reasons.has_value(), clock_reason_names(r.reasons.value_or(0)))}};
}

nlohmann::ordered_json activity_json(const GpuMeter& meter, const GpuActivity& a,
                                     std::int64_t frames) {
  nlohmann::ordered_json json;
  const std::optional<double> mean = a.mean_power_w();
  if (mean) {
    json["power_w"] = {{"mean", *mean}, {"max", or_null(!a.power_w.empty(), a.power_w.high)}};
    json["power_source"] = meter.power_source();
    json["mj_per_frame"] =
        or_null(frames > 0, *mean * a.seconds * 1e3 / static_cast<double>(frames));
  } else {
    json["power_w"] = nullptr;
    json["power_missing"] = meter.power_missing();
  }
  json["samples"] = a.samples;
  json["sm_mhz"] = range_json(a.sm_mhz);
  json["memory_mhz"] = range_json(a.memory_mhz);
  json["temperature_c"] = range_json(a.temperature_c);
  json["clock_reasons"] = or_null(a.reasons_known, clock_reason_names(a.reasons));
  return json;
}

}  // namespace ocellus::app
