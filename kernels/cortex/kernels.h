// The kernels of Cortex and the plain data that they take. All patches of a frame go through a
// kernel together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cortex/classifier.h"
#include "cortex/hebbian_features.h"
#include "cortex/patch_arithmetic.h"
#include "cortical_network/hierarchy.h"
#include "kernels/core/frame_params.h"
#include "kernels/cortical_network/answers.h"
#include "kernels/image/patch_stretch.h"
#include "ocellus/cortex.h"

namespace ocellus::cuda {

/// The LGN cells of the patches: [patch][pixel]. A block computes a patch.
struct CellArguments {
  const std::uint8_t* gray;
  int width;
  int height;
  CortexInk ink;
  bool deslant;
  int threshold;
  std::uint8_t* cells;
  std::uint32_t* has_ink;  ///< [patch]: a cell is active, 0 or 1; may be null
};
inline constexpr int kCellThreads = 256;
extern const Kernel<CellArguments> kCellKernel;

/// The winner and the activity of the hypercolumns of a level. A block computes a hypercolumn, x,
/// of a patch, y.
struct CompeteArguments {
  const std::uint8_t* cells;    ///< of level 0; null for the other levels
  const std::uint16_t* fields;  ///< of level 0 with free fields: CortexArrays::fields; else null
  int pixels;                   ///< of a patch
  const std::int8_t* weights;
  const std::int32_t* bias;
  const std::int32_t* shares;  ///< CortexShape::shares
  std::int32_t* winners;       ///< [patch][hypercolumn], counted over all levels
  detail::CortexActivity* activity;
  int hypercolumns;  ///< of all levels
  detail::LevelPlan level;
  int competitors;
};
inline constexpr int kCompeteThreads = 256;
/// Grid points in a window: pixels of a patch at most.
inline constexpr int kMostActive = kMaxCortexSide * kMaxCortexSide;
extern const Kernel<CompeteArguments> kCompeteKernel;

/// The hypercolumns of a level learn: learn_patches() of lib/cortex/hebbian_features.h. A block
/// computes a hypercolumn, a warp every kLearnWarps-th minicolumn.
struct LearnArguments {
  const TemporalState* state;
  const std::uint32_t* enabled;  ///< 0: the frame teaches nothing
  const std::uint8_t* cells;     ///< of level 0; null for the other levels
  int pixels;
  const std::int32_t* winners;
  const std::uint32_t* has_ink;
  int patches;
  int hypercolumns;
  detail::LevelPlan level;
  std::uint32_t rate;
  const detail::ProbabilityTables* tables;
  detail::LearningArrays arrays;  ///< of the level
};
inline constexpr int kLearnThreads = 256;
inline constexpr int kLearnWarps = kLearnThreads / 32;
extern const Kernel<LearnArguments> kLearnKernel;

/// Evidence, answers and the result of a frame. A block computes a patch; kMaxCortexPatches blocks.
struct ReadOutArguments {
  AnswerArguments answers;
  const detail::CortexActivity* activity;
  const std::uint32_t* begins;  ///< first padded minicolumn of each hypercolumn
  const std::int16_t* read_out;
  int hypercolumns;
  int competitors;
};
extern const Kernel<ReadOutArguments> kCortexReadOutKernel;

}  // namespace ocellus::cuda
