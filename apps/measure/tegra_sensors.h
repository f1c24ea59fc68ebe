// State of the integrated GPU of a Tegra (Jetson) from the kernel's files: clock, temperature and
// power. NVML is missing there, or knows only a part.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ocellus::app {

/// Power of a supply rail.
struct RailPower {
  std::string name;  ///< of the board, such as VDD_IN
  double watts = 0.0;
};

/// Finds the files once. Reading them needs no privileges.
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

}  // namespace ocellus::app
