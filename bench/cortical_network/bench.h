// What the parts of `ocellus bench cortex` share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "bench/bench_report.h"
#include "ocellus/cortical_placement.h"
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
  std::string plot;
  std::string placed;  ///< devices; empty: none
  std::vector<std::string> placements{"profiled"};
  bool no_cpu = false;
  CommonOptions common;

  bool ours() const { return schedule != "papers"; }
  bool papers() const { return schedule != "ours"; }
  bool experiments() const { return schedule == "experiments"; }
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
  /// Of device memory, of one more step; counted by the kernels.
  std::optional<double> bytes_read;
  std::optional<double> bytes_written;
  // Of the paper's kernels, with --schedule experiments.
  Json use;             ///< registers, shared memory and occupancy (tables 1 and 3); null: none
  std::string base{};   ///< the schedule that `speed_up` compares with; empty: none
  double speed_up = 0;  ///< its time divided by this one (figures 18 to 25)
  std::optional<double> launches_share;  ///< of the time (figure 8)
  /// Hypercolumns whose winner of the last step differs from `winners`.
  long long different = 0;
};

/// A network that is placed on devices of this machine and runs on them.
struct PlacedSteps {
  std::string placement;
  std::string schedule;
  nlohmann::ordered_json plan;
  std::string parts;                   ///< what the devices compute
  std::optional<double> predicted_ms;  ///< of steps in order
  double ms = 0.0;  ///< median from the end of a step to that of the next one, by the host's clock
  /// Hypercolumns whose winner of the last step differs from `winners`.
  long long different = 0;
};

/// A level of the paper's schedules (figure 9).
struct LevelSteps {
  int hypercolumns = 0;
  double dense_ms = 0.0;   ///< of the serial program
  double device_ms = 0.0;  ///< of a launch for each level
};

struct CortexBenchRow {
  int hypercolumns = 0;
  int minicolumns = 0;
  double active = 0.0;  ///< inputs of a hypercolumn
  double bytes = 0.0;   ///< of a step
  std::optional<double> ours_ms;
  std::optional<double> operator_ms;  ///< of the operator Network; none: its images are too wide
  std::optional<double> dense_ms;
  std::vector<std::pair<int, double>> dense_threads;  ///< threads and milliseconds (figure 6)
  std::vector<LevelSteps> levels;                     ///< empty: not measured
  std::string missing;                                ///< why a time is missing
  std::vector<DeviceSteps> device;
  std::vector<PlacedSteps> placed;  ///< one for each placement of the options
};

/// Writes figures 7 and 14 to 16 of the paper: speed-ups over its serial program, a file for each
/// number of minicolumns. `device`: its name, or empty. Throws InputError if a file cannot be
/// written.
void plot_speedups(const std::string& path, const std::vector<CortexBenchRow>& rows,
                   const std::string& device);

/// Runs the steps with each schedule of the options on a device. `winners`: of all hypercolumns in
/// the last step on the CPU; empty: nothing is compared.
std::vector<DeviceSteps> device_steps(const CortexBenchOptions& o, const EngineConfig& engine,
                                      const CorticalNetworkConfig& config,
                                      const std::vector<std::int32_t>& winners);

/// Milliseconds of each level with a launch for each.
std::vector<double> device_level_ms(const CortexBenchOptions& o, const EngineConfig& engine,
                                    const CorticalNetworkConfig& config);

/// A program of section 9 of the paper with a schedule, on a CUDA device.
struct ExampleRun {
  std::string program;
  std::string schedule;
  double ms = 0.0;  ///< of one run, by the device's clock
  /// Results that differ from those of the first schedule.
  long long different = 0;
  std::vector<double> layer_ms{};  ///< of each layer, with a launch for each
};

/// Measures the programs with each schedule.
std::vector<ExampleRun> run_examples(const EngineConfig& engine);

/// The values of --placement.
inline constexpr const char* kPlacementHelp =
    "profiled: by speed and memory, or even: as many subtrees on each GPU, the highest level on "
    "the CPU";
PlacementRule placement_rule(const std::string& text);

/// Measures the devices with the steps of the options, places the network by each rule, and runs
/// it in order and as a pipeline. The prediction is that of steps in order. `winners`: as for
/// device_steps().
std::vector<PlacedSteps> placed_steps(const CortexBenchOptions& o,
                                      const CorticalNetworkConfig& config,
                                      const std::vector<std::int32_t>& winners);

/// Bytes per second that the device reads.
double device_read_rate(const EngineConfig& engine);

/// What `ocellus cortex plan` prints.
struct PlanReport {
  std::vector<PlacementDevice> devices;
  CorticalPlacement placement;
};

void print_plan(const PlanReport& report);
nlohmann::ordered_json plan_json(const PlanReport& report);

}  // namespace ocellus::app
