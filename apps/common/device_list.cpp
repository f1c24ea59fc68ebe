#include "apps/common/device_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

constexpr const char* kDevices = "--devices";
constexpr const char* kAll = "all";

ListedDevice device_of(const BackendSpec& backend, const EngineConfig& engine) {
  ListedDevice device;
  device.engine = engine;
  device.engine.backend = backend;
  device.name = backend.choice == BackendChoice::kCpu ? std::string("cpu")
                                                      : fmt::format("cuda:{}", backend.device);
  return device;
}

}  // namespace

std::vector<ListedDevice> cuda_devices(const EngineConfig& engine) {
  std::vector<ListedDevice> devices;
  for (int number = 0;; ++number) {
    ListedDevice device = device_of({BackendChoice::kCuda, number}, engine);
    const Expected<EngineInfo> info = Engine::probe(device.engine);
    if (!info) return devices;
    device.info = *info;
    devices.push_back(std::move(device));
  }
}

ListedDevice cpu_device(const EngineConfig& engine) {
  ListedDevice device = device_of({BackendChoice::kCpu, 0}, engine);
  device.info = take(Engine::probe(device.engine), device.name);
  return device;
}

std::vector<ListedDevice> parse_device_list(const std::string& option, const std::string& text,
                                            const EngineConfig& engine, const std::string& whole) {
  std::vector<ListedDevice> devices;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (const auto commas = std::count(word.begin(), word.end(), ','); commas > 1) {
      throw InputError(fmt::format("{}: '{}': it has {} parts; it may have a device and its memory",
                                   option, printable(word, kMostOfValue), commas + 1));
    }
    const std::size_t comma = word.find(',');
    const Expected<BackendSpec> backend = BackendSpec::parse(word.substr(0, comma).c_str());
    if (!backend || backend->choice == BackendChoice::kAuto) {
      throw InputError(
          fmt::format("{}: '{}': it is not valid; it must be cpu, cuda or cuda:N, or {} alone",
                      option, printable(word, kMostOfValue), whole));
    }
    ListedDevice device = device_of(*backend, engine);
    device.info = take(Engine::probe(device.engine), option);
    if (comma != std::string::npos) {
      device.limit = word.substr(comma + 1);
      if (device.limit.empty()) {
        throw InputError(fmt::format("{}: '{}': nothing follows the comma", option,
                                     printable(word, kMostOfValue)));
      }
    }
    devices.push_back(std::move(device));
  }
  if (devices.empty()) {
    throw InputError(
        fmt::format("{} names no device; it must be {}, or cpu and cuda:N", option, whole));
  }
  return devices;
}

std::vector<ListedDevice> parse_frame_devices(const std::string& option, const std::string& text,
                                              const EngineConfig& engine) {
  if (text == kAll) {
    std::vector<ListedDevice> devices = cuda_devices(engine);
    if (devices.empty()) devices.push_back(cpu_device(engine));
    return devices;
  }
  std::vector<ListedDevice> devices = parse_device_list(option, text, engine, kAll);
  for (const ListedDevice& device : devices) {
    if (device.limit.empty()) continue;
    throw InputError(fmt::format("{}: '{},{}': a limit of the memory has no meaning here", option,
                                 device.name, printable(device.limit, kMostOfValue)));
  }
  return devices;
}

void add_devices_option(CLI::App& command, CommonOptions& options) {
  command
      .add_option(kDevices, options.devices,
                  fmt::format("In place of --backend: frames go to these devices in turn. {}. "
                              "--threads holds for each CPU of the list",
                              kFrameDevicesHelp))
      ->excludes(command.get_option("--backend"));
}

std::vector<EngineConfig> engine_configs(const CommonOptions& options) {
  if (options.devices.empty()) return {engine_config(options)};
  std::vector<EngineConfig> engines;
  for (const ListedDevice& device :
       parse_frame_devices(kDevices, options.devices, engine_config(options)))
    engines.push_back(device.engine);
  return engines;
}

}  // namespace ocellus::app
