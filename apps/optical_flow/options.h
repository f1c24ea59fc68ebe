// The options of optical flow on the command line, shared by flow, latency and bench.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_run.h"
#include "ocellus/optical_flow.h"

namespace ocellus::app {

struct FlowOptions {
  std::optional<std::string> preset;
  std::optional<std::string> method;
  // Kernels.
  std::optional<std::string> kernels;
  std::optional<std::string> form;
  std::optional<std::string> taps;
  std::optional<int> terms;
  std::optional<float> sigma_space;
  std::optional<float> sigma_time;
  std::optional<std::string> storage;
  // Pyramid.
  std::optional<int> levels;
  std::optional<int> window_frames;
  std::optional<int> warps;
  std::optional<int> coarse_warps;
  std::optional<float> robust;
  std::optional<float> gradient_floor;
  std::optional<std::string> smoothing;
  std::optional<int> smoothing_size;
  std::optional<std::string> interpolation;
  std::optional<bool> normalize;
  std::optional<int> median;
  std::optional<float> ridge;
  // Both.
  std::optional<int> window_size;
  std::optional<float> window_sigma;
  std::optional<std::string> roi;
  std::optional<float> threshold;
  std::optional<std::string> invalid;
};

void add_flow_options(CLI::App& command, FlowOptions& options);

/// The configuration for frames of this size and format, depth 1. `options` must outlive it: it
/// holds the kernel file's path. Throws InputError on unreadable options; what is unused is for
/// check_options, and ranges are the library's to check.
OpticalFlowConfig flow_config(const FlowOptions& options, ImageSize size, PixelFormat format);

/// "15x15x20". Throws InputError.
std::vector<int> parse_taps(const std::string& text);

/// Options that contradict each other or would be taken in silence.
std::vector<UnusedOptions> unused_flow_options(const FlowOptions& options);

/// The library names its fields; who reads the text knows the options.
std::string with_option_name(std::string text);
template <typename T>
T take_options(const Expected<T>& value, const std::string& context) {
  if (!value) throw InputError(context + ": " + with_option_name(value.error().text));
  if constexpr (!std::is_void_v<T>) return *value;
}

/// Levels that the images have room for: as many as asked for, or fewer.
int pyramid_levels(const OpticalFlowConfig& config);

/// The number of frames that a result is made of, and a way to change it.
int temporal_support(const OpticalFlowConfig& config);
void set_temporal_support(OpticalFlowConfig& config, int frames);
/// A kernel file has the number that it has.
bool temporal_support_is_fixed(const OpticalFlowConfig& config);

/// The region that is computed.
ImageSize output_size(const OpticalFlowConfig& config);

/// "kernels uniform 15x15x20, float, window 15" and the like.
std::string describe(const OpticalFlowConfig& config);
nlohmann::ordered_json config_json(const OpticalFlowConfig& config);

Workload least_work(const OpticalFlowConfig& config);
/// Operations of one pixel for the window's sums and the solution on given derivatives.
double solution_flops(int window);

}  // namespace ocellus::app
