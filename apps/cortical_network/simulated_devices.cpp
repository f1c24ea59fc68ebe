#include "apps/cortical_network/simulated_devices.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

#include "apps/common/input_error.h"
#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

constexpr double kMostMemory = 1e18;

struct Unit {
  const char* name;
  double bytes;
};
constexpr Unit kUnits[] = {{"MB", 1e6},       {"GB", 1e9},       {"TB", 1e12},
                           {"MiB", 0x1.0p20}, {"GiB", 0x1.0p30}, {"TiB", 0x1.0p40}};

constexpr const char* kOption = "--simulate";

[[noreturn]] void fail(const std::string& device, const std::string& what,
                       const std::string& option = kOption) {
  throw InputError(fmt::format("{}: '{}': {}", option, printable(device, kMostOfValue), what));
}

/// A number followed by `unit`, above 0. Returns false otherwise.
bool read_number(std::string_view text, std::string_view unit, double& value) {
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() &&
         std::string_view(next, static_cast<std::size_t>(end - next)) == unit && value > 0.0 &&
         std::isfinite(value);
}

double parse_speed(const std::string& device, const std::string& text) {
  double speed = 0.0;
  if (read_number(text, "x", speed)) return speed;
  fail(device,
       fmt::format("the speed '{}' is not valid; it must be a number above 0 and an x, such "
                   "as 0.4x",
                   printable(text, kMostOfValue)));
}

/// Returns whether the times are to be measured.
bool parse_device(const std::string& text, PlacementDevice& device) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind != "cpu" && kind != "gpu") {
    fail(text, fmt::format("the kind '{}' is not valid; it must be gpu or cpu",
                           printable(kind, kMostOfValue)));
  }
  if (colon == std::string::npos)
    fail(text, "the speed is missing; write it after a colon, such as " + kind + ":0.4x");
  const bool cpu = kind == "cpu";
  device.kind = cpu ? PlacementKind::kCpu : PlacementKind::kGpu;
  const PlacementReference reference;
  device.launch_s = cpu ? reference.cpu_launch_s : reference.gpu_launch_s;
  const std::vector<std::string> parts = parts_of(text.substr(colon + 1), ',');
  if (parts.size() > 2)
    fail(text, fmt::format("it has {} parts after the colon; it may have speed and memory",
                           parts.size()));
  const bool measured = parts[0] == "measured";
  if (measured && !cpu) {
    fail(
        text,
        "a simulated GPU is not measured; give its speed, such as gpu:1.0x,80GB, or real GPUs with "
        "--devices");
  }
  if (!measured) device.speed = parse_speed(text, parts[0]);
  if (parts.size() == 2)
    device.memory = parse_device_memory(kOption, text, parts[1]);
  else if (!cpu)
    fail(text, "the memory is missing; write it after a comma, such as " + text + ",80GB");
  return measured;
}

}  // namespace

std::uint64_t parse_device_memory(const std::string& option, const std::string& device,
                                  const std::string& text) {
  for (const Unit& unit : kUnits) {
    double number = 0.0;
    if (!read_number(text, unit.name, number)) continue;
    const double bytes = number * unit.bytes;
    if (bytes >= 1.0 && bytes <= kMostMemory) return static_cast<std::uint64_t>(bytes);
  }
  fail(device,
       fmt::format("the memory '{}' is not valid; it must be a number above 0 and MB, GB, "
                   "TB, MiB, GiB or TiB, such as 80GB",
                   printable(text, kMostOfValue)),
       option);
}

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(between, begin);
    words.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return words;
    begin = end + 1;
  }
}

SimulatedDevices parse_devices(const std::string& text) {
  SimulatedDevices all;
  std::istringstream words(text);
  int gpus = 0;
  for (std::string word; words >> word;) {
    PlacementDevice device;
    const bool measured = parse_device(word, device);
    const bool cpu = device.kind == PlacementKind::kCpu;
    device.name = cpu ? "cpu" : fmt::format("gpu {}", gpus++);
    if (measured) all.measured = static_cast<int>(all.devices.size());
    all.devices.push_back(device);
  }
  return all;
}

}  // namespace ocellus::app
