// PyramidPlan: the steps of FlowMethod::kPyramid in order, and the region that is computed on each
// level. It is the same for all backends. A backend may combine several steps.
#pragma once

#include <array>
#include <cstdint>

#include "optical_flow/plan.h"

namespace ocellus::detail {

inline constexpr int kContrastRadius = 3;      ///< local normalization over 7x7 pixels
inline constexpr float kContrastFloor = 3.0f;  ///< gray levels; lower contrast is regarded as noise
inline constexpr float kContrastScale = 20.0f;  ///< scale of the normalized image
inline constexpr int kPresmoothingRadius = 2;   ///< sigma 0.8 pixels
inline constexpr int kGradientReach = 2;  ///< radius of the derivative filter (1 -8 0 8 -1) / 12
/// Pixels over which the weight of a residual decreases toward the edges of the image. There, a
/// part of the 7x7 window of the normalization is outside.
inline constexpr float kBorderRamp = 5.0f;
inline constexpr float kLeastRamp = 0.02f;  ///< smallest weight at the edges of the image
inline constexpr int kMaxPyramidWarps = 10;

/// Kinds of steps.
enum class PyramidStepKind : std::uint8_t {
  kIngest,        ///< converts camera pixels to floats
  kReduce,        ///< reduces level - 1 to level
  kHighpass,      ///< all levels: subtracts the local mean
  kNormalize,     ///< all levels: divides by the local deviation
  kPresmooth,     ///< all levels: smooths into the window of frames
  kExpand,        ///< expands the flow of level + 1, or sets it to zero on the coarsest level
  kSmooth,        ///< box mean of the flow
  kSolve,         ///< one warp, and the solution of equation (3) for the remaining motion
  kCandidates,    ///< variational: takes the flow of neighbors that fit better
  kRefine,        ///< variational: one warp and its solution
  kGuidedMedian,  ///< variational
  kFinish,        ///< writes to the output planes
};

struct PyramidStep {
  PyramidStepKind kind = PyramidStepKind::kIngest;
  int level = 0;
  int from = 0;       ///< index of the flow buffer that is read, 0 or 1
  int to = 0;         ///< index of the flow buffer that is written
  bool last = false;  ///< kRefine: the last one of the level
};

struct PyramidPlan {
  static constexpr int kMaxSteps = 9 + kMaxPyramidLevels * (3 + 2 * kMaxPyramidWarps);

  /// `plan.method` must be kPyramid.
  explicit PyramidPlan(const OpticalFlowPlan& plan) noexcept;

  int step_count = 0;
  PyramidStep steps[kMaxSteps];
  std::array<Rect, kMaxPyramidLevels> region{};  ///< region of each level in which flow is computed
  /// Weights of the light smoothing, by distance from the center.
  std::array<float, kPresmoothingRadius + 1> presmoothing{};

 private:
  PyramidStep& add_step(PyramidStepKind kind, int level) noexcept;
  void plan_steps(const OpticalFlowPlan& plan) noexcept;
  /// The steps of a level; the first buffer has the flow. Returns the buffer of the result.
  int plan_lucas_kanade(const OpticalFlowPlan& plan, int level) noexcept;
  int plan_variational(const OpticalFlowPlan& plan, int level) noexcept;
  PyramidStep& add_flip(PyramidStepKind kind, int level, int& now) noexcept;
  void plan_regions(const OpticalFlowPlan& plan) noexcept;
};

}  // namespace ocellus::detail
