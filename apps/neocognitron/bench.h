// What the files of `ocellus bench digits` share: its options and its rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_run.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

struct DigitsBenchOptions {
  CommonOptions common;
  std::vector<std::string> models{"digits-small"};
  std::vector<int> patches{1, 8, 64};
  std::string schedule = "ours";
  std::vector<int> planes;  ///< of US2 to US4 in place of the model's; empty: the model's
  std::optional<int> frames;
  std::optional<int> depth;

  bool papers() const { return schedule != "ours"; }

  int host_frames() const { return frames.value_or(200); }
  int device_frames() const { return frames.value_or(5000); }
  /// Of --schedule papers and all.
  int layer_characters() const { return frames.value_or(20); }
  /// Frames in flight on a device.
  int in_flight() const { return depth.value_or(3); }
};

/// A model, and frames that are grids of digits, one in each tile.
struct DigitsBenchCase {
  std::string model;
  int patches = 0;
  NeocognitronConfig config;
  std::vector<GrayImage> frames;
};

/// All models with all numbers of patches. `depth`: frames in flight.
std::vector<DigitsBenchCase> digits_bench_cases(const DigitsBenchOptions& options, int depth);

/// Measures on a CUDA device, with frames and results in its memory. Throws InputError in a build
/// without the kernels that measure a device.
int bench_digits_on_device(const DigitsBenchOptions& options, const EngineConfig& engine,
                           const EngineInfo& info);

}  // namespace ocellus::app
