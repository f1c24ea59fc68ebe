// What the driver's management library (NVML) tells of a GPU: its clocks, what holds them back, its
// power. The library is loaded when it is asked for; where it is missing, its own words say why.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ocellus::app {

/// What is set, and does not change by itself. What a device does not tell is left out.
struct GpuSettings {
  std::optional<unsigned> application_sm_mhz;
  std::optional<unsigned> application_memory_mhz;
  std::optional<unsigned> default_sm_mhz;  ///< of the application clocks
  std::optional<unsigned> default_memory_mhz;
  std::optional<unsigned> highest_sm_mhz;
  std::optional<unsigned> highest_memory_mhz;
  std::optional<double> power_limit_w;
  std::optional<bool> persistence;  ///< the driver stays loaded while nobody uses the device
};

/// One look at a device.
struct GpuReading {
  std::optional<double> power_w;
  std::optional<unsigned> sm_mhz;
  std::optional<unsigned> memory_mhz;
  std::optional<unsigned> temperature_c;
  std::optional<std::uint64_t> reasons;  ///< NVML's bits: what holds the clocks where they are
};

/// The names of NVML's clock event (throttle) reasons.
std::vector<std::string> clock_reason_names(std::uint64_t reasons);

/// "application clocks", when they are set to another value than the default; else "default". NVML
/// has no question for clocks locked with nvidia-smi -lgc; those show in the range of the clock
/// while a program runs.
std::string clock_mode(const GpuSettings& settings);

class GpuMeter {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  /// For the device at this PCI address (EngineInfo::device_bus). Never fails: see `missing`.
  explicit GpuMeter(const std::string& bus, const std::string& library = kLibrary);
  ~GpuMeter();
  GpuMeter(GpuMeter&&) noexcept;
  GpuMeter& operator=(GpuMeter&&) noexcept;

  /// Why nothing is known; empty when the device answers.
  const std::string& missing() const { return missing_; }
  /// The driver's version, such as 580.159.04; empty when unknown.
  const std::string& driver() const { return driver_; }

  GpuSettings settings() const;
  GpuReading read() const;
  /// Since the driver was loaded. Takes milliseconds on some devices: not for every sample.
  std::optional<double> energy_j() const;
  /// Why there is no power, where it is missing from `read`.
  std::string power_missing() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string missing_;
  std::string driver_;
};

/// Least and largest of what was seen.
template <typename T>
struct Range {
  T low = std::numeric_limits<T>::max();
  T high = std::numeric_limits<T>::lowest();
  void add(T value) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  bool empty() const { return low > high; }
};

/// What a device did between two moments.
struct GpuActivity {
  int samples = 0;
  double seconds = 0.0;
  double power_sum_w = 0.0;
  int power_samples = 0;
  Range<double> power_w;
  Range<unsigned> sm_mhz;
  Range<unsigned> memory_mhz;
  Range<unsigned> temperature_c;
  std::uint64_t reasons = 0;  ///< all that were seen
  bool reasons_known = false;
  std::optional<double> energy_j;

  void add(const GpuReading& reading);
  /// From the energy counter over a second or more, else from the samples.
  std::optional<double> mean_power_w() const;
};

/// Looks at a device from a thread of its own, now and again, from construction to `stop`.
class GpuSampler {
 public:
  /// The meter must outlive it. `every` 0: only at the begin and at the end.
  GpuSampler(const GpuMeter& meter, std::chrono::milliseconds every);
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// Ends the thread; what was seen.
  const GpuActivity& stop();

 private:
  void run();

  const GpuMeter& meter_;
  const std::chrono::milliseconds every_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<double> energy_at_begin_;
  GpuActivity activity_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

/// null where a value is missing.
nlohmann::ordered_json settings_json(const GpuSettings& settings);
nlohmann::ordered_json reading_json(const GpuReading& reading);
/// Power and clocks while something ran; `frames` of it.
nlohmann::ordered_json activity_json(const GpuMeter& meter, const GpuActivity& activity,
                                     std::int64_t frames);

}  // namespace ocellus::app
