// TegraSensors: where the kernel has its files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "apps/measure/gpu_meter.h"

namespace ocellus::app {
namespace {

namespace fs = std::filesystem;

/// The first line without its line end or the NUL of the device tree. Empty if it cannot be read.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == '\0' || line.back() == '\r' || line.back() == ' '))
    line.pop_back();
  return line;
}

std::optional<long long> read_number(const std::string& path) {
  std::ifstream file(path);
  long long number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// The entries of a folder by name. None if it cannot be read.
std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    paths.push_back(entry->path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::optional<unsigned> megahertz(const std::string& path) {
  const std::optional<long long> hertz = read_number(path);
  if (!hertz || *hertz < 0) return std::nullopt;
  return static_cast<unsigned>(std::llround(static_cast<double>(*hertz) * 1e-6));
}

std::string lower(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

}  // namespace

TegraSensors::TegraSensors(const std::string& sysfs) {
  if (sysfs.empty()) return;
  find_clock(sysfs);
  find_temperature(sysfs);
  find_rails(sysfs);
}

// "17000000.gpu" or "17000000.ga10b" on Orin. Thor has "gpu-gpc-0", the clock of the
// multiprocessors, and "gpu-nvd-0", that of the video engines.
void TegraSensors::find_clock(const std::string& sysfs) {
  constexpr std::array<std::string_view, 3> kChips = {"ga10b", "gv11b", "gp10b"};
  for (const std::string& folder : entries_of(sysfs + "/class/devfreq")) {
    const std::string name = fs::path(folder).filename().string();
    const std::string suffix = name.substr(name.rfind('.') + 1);
    const bool known = name.rfind("gpu-gpc", 0) == 0 || suffix == "gpu" ||
                       std::find(kChips.begin(), kChips.end(), suffix) != kChips.end();
    if (!known || !read_number(folder + "/cur_freq")) continue;
    clock_ = folder;
    return;
  }
}

void TegraSensors::find_temperature(const std::string& sysfs) {
  for (const std::string& folder : entries_of(sysfs + "/class/thermal")) {
    const std::string type = lower(line_of(folder + "/type"));
    if (type != "gpu-thermal" && type != "gpu-therm") continue;
    temperature_ = folder + "/temp";
    return;
  }
}

// The monitors of current measure three rails each. A channel without a rail has the label NC. The
// last channel is the sum of the shunt voltages.
void TegraSensors::find_rails(const std::string& sysfs) {
  constexpr int kChannels = 3;
  constexpr std::array<std::string_view, 3> kSupplies = {"VDD_IN", "VIN", "POM_5V_IN"};
  for (const std::string& folder : entries_of(sysfs + "/class/hwmon")) {
    if (line_of(folder + "/name").rfind("ina3221", 0) != 0) continue;
    for (int channel = 1; channel <= kChannels; ++channel) {
      Rail rail{line_of(fmt::format("{}/in{}_label", folder, channel)),
                fmt::format("{}/in{}_input", folder, channel),
                fmt::format("{}/curr{}_input", folder, channel)};
      if (rail.name.empty() || rail.name == "NC" || !watts(rail)) continue;
      if (std::find(kSupplies.begin(), kSupplies.end(), rail.name) != kSupplies.end())
        supply_ = static_cast<int>(rails_.size());
      rails_.push_back(std::move(rail));
    }
  }
}

std::optional<unsigned> TegraSensors::gpu_mhz() const {
  return clock_.empty() ? std::nullopt : megahertz(clock_ + "/cur_freq");
}

std::optional<unsigned> TegraSensors::highest_gpu_mhz() const {
  return clock_.empty() ? std::nullopt : megahertz(clock_ + "/max_freq");
}

std::optional<unsigned> TegraSensors::gpu_celsius() const {
  if (temperature_.empty()) return std::nullopt;
  const std::optional<long long> thousandths = read_number(temperature_);
  if (!thousandths || *thousandths < 0) return std::nullopt;
  return static_cast<unsigned>(std::llround(static_cast<double>(*thousandths) * 1e-3));
}

std::optional<double> TegraSensors::watts(const Rail& rail) {
  const std::optional<long long> volts = read_number(rail.millivolts);
  const std::optional<long long> amperes = read_number(rail.milliamperes);
  if (!volts || !amperes) return std::nullopt;
  return static_cast<double>(*volts) * 1e-3 * static_cast<double>(*amperes) * 1e-3;
}

std::vector<RailPower> TegraSensors::rails() const {
  std::vector<RailPower> powers;
  for (const Rail& rail : rails_)
    if (const std::optional<double> power = watts(rail)) powers.push_back({rail.name, *power});
  return powers;
}

std::optional<double> TegraSensors::power_w() const {
  if (rails_.empty()) return std::nullopt;
  if (supply_ >= 0) return watts(rails_[static_cast<std::size_t>(supply_)]);
  double sum = 0.0;
  for (const Rail& rail : rails_) {
    const std::optional<double> power = watts(rail);
    if (!power) return std::nullopt;  // a sum without a rail is no power of the module
    sum += *power;
  }
  return sum;
}

std::string TegraSensors::power_source() const {
  if (supply_ >= 0) return rails_[static_cast<std::size_t>(supply_)].name;
  std::vector<std::string> names;
  for (const Rail& rail : rails_) names.push_back(rail.name);
  return fmt::format("{}", fmt::join(names, " + "));
}

}  // namespace ocellus::app
