// What the files of `ocellus bench digits` share: its options and its rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/image_io.h"
#include "apps/io/operator_run.h"
#include "apps/neocognitron/recognition_report.h"
#include "bench/bench_report.h"
#include "bench/curve_plot.h"

namespace ocellus::app {

/// Of the digits that are drawn from strokes.
constexpr unsigned kBenchSeed = 1;

struct DigitsBenchOptions {
  CommonOptions common;
  std::vector<std::string> models{"digits-small"};
  std::vector<int> patches{1, 8, 64};
  std::string schedule = "ours";
  std::vector<int> planes;        ///< of US2 to US4 in place of the model's; empty: the model's
  std::string windows = "model";  ///< of --schedule papers and all: "model" or "paper"
  std::optional<int> frames;
  std::optional<int> depth;
  std::string images;  ///< IDX files with the digits of the frames; empty: drawn from strokes
  std::string labels;
  std::string plot;  ///< SVG file; empty: none

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
  std::optional<double> accuracy;  ///< share of the labeled images that the model reads right
};

/// All models with all numbers of patches. `depth`: frames in flight. Recognizes the labeled images
/// with each model.
std::vector<DigitsBenchCase> digits_bench_cases(const DigitsBenchOptions& options,
                                                const EngineConfig& engine, int depth);

/// The column "accuracy" of a row; empty without labels.
std::string accuracy_text(const Json& row);
inline constexpr const char* kAccuracyHeading = "   accuracy";

/// Draws wrong answers over time, a point for each model and a curve for each number of patches.
/// `ms`: of each case; 0: not measured. Throws InputError.
void plot_digits_bench(const std::string& path, const std::vector<DigitsBenchCase>& cases,
                       const std::vector<double>& ms, const std::string& machine);

/// Measures on a CUDA device, with frames and results in its memory. Throws InputError in a build
/// without the kernels that measure a device.
int bench_digits_on_device(const DigitsBenchOptions& options, const EngineConfig& engine,
                           const EngineInfo& info);

}  // namespace ocellus::app
