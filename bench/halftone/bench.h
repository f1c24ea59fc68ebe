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

/// A network configured by options of the operator.
struct CellMethod {
  std::string name;
  OptionTexts options;  ///< of the operator halftone
};

/// The presets, each also with a warm start, and published templates.
std::vector<CellMethod> cell_methods();

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
