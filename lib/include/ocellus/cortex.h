// Cortical classifier: the class of a frame, or of each patch of a frame.
//
// Source: Nere, Franey, Hashmi, Lipasti, Journal of Parallel and Distributed Computing, 2012, with
// the read-out of a Bayesian neural network; ocellus/cortex_model.h has the equations.
//
// A model says what the classes are. The library has the model "digits", ten handwritten digits.
// `ocellus train cortex` and ocellus/cortex_training.h make others.
//
// With `learn`, the features follow what the camera shows: equation (e) of ocellus/cortex_model.h.
// A frame is classified with the features as they were before it. Then each hypercolumn learns from
// the patches of the frame in their order. A patch without an active cell, and a bad frame, teach
// nothing. The read-out stays: it is what labels have taught. Weights, evidence and saved files are
// the same bytes for any number of workers, frames in flight, and backend.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ocellus/cortex_model.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/patch_record.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kMaxCortexPatches = kMaxPatches;
using CortexLayout = PatchLayout;

/// Gray levels of the ink.
enum class CortexInk : std::uint8_t {
  kAuto,   ///< decided for each patch: dark if the mean of its border is in the upper half
  kDark,   ///< darker than the ground
  kLight,  ///< lighter than the ground
};

struct CortexConfig {
  ImageSize size{};                          ///< 1x1 to 16384x16384, and at least a tile
  PixelFormat format = PixelFormat::kGray8;  ///< of the frames
  int depth = 1;                             ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  /// The name of a model of the library, or the path of a model file.
  Text<kMaxOptionText> model{"digits"};
  CortexLayout layout = CortexLayout::kFrame;
  /// kTiles: size of a tile, 1 to 16384 pixels. Whole tiles are classified row after row, from the
  /// upper left corner of the frame on, at most kMaxPatches.
  int tile_width = 28;
  int tile_height = 28;
  CortexInk ink = CortexInk::kAuto;
  /// Needs 4 bytes for each weight of the model in addition.
  bool learn = false;
  float learn_rate = 0.002f;  ///< in (e), 1e-4 to 1; with `learn`

  /// All but size and format.
  static OptionTable options() noexcept;
};

using CortexRecord = PatchRecord;  ///< the confidence is (d)

/// A model in words and numbers.
struct CortexModelInfo {
  CortexParameters parameters{};
  int classes = 0;
  std::array<Text<32>, kMaxCortexClasses> names{};  ///< of the classes
  int hypercolumns = 0;                             ///< of all levels
  float sharpness = 0.0f;                           ///< in (d)
  Text<256> note{};                                 ///< where the model comes from
};

/// The model file of a classifier that is part of the library, 64-byte aligned; empty if the
/// library has no model of this name.
std::span<const std::uint8_t> library_cortex_model(std::string_view name) noexcept;

/// `save_model` writes a model file (kind "cortex") with P of (e). An operator that is created with
/// it and `learn` continues with the same bytes as if it had never ended. Without `learn` it is an
/// ordinary model. `reset` keeps what was learned.
///
/// Planes of the result: "evidence", a row of floats for each of the kMaxCortexPatches patches and
/// a column for each class: e in (c). Rows behind the last patch, and those of a bad frame, are 0.
class Cortex : public Operator<Cortex, CortexConfig, CortexRecord> {
 public:
  /// Reads the model. Errors: InvalidArgument (empty name), IoError, CorruptFile.
  static Expected<CortexModelInfo> read_model_info(const char* model) noexcept;
};

}  // namespace ocellus

#pragma GCC visibility pop
