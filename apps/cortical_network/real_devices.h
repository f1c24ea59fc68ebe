// Devices of this machine for a placed cortical network: their names, their measured times, and
// their engines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ocellus/cortical_profile.h"
#include "ocellus/ocellus.h"

namespace ocellus::app {

inline constexpr const char* kAllDevices = "auto";

/// What the help of an option says about its value.
inline constexpr const char* kDevicesHelp =
    "Devices of this machine with spaces between them: cpu or cuda:N, each with a limit of its "
    "memory after a comma, such as \"cuda:0,3GB cpu\"; auto: all";

/// Reads a number above 0 that is followed by `unit`. Returns false otherwise.
bool read_number(std::string_view text, std::string_view unit, double& value);

/// Parses a memory such as 80GB. Throws InputError that names the option and the device.
std::uint64_t parse_device_memory(const std::string& option, const std::string& device,
                                  const std::string& text);

struct RealDevice {
  PlacementDevice placement;
  EngineConfig engine;  ///< without its memory
};

/// Parses devices of this machine. `option` is named in errors; `threads`: of the CPU, 0: all.
/// Throws InputError.
std::vector<RealDevice> parse_real_devices(const std::string& option, const std::string& text,
                                           int threads);

/// Measures the devices for a network. Throws InputError.
void measure_devices(const CorticalNetworkConfig& config, const CorticalProfile& profile,
                     std::vector<RealDevice>& devices);

std::vector<PlacementDevice> placement_devices(const std::vector<RealDevice>& devices);

/// A network on its devices.
class PlacedRun {
 public:
  /// Throws InputError.
  PlacedRun(const CorticalNetworkConfig& config, const CorticalPlacement& placement,
            const std::vector<RealDevice>& devices,
            PlacedSchedule schedule = PlacedSchedule::kInOrder);

  PlacedCorticalNetwork& network() { return *network_; }
  /// Memory for the image of the next step; pinned if a GPU computes. The step before may still
  /// read its own.
  std::uint8_t* next_image() {
    second_ = !second_;
    return image_ + (second_ ? pixels_ : 0);
  }
  MemorySpace space() const { return space_; }

 private:
  std::vector<Engine> engines_;
  std::vector<Buffer> buffers_;
  std::vector<std::uint8_t> ordinary_;
  std::uint8_t* image_ = nullptr;  ///< two
  std::size_t pixels_ = 0;
  bool second_ = false;
  MemorySpace space_ = MemorySpace::kHost;
  std::unique_ptr<PlacedCorticalNetwork> network_;
};

}  // namespace ocellus::app
