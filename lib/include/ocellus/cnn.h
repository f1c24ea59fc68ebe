// Cnn: a chain of templates of the cellular network, described by texts and numbers: what the
// command `cnn` and the element `ocelluscnn` run. CellularNetwork takes stages of one's own.
#pragma once

#include <cstdint>
#include <utility>

#include "ocellus/cellular_network.h"
#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// What the first stage of a chain begins with.
enum class ChainStart : std::uint8_t {
  kTemplate,  ///< what its template says
  kInput,
  kNoise,
  kBlueNoise,
  kErrorDiffusion,
};

/// The order of updates in all stages of a chain.
enum class ChainUpdate : std::uint8_t {
  kTemplate,  ///< what each template says
  kColors,
  kRaster,
  kSynchronous,
};

/// What Cnn and Halftone have in common. See CellularNetworkConfig and CellStage for the values.
struct ChainConfig {
  ImageSize size;  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  PixelFormat output_format = PixelFormat::kGray8;
  GrayRange input_range;
  GrayRange output_range;
  int depth = 1;  ///< frames in flight, 1 to 8

  /// See `parse_cell_chain`. The option is called `template`.
  Text<kMaxOptionText> chain;
  ChainStart start = ChainStart::kTemplate;
  std::uint32_t seed = 1;  ///< kNoise
  bool warm_start = false;
  int levels = 0;      ///< 2 to 256; 0: the templates'
  int max_sweeps = 0;  ///< of each stage, 1 to 100000; 0: the templates'
  CellPolarity polarity = CellPolarity::kBlackIsOne;
};

struct CnnConfig : ChainConfig {
  CnnConfig() noexcept { chain.assign("edge"); }

  /// "zero-flux", "periodic", a number from -1 to 1 for fixed cells, or empty: the templates'.
  Text<32> boundary;
  ChainUpdate update = ChainUpdate::kTemplate;
  int color_spacing = 0;  ///< up to 9; 0: the templates'
  /// A binary PGM file of the frames' size that the first stage begins with; empty: as `start`
  /// says.
  Text<kMaxOptionText> initial;

  /// All but size, formats and ranges.
  static OptionTable options() noexcept;
};

/// The operator. Output, record, calls and lifetimes are those of CellularNetwork.
class Cnn : public OperatorHandle {
 public:
  /// These read the files that the configuration names. Errors: as those of CellularNetwork, and
  /// IoError and CorruptFile.
  static Expected<OperatorInfo> info_for(const CnnConfig& config) noexcept;
  static Expected<Footprint> footprint(const EngineInfo& engine, const CnnConfig& config) noexcept;
  static Expected<Cnn> create(Engine& engine, const CnnConfig& config) noexcept;

 private:
  explicit Cnn(OperatorHandle handle) noexcept : OperatorHandle(std::move(handle)) {}
};

}  // namespace ocellus

#pragma GCC visibility pop
