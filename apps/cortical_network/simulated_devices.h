// Devices of --simulate.
#pragma once

#include <string>
#include <vector>

#include "ocellus/cortical_placement.h"

namespace ocellus::app {

struct SimulatedDevices {
  std::vector<PlacementDevice> devices;
  int measured = -1;  ///< the device whose times are to be measured on this machine; -1: none
};

/// Parses a memory such as 80GB. Throws InputError that names the option and the device.
std::uint64_t parse_device_memory(const std::string& option, const std::string& device,
                                  const std::string& text);

/// Parts of a text between separators.
std::vector<std::string> parts_of(const std::string& text, char between);

/// Parses devices with spaces between them, such as "gpu:1.0x,80GB gpu:0.4x,8GB cpu:0.05x": kind,
/// speed and memory. A CPU may have `measured` in place of its speed, and needs no memory, which
/// means that it has no limit. Throws InputError that names the device and the part.
SimulatedDevices parse_devices(const std::string& text);

}  // namespace ocellus::app
