// What the files of `ocellus bench halftone` share: its options, its frames and its rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/operator_options.h"
#include "apps/halftone/run.h"
#include "apps/measure/image_errors.h"
#include "bench/bench_command.h"
#include "bench/bench_report.h"

namespace ocellus::app {

struct HalftoneBenchOptions : BenchOptions {
  HalftoneBenchOptions();

  double sigma = 1.5;
};

/// Configurations of the operator halftone: the presets, each also with a warm start, and published
/// templates. The published hlf templates start from the frame itself, which ends with a larger
/// error.
inline constexpr BenchConfig kHalftones[] = {
    {"preset quality", "preset=quality"},
    {"preset quality, warm start", "preset=quality warm_start=true"},
    {"preset fast", "preset=fast"},
    {"preset fast, warm start", "preset=fast warm_start=true"},
    {"hlf3 from noise", "template=hlf3 start=noise"},
    {"hlf5 from noise", "template=hlf5 start=noise"},
    {"hlf5 from blue-noise", "template=hlf5 start=blue-noise"},
    {"gauss5 from error-diffusion", "template=gauss5 start=error-diffusion"}};
/// The paper's figures show halftones of a 3x3 template in nine colors, by the operator cnn.
inline constexpr BenchConfig kPaperTask = {"hlf3 in nine colors",
                                           "template=hlf3 start=noise color_spacing=3"};

/// What an eye sees of a halftone, and how its sweeps ended. It is measured on the first frame of
/// the clip, or, with a warm start, on the last one.
struct CellQuality {
  std::optional<SeenErrors> seen;
  CellularNetworkRecord record;
  std::size_t frame = 0;
};
/// The same in words.
inline constexpr const char* kQualityOf =
    "of the first frame; with a warm start of the last one, after all those before it";
CellQuality quality_of(const EngineConfig& engine, const OperatorConfig& config, const Clip& clip,
                       double sigma);
/// Adds the quality to a row of a report.
void add_quality(Json& row, const CellQuality& quality);

/// Measures on a CUDA device, with frames and results in its memory, and compares with the paper's
/// schedules. Throws InputError in a build without the kernels that measure a device.
int bench_cells_on_device(const HalftoneBenchOptions& options, const EngineConfig& engine,
                          const EngineInfo& info, const std::vector<Clip>& clips);

}  // namespace ocellus::app
