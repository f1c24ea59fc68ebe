#include "apps/cortex/real_devices.h"

#include <fmt/format.h>

#include <sstream>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/cortex/simulated_devices.h"

namespace ocellus::app {
namespace {

/// Of the memory of a GPU, this share is left to the driver and to others.
constexpr std::uint64_t kLeftShare = 16;

RealDevice device_of(const BackendSpec& backend, int threads) {
  RealDevice device;
  device.engine.backend = backend;
  device.engine.workers = threads;
  const bool cpu = backend.choice == BackendChoice::kCpu;
  device.placement.kind = cpu ? PlacementKind::kCpu : PlacementKind::kGpu;
  device.placement.name = cpu ? "cpu" : fmt::format("cuda:{}", backend.device);
  return device;
}

/// All CUDA devices and the CPU.
std::vector<RealDevice> all_devices(int threads) {
  std::vector<RealDevice> devices;
  for (int number = 0; number < kMaxPlacementDevices - 1; ++number) {
    RealDevice device = device_of({BackendChoice::kCuda, number}, threads);
    const Expected<EngineInfo> info = Engine::probe(device.engine);
    if (!info) break;
    device.placement.memory = info->device_bytes - info->device_bytes / kLeftShare;
    devices.push_back(device);
  }
  devices.push_back(device_of({BackendChoice::kCpu, 0}, threads));
  return devices;
}

RealDevice parse_real_device(const std::string& option, const std::string& text, int threads) {
  const auto fail = [&](const std::string& what) {
    return InputError(fmt::format("{}: '{}': {}", option, printable(text, kMostOfValue), what));
  };
  const std::vector<std::string> parts = parts_of(text, ',');
  if (parts.size() > 2)
    throw fail(fmt::format("it has {} parts; it may have a device and its memory", parts.size()));
  const Expected<BackendSpec> backend = BackendSpec::parse(parts[0].c_str());
  if (!backend || backend->choice == BackendChoice::kAuto)
    throw fail("it is not valid; it must be cpu, cuda or cuda:N, or auto alone");
  RealDevice device = device_of(*backend, threads);
  const EngineInfo info = take(Engine::probe(device.engine), option);
  if (info.backend == BackendKind::kCuda)
    device.placement.memory = info.device_bytes - info.device_bytes / kLeftShare;
  if (parts.size() == 2) device.placement.memory = parse_device_memory(option, text, parts[1]);
  return device;
}

}  // namespace

std::vector<RealDevice> parse_real_devices(const std::string& option, const std::string& text,
                                           int threads) {
  if (text == kAllDevices) return all_devices(threads);
  std::vector<RealDevice> devices;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    devices.push_back(parse_real_device(option, word, threads));
  if (devices.empty()) {
    throw InputError(fmt::format("{} names no device; it must be auto, or cpu and cuda:N", option));
  }
  return devices;
}

void measure_devices(const CorticalNetworkConfig& config, const CorticalProfile& profile,
                     std::vector<RealDevice>& devices) {
  for (RealDevice& device : devices) {
    PlacementDevice& placement = device.placement;
    const std::string context = "measuring " + placement.name;
    if (placement.kind == PlacementKind::kCpu) {
      CorticalNetworkConfig on_cpu = config;
      on_cpu.workers = take(Engine::probe(device.engine), context).workers;
      placement.measured = take(profile_cortical_network(on_cpu, profile), context);
      continue;
    }
    MeasuredDevice measured =
        take(profile_cortical_device(config, profile, device.engine, placement.memory), context);
    placement.measured = std::move(measured.measured);
    placement.link_latency_s = measured.link_latency_s;
    placement.link_bytes_per_s = measured.link_bytes_per_s;
    placement.link_both_bytes_per_s = measured.link_both_bytes_per_s;
  }
}

std::vector<PlacementDevice> placement_devices(const std::vector<RealDevice>& devices) {
  std::vector<PlacementDevice> list;
  list.reserve(devices.size());
  for (const RealDevice& device : devices) list.push_back(device.placement);
  return list;
}

PlacedRun::PlacedRun(const CorticalNetworkConfig& config, const CorticalPlacement& placement,
                     const std::vector<RealDevice>& devices) {
  const auto pixels =
      static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height);
  std::vector<Engine*> pointers(devices.size(), nullptr);
  engines_.reserve(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const Footprint bytes =
        take(PlacedCorticalNetwork::footprint(config, placement, static_cast<int>(d)), "network");
    if (bytes == Footprint{}) continue;
    EngineConfig settings = devices[d].engine;
    settings.memory = bytes;
    const bool has_image = devices[d].placement.kind == PlacementKind::kGpu && buffers_.empty();
    if (has_image) settings.memory += Buffer::footprint(MemorySpace::kPinned, pixels);
    engines_.push_back(take(Engine::create(settings), devices[d].placement.name));
    pointers[d] = &engines_.back();
    if (has_image)
      buffers_.push_back(take(Buffer::create(engines_.back(), MemorySpace::kPinned, pixels),
                              devices[d].placement.name));
  }
  if (buffers_.empty()) {
    ordinary_.resize(pixels);
    image_ = ordinary_.data();
  } else {
    image_ = static_cast<std::uint8_t*>(buffers_[0].data());
    space_ = MemorySpace::kPinned;
  }
  network_ = std::make_unique<PlacedCorticalNetwork>(
      take(PlacedCorticalNetwork::create(config, placement, pointers), "network"));
}

}  // namespace ocellus::app
