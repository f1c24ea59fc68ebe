// What the parts of `ocellus bench cortex` share.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "ocellus/cortical_network.h"
#include "ocellus/engine.h"

namespace ocellus::app {

struct CortexBenchOptions {
  std::vector<int> hypercolumns{31, 127, 1023, 4095, 16383, 65535};
  std::vector<int> minicolumns{32, 128};
  int images = 4;
  double noise = 0.0;
  int warm_up = 10;
  int steps = 20;
  std::string schedule = "ours";
  CommonOptions common;

  bool ours() const { return schedule != "papers"; }
  bool papers() const { return schedule != "ours"; }
};

/// Random images, each with random pixels that change in every step.
class ImageSource {
 public:
  ImageSource(const CortexBenchOptions& o, int pixels);

  const std::vector<std::uint8_t>& next();

 private:
  std::mt19937 random_{1};
  double noise_;
  std::vector<std::vector<std::uint8_t>> images_;
  std::vector<std::uint8_t> current_;
};

/// A schedule on a CUDA device.
struct DeviceSteps {
  std::string schedule;
  std::optional<double> ms;  ///< median of a step, by the device's clock
  std::string missing;       ///< why it is missing
  /// Hypercolumns whose winner of the last step differs from `winners`.
  long long different = 0;
};

/// Runs the steps with each schedule of the options on a device. `winners`: of all hypercolumns in
/// the last step on the CPU; empty: nothing is compared.
std::vector<DeviceSteps> device_steps(const CortexBenchOptions& o, const EngineConfig& engine,
                                      const CorticalNetworkConfig& config,
                                      const std::vector<std::int32_t>& winners);

/// Bytes per second that the device reads.
double device_read_rate(const EngineConfig& engine);

}  // namespace ocellus::app
