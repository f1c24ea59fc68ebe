#include "apps/cortical_network/real_devices.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/common/common.h"
#include "apps/common/device_list.h"
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

/// Of the memory of a GPU, this share is left to the driver and to others.
constexpr std::uint64_t kLeftShare = 16;

RealDevice real_device(const ListedDevice& listed) {
  RealDevice device;
  device.engine = listed.engine;
  const bool cpu = listed.info.backend == BackendKind::kCpu;
  device.placement.kind = cpu ? PlacementKind::kCpu : PlacementKind::kGpu;
  device.placement.name = listed.name;
  if (!cpu)
    device.placement.memory = listed.info.device_bytes - listed.info.device_bytes / kLeftShare;
  return device;
}

/// All CUDA devices and the CPU.
std::vector<RealDevice> all_devices(const EngineConfig& engine) {
  std::vector<RealDevice> devices;
  for (const ListedDevice& listed : cuda_devices(engine)) {
    if (devices.size() + 1 == std::size_t{kMaxPlacementDevices}) break;
    devices.push_back(real_device(listed));
  }
  devices.push_back(real_device(cpu_device(engine)));
  return devices;
}

}  // namespace

bool read_number(std::string_view text, std::string_view unit, double& value) {
  if (!text.ends_with(unit)) return false;
  value = number_of<double>(text.substr(0, text.size() - unit.size())).value_or(0.0);
  return value > 0.0 && std::isfinite(value);
}

std::uint64_t parse_device_memory(const std::string& option, const std::string& device,
                                  const std::string& text) {
  for (const Unit& unit : kUnits) {
    double number = 0.0;
    if (!read_number(text, unit.name, number)) continue;
    const double bytes = number * unit.bytes;
    if (bytes >= 1.0 && bytes <= kMostMemory) return static_cast<std::uint64_t>(bytes);
  }
  throw InputError(
      fmt::format("{}: '{}': the memory '{}' is not valid; it must be a number above 0 and MB, GB, "
                  "TB, MiB, GiB or TiB, such as 80GB",
                  option, printable(device, kMostOfValue), printable(text, kMostOfValue)));
}

std::vector<RealDevice> parse_real_devices(const std::string& option, const std::string& text,
                                           int threads) {
  EngineConfig engine;
  engine.workers = threads;
  if (text == kAllDevices) return all_devices(engine);
  std::vector<RealDevice> devices;
  for (const ListedDevice& listed : parse_device_list(option, text, engine, kAllDevices)) {
    devices.push_back(real_device(listed));
    if (!listed.limit.empty()) {
      devices.back().placement.memory =
          parse_device_memory(option, listed.name + "," + listed.limit, listed.limit);
    }
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
                     const std::vector<RealDevice>& devices, PlacedSchedule schedule)
    : pixels_(static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height)) {
  const std::size_t pixels = 2 * pixels_;
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
      take(PlacedCorticalNetwork::create(config, placement, pointers, schedule), "network"));
}

}  // namespace ocellus::app
