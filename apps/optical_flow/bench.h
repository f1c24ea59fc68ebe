// What the files of `ocellus bench flow` share: its options, the frames, the methods measured.
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

/// Frames in memory with their numbers.
struct Clip {
  std::string name;
  long first = 0;
  std::vector<GrayImage> frames;

  ImageSize size() const { return frames.front().size; }
  PixelFormat format() const { return frames.front().format; }
  long last() const { return first + static_cast<long>(frames.size()) - 1; }
  const GrayImage& number(long n) const { return frames[static_cast<std::size_t>(n - first)]; }
  /// Back and forth.
  const GrayImage& cyclic(std::size_t i) const;
};

class TestScene;

/// Frames of a synthetic scene; all processors draw.
std::vector<GrayImage> draw_scene(const TestScene& scene, int first, int count);

/// The frames of a table, and what is known of their motion.
struct BenchInput {
  Clip clip;
  std::optional<FlowField> truth;
  long number = 0;  ///< the frame that the truth is of
  std::vector<std::uint8_t> mask;
  int border = 0;

  FlowErrors errors(const FlowField& field) const;
};

/// A method of ours.
struct BenchMethod {
  std::string name;
  OpticalFlowConfig config;
};

/// Those that --form chooses, for frames like these.
std::vector<BenchMethod> bench_methods(const BenchOptions& options, const Clip& clip);

/// Columns of the errors, and what stands there in JSON.
std::string errors_heading();
std::string errors_text(const FlowErrors& errors);
nlohmann::ordered_json errors_json(const FlowErrors& errors);

/// How the JSON report of every bench begins.
nlohmann::ordered_json bench_head(const char* bench, const EngineInfo& info);
/// What is the same for all rows of a JSON report.
nlohmann::ordered_json bench_json(const BenchOptions& options, const EngineInfo& info,
                                  const std::vector<BenchInput>& inputs);

void add_bench_cells_command(CLI::App& bench, int& exit_code);

/// On the CPU, beside other libraries' methods.
int bench_on_host(const BenchOptions& options, const EngineConfig& engine, const EngineInfo& info,
                  const std::vector<BenchInput>& inputs);
/// On a CUDA device, with frames and results in its memory, beside the paper's schedules. Throws
/// InputError in a build that has no kernels to measure a device with.
int bench_on_device(const BenchOptions& options, const EngineConfig& engine, const EngineInfo& info,
                    const std::vector<BenchInput>& inputs);

}  // namespace ocellus::app
