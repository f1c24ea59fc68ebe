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

/// Parses devices with spaces between them, such as "gpu:1.0x,80GB gpu:0.4x,8GB cpu:0.05x": kind,
/// speed and memory. A CPU may have `measured` in place of its speed, and needs no memory, which
/// means that it has no limit. Throws InputError that names the device and the part.
SimulatedDevices parse_devices(const std::string& text);

}  // namespace ocellus::app
