// What `ocellus bench` has for every operator: options, inputs and the beginning of reports.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/config_file.h"
#include "apps/io/frames.h"
#include "apps/measure/clip.h"

namespace ocellus::app {

/// What differs between operators.
struct BenchDefaults {
  std::vector<const char*> sizes;  ///< of the synthetic scene
  int scene_frames = 40;
  int host_frames = 100;    ///< of --frames on the CPU
  int device_frames = 0;    ///< and on a device
  const char* papers = "";  ///< the paper's schedules in a few words
};

struct BenchOptions {
  explicit BenchOptions(BenchDefaults of_operator) : defaults(std::move(of_operator)) {}

  BenchDefaults defaults;
  CommonOptions common;
  std::vector<std::string> sizes;
  std::string input;
  SourceOptions source;
  std::string schedule = "ours";
  std::optional<int> frames;
  std::optional<int> depth;

  bool ours() const { return schedule != "papers"; }
  bool papers() const { return schedule != "ours"; }
  int host_frames() const { return frames.value_or(defaults.host_frames); }
  int device_frames() const { return frames.value_or(defaults.device_frames); }
  /// Frames in flight on a device.
  int in_flight() const { return depth.value_or(3); }
};

/// A configuration to measure. "@" in a text stands for an option of the bench.
struct BenchConfig {
  const char* name;
  const char* options;  ///< of the operator, such as "preset=fast depth=2"
};
/// The text with `value` in place of each "@".
std::string with_value(const char* text, const std::string& value);
/// The operator's options.
OptionTexts options_of(const BenchConfig& config, const std::string& value = "");

/// Adds the options. --help shows the defaults.
void add_bench_options(CLI::App& command, BenchOptions& options);
/// Throws for options that have no meaning with the others.
void check_bench_options(const CLI::App& command, const BenchOptions& options);

/// The engine to measure. Throws InputError for options that the CPU does not have.
struct BenchEngine {
  explicit BenchEngine(const BenchOptions& options);

  bool on_cpu() const { return info.backend == BackendKind::kCpu; }

  EngineConfig config;
  EngineInfo info;
};

/// FRAMES of each table.
std::vector<std::string> bench_inputs(const BenchOptions& options);

/// The beginning of every JSON report.
nlohmann::ordered_json bench_head(const char* bench, const EngineInfo& info);

/// Adds `bench` and its subcommands.
void add_bench_commands(CLI::App& program, int& exit_code);

// Each function adds the subcommand of an operator.
void add_bench_flow_command(CLI::App& bench, int& exit_code);
void add_bench_restore_command(CLI::App& bench, int& exit_code);
void add_bench_halftone_command(CLI::App& bench, int& exit_code);
void add_bench_digits_command(CLI::App& bench, int& exit_code);
void add_bench_cortex_command(CLI::App& bench, int& exit_code);
/// Adds the subcommand of any operator on several devices.
void add_bench_devices_command(CLI::App& bench, int& exit_code);
/// Adds `ocellus cortex plan` to `ocellus cortex`.
void add_plan_command(CLI::App& cortex, int& exit_code);
/// Adds `compare latency`: reports of `ocellus latency --json` beside each other.
void add_compare_latency_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
