// What the files of `ocellus bench flow` share: its options, its frames and the measured methods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/frames.h"
#include "apps/io/image_io.h"
#include "apps/measure/flow_errors.h"
#include "ocellus/optical_flow.h"

namespace ocellus::app {

struct BenchOptions {
  CommonOptions common;
  std::vector<std::string> sizes;
  std::string input;
  SourceOptions source;
  std::string truth;
  std::string mask;
  std::string form = "all";
  std::string schedule = "ours";
  std::string taps = "15x15x20";
  std::optional<long> frame;
  std::optional<int> frames;
  std::optional<int> depth;
  std::optional<std::string> results;  ///< memory of results on a device: device or pinned
  int border = 0;
  bool no_peers = false;

  bool ours() const { return schedule != "papers"; }
  bool papers() const { return schedule != "ours"; }
};

/// Numbered frames in memory.
struct Clip {
  std::string name;
  long first = 0;
  std::vector<GrayImage> frames;

  ImageSize size() const { return frames.front().size; }
  PixelFormat format() const { return frames.front().format; }
  long last() const { return first + static_cast<long>(frames.size()) - 1; }
  const GrayImage& number(long n) const { return frames[static_cast<std::size_t>(n - first)]; }
  /// The frames forwards and backwards in turn.
  const GrayImage& cyclic(std::size_t i) const;
};

class TestScene;

/// Frames of a synthetic scene, drawn on all processors.
std::vector<GrayImage> draw_scene(const TestScene& scene, int first, int count);

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
std::vector<BenchMethod> bench_methods(const BenchOptions& options, const Clip& clip);

/// The columns of the errors in the table, and the errors in JSON.
std::string errors_heading();
std::string errors_text(const FlowErrors& errors);
nlohmann::ordered_json errors_json(const FlowErrors& errors);

/// The beginning of every bench's JSON report.
nlohmann::ordered_json bench_head(const char* bench, const EngineInfo& info);
/// The part of a JSON report that is the same for all rows.
nlohmann::ordered_json bench_json(const BenchOptions& options, const EngineInfo& info,
                                  const std::vector<BenchInput>& inputs);

void add_bench_cells_command(CLI::App& bench, int& exit_code);

/// Measures on the CPU, with the methods of other libraries.
int bench_on_host(const BenchOptions& options, const EngineConfig& engine, const EngineInfo& info,
                  const std::vector<BenchInput>& inputs);
/// Measures on a CUDA device, with frames and results in its memory, and compares with the paper's
/// schedules. Throws InputError in a build without the kernels that measure a device.
int bench_on_device(const BenchOptions& options, const EngineConfig& engine, const EngineInfo& info,
                    const std::vector<BenchInput>& inputs);

}  // namespace ocellus::app
