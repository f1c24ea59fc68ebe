// The answers to the patches of a frame, and its result.
#pragma once

#include <cstdint>

#include "kernels/core/frame_params.h"
#include "ocellus/patch_record.h"

namespace ocellus::cuda {

struct AnswerArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  PatchRecord* record;
  const std::int32_t* class_bias;
  int classes;
  float sharpness;
  int patches;
  bool truncated;
  bool none_if_equal;  ///< decide_or_none() in place of decide() of lib/cortical_network/patches.h
};
inline constexpr int kReadOutThreads = 256;

}  // namespace ocellus::cuda
