// Cnn: a chain of templates of the cellular network, described by texts and numbers. The command
// `cnn` and the element `ocelluscnn` run it. CellularNetwork takes stages that the caller defines.
#pragma once

#include <cstdint>

#include "ocellus/cellular_network.h"
#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// The initial state of the first stage of a chain.
enum class ChainStart : std::uint8_t {
  kTemplate,  ///< that of the template
  kInput,
  kNoise,
  kBlueNoise,
  kErrorDiffusion,
};

/// The order of updates in all stages of a chain.
enum class ChainUpdate : std::uint8_t {
  kTemplate,  ///< that of each template
  kColors,
  kRaster,
  kSynchronous,
};

/// The options that Cnn and Halftone share. For the values see CellularNetworkConfig and CellStage.
struct ChainConfig {
  ImageSize size{};  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  PixelFormat output_format = PixelFormat::kGray8;
  GrayRange input_range{};
  GrayRange output_range{};
  PictureColor chroma = PictureColor::kNeutral;
  int depth = 1;                                          ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine

  /// The chain as text; see `parse_cell_chain`. The option is called `template`.
  Text<kMaxOptionText> chain{};
  ChainStart start = ChainStart::kTemplate;
  std::uint32_t seed = 1;  ///< kNoise
  bool warm_start = false;
  int levels = 0;         ///< 2 to 256; 0: those of the templates
  int max_sweeps = 4096;  ///< of a frame, over all stages and passes; 1 to kMaxFrameSweeps
  CellPolarity polarity = CellPolarity::kBlackIsOne;
};

/// Configuration of Cnn.
struct CnnConfig : ChainConfig {
  CnnConfig() noexcept { chain = "edge"; }

  /// "zero-flux", "periodic", a number from -1 to 1 for fixed cells, or empty for the boundary of
  /// the templates.
  Text<32> boundary{};
  ChainUpdate update = ChainUpdate::kTemplate;
  int color_spacing = 0;  ///< up to 9; 0: that of the templates
  /// Path of a binary PGM file with the initial state of the first stage, of the frames' size. If
  /// empty, `start` applies.
  Text<kMaxOptionText> initial{};

  /// The table of options: all members except size, formats and ranges.
  static OptionTable options() noexcept;
};

/// The operator. Output, record, calls and lifetimes are those of CellularNetwork.
class Cnn : public Operator<Cnn, CnnConfig, CellularNetworkRecord> {
 public:
  /// The size of the frames that fit a file of `CnnConfig::initial`. Reads its header. Errors:
  /// IoError, InvalidArgument (another type of file), CorruptFile.
  static Expected<ImageSize> read_initial_size(const char* path) noexcept;
};

}  // namespace ocellus

#pragma GCC visibility pop
