// What the files of `ocellus bench flow` share: its options, its frames and the measured methods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/measure/flow_errors.h"
#include "bench/bench_command.h"
#include "bench/bench_report.h"
#include "ocellus/optical_flow.h"

namespace ocellus::app {

struct FlowBenchOptions : BenchOptions {
  FlowBenchOptions();

  std::string truth;
  std::string mask;
  std::string form = "all";
  std::string taps = "15x15x20";
  std::optional<long> frame;
  std::optional<std::string> results;  ///< memory of results on a device: device or pinned
  int border = 0;
  bool no_peers = false;
};

/// The frames of one table, and the truth about their motion, if known.
struct BenchInput {
  Clip clip;
  std::optional<FlowField> truth;
  long number = 0;  ///< the truth is the flow from this frame to the next
  std::vector<std::uint8_t> mask;
  int border = 0;

  FlowErrors errors(const FlowField& field) const;
};

/// A configuration of this library's operator.
struct BenchMethod {
  std::string name;
  OpticalFlowConfig config;
};

/// The methods that --form selects, for frames of this size and format.
std::vector<BenchMethod> bench_methods(const FlowBenchOptions& options, const Clip& clip);

/// The columns of the errors in the table, and the errors in JSON.
std::string errors_heading();
/// Of a row; empty if it has none.
std::string errors_text(const Json& row);
Json errors_json(const FlowErrors& errors);

/// The part of a JSON report that is the same for all rows.
Json bench_json(const FlowBenchOptions& options, const EngineInfo& info,
                const std::vector<BenchInput>& inputs);

/// Measures on the CPU, with the methods of other libraries.
int bench_on_host(const FlowBenchOptions& options, const EngineConfig& engine,
                  const EngineInfo& info, const std::vector<BenchInput>& inputs);
/// Measures on a CUDA device, with frames and results in its memory, and compares with the paper's
/// schedules. Throws InputError in a build without the kernels that measure a device.
int bench_on_device(const FlowBenchOptions& options, const EngineConfig& engine,
                    const EngineInfo& info, const std::vector<BenchInput>& inputs);

}  // namespace ocellus::app
