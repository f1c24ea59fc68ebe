// The kernels of Network beside those of a network, and the plain data that they take.
#pragma once

#include "kernels/cortical_network/answers.h"
#include "kernels/cortical_network/network.h"

namespace ocellus::cuda {

/// Before the first patch of a frame, and after each of them. One warp.
struct PatchStepArguments {
  NetworkStep* step;
  const TemporalState* state;
  const std::uint32_t*
      enabled;  ///< 0: the frame teaches nothing; null: the operator does not learn
  bool first;
};
extern const Kernel<PatchStepArguments> kPatchStepKernel;

/// Feedback of a level: (a) and (b) of ocellus/cortical_network.h. A warp computes a hypercolumn;
/// blocks: hypercolumns / kBlockHypercolumns. Those of the level above have hypotheses, and on the
/// way up those of the level below have winners.
struct FeedbackArguments {
  NetworkArguments network;
  std::int32_t* hypotheses;  ///< [hypercolumn], counted over all levels, or kSilent
  int level;
  int tolerance;
  bool chooses;  ///< hypotheses, on the way down; otherwise winners, on the way up
};
static_assert(sizeof(FeedbackArguments) <= 4000, "kernel arguments have 4 KB");
extern const Kernel<FeedbackArguments> kFeedbackKernel;

/// Winners, answers and the result of a frame. A block computes a patch.
struct WinnerArguments {
  AnswerArguments answers;
  const std::int32_t* winners;   ///< [patch][hypercolumn], counted over all levels
  const std::uint32_t* begins;   ///< first row of each hypercolumn in `read_out`
  const std::int16_t* read_out;  ///< CorticalReadOut::weights
  int hypercolumns;
};
extern const Kernel<WinnerArguments> kWinnerKernel;

}  // namespace ocellus::cuda
