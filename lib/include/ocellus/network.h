// Network: the cortical network of ocellus/cortical_network.h as an operator of an engine, alone or
// with a read-out of its winners.
//
// Each patch of a frame is a step of the network, in the order of the patches. With `learn`, the
// network learns from each of them: winners, weights and saved files are those of CorticalNetwork
// for the same images, and the same bytes for any number of workers, frames in flight, and backend.
// A bad frame teaches nothing. The read-out stays: it is what labels have taught.
#pragma once

#include <array>
#include <cstdint>

#include "ocellus/cortical_network.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/patch_record.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

struct NetworkConfig {
  ImageSize size{};                          ///< 1x1 to 16384x16384, and at least a tile
  PixelFormat format = PixelFormat::kGray8;  ///< of the frames
  int depth = 1;                             ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  /// The file of a network (kind "cortnet"). Empty: a new one, by the members from `width` to
  /// `seed`.
  Text<kMaxOptionText> model{};
  PatchLayout layout = PatchLayout::kFrame;
  /// kTiles: size of a tile, 1 to 16384 pixels. Whole tiles are steps row after row, from the upper
  /// left corner of the frame on, at most kMaxPatches.
  int tile_width = 28;
  int tile_height = 28;
  bool learn = false;
  int width = 28;  ///< of the image that the network sees, 1 to 16384 pixels
  int height = 28;
  LgnTransform lgn = LgnTransform::kLevel;
  int lgn_threshold = 128;  ///< gray levels, 1 to 255
  /// Levels, the lowest first, with commas between them: window/stride:minicolumns.
  Text<kMaxOptionText> levels{"3x3/1x1:64"};
  HebbianLearning learning{};
  int seed = 1;  ///< 0 or more
  /// Of the patches of an operator that does not learn.
  int feedback_rounds = 0;     ///< 0 to 100
  int feedback_tolerance = 1;  ///< 1 to 1000

  /// All but size and format.
  static OptionTable options() noexcept;
};

/// A patch has no class without a read-out, or if all classes have the same evidence.
using NetworkRecord = PatchRecord;

/// A network in words and numbers.
struct NetworkModelInfo {
  CorticalNetworkConfig config{};
  int classes = 0;                                  ///< 0: there is no read-out
  std::array<Text<32>, kMaxCortexClasses> names{};  ///< of the classes
  float sharpness = 0.0f;                           ///< in (d) of ocellus/cortical_network.h
};

/// `save_model` writes the file of a network, with its read-out. An operator that is created with
/// it and `learn` continues with the same bytes as if it had never ended, and CorticalNetwork reads
/// it, too. `reset` keeps what was learned.
///
/// Planes of the result: "winners", a row of floats for each patch and a column for each
/// hypercolumn, level after level: the number of the winner, or -1. Rows of a bad frame are -1.
class Network : public Operator<Network, NetworkConfig, NetworkRecord> {
 public:
  /// Reads the table of a file. Errors: InvalidArgument (empty path), IoError, CorruptFile.
  static Expected<NetworkModelInfo> read_model_info(const char* model) noexcept;
};

}  // namespace ocellus

#pragma GCC visibility pop
