// The options of the cellular network on the command line: of halftone, which has presets, and of
// cnn, which runs any chain of templates. Shared by those, latency and bench.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/operator_run.h"
#include "apps/io/flow_file.h"
#include "ocellus/cellular_network.h"

namespace ocellus::app {

struct CellOptions {
  enum class Command { kHalftone, kCnn };

  explicit CellOptions(Command which) : command(which) {}

  Command command;
  std::optional<std::string> preset;  // of halftone
  std::optional<std::string> chain;   // --template
  std::optional<std::string> start;
  std::optional<unsigned> seed;
  std::optional<std::string> initial;
  bool warm_start = false;
  std::optional<int> levels;
  std::optional<int> max_sweeps;
  std::optional<std::string> polarity;
  std::optional<std::string> boundary;
  std::optional<std::string> update;
  std::optional<int> color_spacing;
};

void add_cell_options(CLI::App& command, CellOptions& options);

/// Options that would be taken in silence.
std::vector<UnusedOptions> unused_cell_options(const CellOptions& options);

/// A configuration and what it points to.
struct CellSetup {
  CellularNetworkConfig config;
  std::string name;  ///< "preset quality", or the chain
  FloatPlane initial;

  CellSetup() = default;
  CellSetup(const CellSetup&) = delete;
  CellSetup& operator=(const CellSetup&) = delete;

  std::span<const CellStage> stages() const {
    return {config.stages.data(), static_cast<std::size_t>(config.stage_count)};
  }
  /// Levels of the result.
  int levels() const { return stages().back().levels; }
};

/// For frames of this size, format and range, depth 1, results of 8 bits from 0 to 255. Throws
/// InputError on what cannot be read; ranges of numbers are the library's to check.
std::shared_ptr<const CellSetup> cell_setup(const CellOptions& options, ImageSize size,
                                            PixelFormat format, const GrayRange& range = {});

/// Sets --boundary: zero-flux, periodic or a number from -1 to 1. Throws InputError.
void set_boundary(CellStage& stage, const std::string& text);

std::string describe(const CellSetup& setup);
nlohmann::ordered_json setup_json(const CellSetup& setup);
Workload least_work(const CellSetup& setup);

/// The cellular network as an operator of the program.
class CellPlan : public OperatorPlan {
 public:
  explicit CellPlan(std::shared_ptr<const CellSetup> setup) : setup_(std::move(setup)) {}

  OperatorMaker maker() const override { return maker_of<CellularNetwork>(setup_->config); }
  std::string error_text(const Error& error) const override;
  std::string describe() const override { return app::describe(*setup_); }
  nlohmann::ordered_json json() const override { return setup_json(*setup_); }
  Workload least_work() const override { return app::least_work(*setup_); }

 private:
  std::shared_ptr<const CellSetup> setup_;
};

/// An engine with a cellular network on it, and the image that it writes.
class CellRun {
 public:
  CellRun(const EngineConfig& engine, const std::shared_ptr<const CellSetup>& setup)
      : image_(setup->config.size, setup->config.output_format),
        output_(output_of(image_)),
        run_(engine, CellPlan(setup), &output_) {}

  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }
  /// Of the last frame.
  const CellularNetworkRecord& record() { return run_.op().record<CellularNetworkRecord>(); }
  const GrayImage& image() const { return image_; }
  const EngineInfo& engine() const { return run_.engine(); }
  const Footprint& footprint() const { return run_.footprint(); }

 private:
  static OperatorOutput output_of(GrayImage& image);

  GrayImage image_;
  OperatorOutput output_;
  OperatorRun run_;
};

}  // namespace ocellus::app
