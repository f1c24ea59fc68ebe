// The constants of FlowSolver::kVariational, for all backends. docs/optical_flow_method.md has
// the equations. w is the flow before a warp, W the next frame warped by it, A the reference frame,
// R = W - A and M = (W + A) / 2.
#pragma once

#include "optical_flow/plan.h"

namespace ocellus::detail {

inline constexpr float kVariationalPresmoothingSigma = 0.65f;  ///< pixels, finest level only

// ---- data term: constancy of both derivatives of the image

/// Added to a squared second derivative, (gray levels per pixel^2)^2, so that noise counts little.
inline constexpr float kDataFloor = 0.48f * 0.48f;
/// Squared width of the Charbonnier penalty, as a multiple of the floored squared derivative.
inline constexpr float kDataWidth = 0.38f * 0.38f;
inline constexpr float kLeastDataRamp = 1e-3f;  ///< weight of data that come from outside the image

// ---- smoothness term

inline constexpr float kSmoothnessDecay = 0.83f;  ///< factor of the weight from level to level
inline constexpr float kEdgeShare = 0.035f;       ///< weight across the strongest image edges
inline constexpr float kEdgeScale = 14.0f;        ///< gray levels
inline constexpr float kCrossShare = 0.6f;  ///< of the derivative along the border of two pixels
inline constexpr float kSmoothnessWidth = 0.003f * 0.003f;  ///< pixels^2
inline constexpr float kLeastDiagonal = 1e-6f;  ///< added, so that the system is never singular

inline constexpr float kRelaxation = 1.94f;  ///< of the red-black successive over-relaxation
inline constexpr float kLargestStep = 1.0f;  ///< pixels that one warp changes at most

// ---- candidates from neighbors

inline constexpr int kCandidateDistance = 2;         ///< pixels
inline constexpr float kCandidateCap = 20.0f;        ///< gray levels
inline constexpr float kCandidateFactor = 0.9f;      ///< a candidate must be better by this factor
inline constexpr float kCandidateMargin = 9 * 0.3f;  ///< and by this sum of gray levels over 3x3

// ---- guided median

inline constexpr int kGuidedStep = 2;   ///< pixels between its 5x5 samples
inline constexpr int kGuidedReach = 4;  ///< pixels from the center to the last one
/// exp(-d^2 / 128) for the sample `k` along one axis, -2 to 2, which is d = 2 k pixels away.
constexpr float guided_share(int k) noexcept {
  return k == 0 ? 1.0f : k == 1 || k == -1 ? 0.96923323f : 0.88249690f;
}
inline constexpr float kGuidedContrast = 12.5f;       ///< gray levels
inline constexpr float kGuidedWidth = 0.15f * 0.15f;  ///< pixels^2
inline constexpr float kOcclusionScale = 0.19f;  ///< convergence of the flow where it is doubted
inline constexpr float kResidualScale = 5.5f;    ///< gray levels
inline constexpr float kLeastTrust = 1e-4f;

/// Warps on a level. The second finest level is between the finest and the coarser ones.
constexpr int variational_warps(const PyramidConfig& config, int level) noexcept {
  if (level == 0) return config.warps;
  return level == 1 ? (config.warps + config.coarse_warps + 1) / 2 : config.coarse_warps;
}
/// Weight of the smoothness term on a level.
constexpr float smoothness_of(const PyramidConfig& config, int level) noexcept {
  float weight = config.smoothness;
  for (int k = 0; k < level; ++k) weight *= kSmoothnessDecay;
  return weight;
}
/// Half sweeps of a warp: those of one color, then those of the other.
constexpr int half_sweeps(const PyramidConfig& config, int level) noexcept {
  return 2 * (level == 0 ? config.sweeps : config.coarse_sweeps);
}

}  // namespace ocellus::detail
