// State of a GPU: clocks, the reasons that limit them, and power. The driver's management library
// (NVML) is loaded at run time. What it does not know of an integrated GPU comes from the kernel's
// files (TegraSensors). If both are missing, GpuMeter::missing() returns the reason.
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

/// Power of a supply rail.
struct RailPower {
  std::string name;  ///< of the board, such as VDD_IN
  double watts = 0.0;
};

/// State of the integrated GPU of a Tegra (Jetson) from the kernel's files: clock, temperature and
/// power. NVML is missing there, or knows only a part. It finds the files once. Reading them needs
/// no privileges.
class TegraSensors {
 public:
  static constexpr const char* kSysfs = "/sys";

  /// `sysfs`: the root of the kernel's tree; empty: there are no sensors.
  explicit TegraSensors(const std::string& sysfs);

  /// Whether there is a clock, a temperature or a rail.
  bool found() const { return !clock_.empty() || !temperature_.empty() || !rails_.empty(); }

  std::optional<unsigned> gpu_mhz() const;
  /// The limit that the power mode or the user has set.
  std::optional<unsigned> highest_gpu_mhz() const;
  /// Nothing while the GPU is switched off.
  std::optional<unsigned> gpu_celsius() const;

  /// Rails that can be read now.
  std::vector<RailPower> rails() const;
  /// Power of the module: of the rail that supplies it, or else of all rails.
  std::optional<double> power_w() const;
  /// What power_w is, such as "VDD_IN". Empty if there is no rail.
  std::string power_source() const;

 private:
  struct Rail {
    std::string name;
    std::string millivolts;    ///< file
    std::string milliamperes;  ///< file
  };
  static std::optional<double> watts(const Rail& rail);
  void find_clock(const std::string& sysfs);
  void find_temperature(const std::string& sysfs);
  void find_rails(const std::string& sysfs);

  std::string clock_;        // folder of devfreq
  std::string temperature_;  // file
  std::vector<Rail> rails_;
  int supply_ = -1;  // the rail that supplies the module
};

/// Settings of a device. They do not change by themselves. A value that the device does not report
/// is empty.
struct GpuSettings {
  std::optional<unsigned> application_sm_mhz;
  std::optional<unsigned> application_memory_mhz;
  std::optional<unsigned> default_sm_mhz;  ///< the default application clock
  std::optional<unsigned> default_memory_mhz;
  std::optional<unsigned> highest_sm_mhz;
  std::optional<unsigned> highest_memory_mhz;
  std::optional<double> power_limit_w;
  /// whether the driver stays loaded when no process uses the device
  std::optional<bool> persistence;
};

/// One sample of a device's state.
struct GpuReading {
  std::optional<double> power_w;
  std::optional<unsigned> sm_mhz;
  std::optional<unsigned> memory_mhz;
  std::optional<unsigned> temperature_c;
  std::optional<std::uint64_t> reasons;  ///< NVML's bits for the reasons that limit the clocks
};

/// Names of NVML's clock event (throttle) reasons.
std::vector<std::string> clock_reason_names(std::uint64_t reasons);

/// "application clocks" if they are set to another value than the default, otherwise "default".
/// NVML does not report clocks locked by nvidia-smi -lgc; those show in the range of the clock
/// while a program runs.
std::string clock_mode(const GpuSettings& settings);

class GpuMeter {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  /// Opens the device at this PCI address (EngineInfo::device_bus). Never fails: see `missing`.
  /// `sysfs`: of an integrated GPU, where the kernel's tree is (TegraSensors::kSysfs).
  explicit GpuMeter(const std::string& bus, const std::string& library = kLibrary,
                    const std::string& sysfs = "");
  ~GpuMeter();
  GpuMeter(GpuMeter&&) noexcept;
  GpuMeter& operator=(GpuMeter&&) noexcept;

  /// Why the device's state is unknown, or an empty text.
  std::string missing() const { return tegra_.found() ? "" : nvml_missing_; }
  /// Why NVML tells nothing, or an empty text.
  const std::string& nvml_missing() const { return nvml_missing_; }
  const TegraSensors& tegra() const { return tegra_; }
  /// The driver's version, such as 580.159.04; empty if unknown.
  const std::string& driver() const { return driver_; }

  GpuSettings settings() const;
  GpuReading read() const;
  /// Energy since the driver was loaded. The call takes milliseconds on some devices, so it is not
  /// made for every sample.
  std::optional<double> energy_j() const;
  /// Why `read` returns no power, or an empty text.
  std::string power_missing() const;
  /// Of what `read` returns the power: "NVML" for the device as NVML sees it, or rails of a board.
  /// Empty if `read` returns none.
  std::string power_source() const;

 private:
  struct Library;
  bool has_nvml() const { return nvml_missing_.empty(); }
  GpuReading read_nvml() const;

  std::unique_ptr<Library> library_;
  TegraSensors tegra_;
  std::string nvml_missing_;
  std::string driver_;
};

/// The least and the largest value seen.
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

/// The activity of a device between two times.
struct GpuActivity {
  int samples = 0;
  double seconds = 0.0;
  double power_sum_w = 0.0;
  int power_samples = 0;
  Range<double> power_w;
  Range<unsigned> sm_mhz;
  Range<unsigned> memory_mhz;
  Range<unsigned> temperature_c;
  std::uint64_t reasons = 0;  ///< all reasons seen
  bool reasons_known = false;
  std::optional<double> energy_j;

  void add(const GpuReading& reading);
  /// From the energy counter if at least one second passed, otherwise from the samples.
  std::optional<double> mean_power_w() const;
};

/// Samples a device's state from its own thread, from construction to `stop`.
class GpuSampler {
 public:
  /// The meter must outlive it. `every` 0: samples only at the beginning and at the end.
  GpuSampler(const GpuMeter& meter, std::chrono::milliseconds every);
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// Ends the thread and returns what it recorded.
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

/// A value of a report that may be unknown: null then.
template <typename T>
nlohmann::ordered_json or_null(bool known, const T& value) {
  return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}
template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// A missing value becomes null.
nlohmann::ordered_json settings_json(const GpuSettings& settings);
nlohmann::ordered_json reading_json(const GpuReading& reading);
/// Power and clocks during a run of `frames` frames.
nlohmann::ordered_json activity_json(const GpuMeter& meter, const GpuActivity& activity,
                                     std::int64_t frames);

}  // namespace ocellus::app
