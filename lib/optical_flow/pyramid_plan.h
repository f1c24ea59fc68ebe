// PyramidPlan: the steps of FlowMethod::kPyramid, in order, and what is computed of each level. The
// same for all backends; a backend may do several steps at once.
#pragma once

#include <array>
#include <cstdint>

#include "optical_flow/plan.h"

namespace ocellus::detail {

inline constexpr int kContrastRadius = 3;         ///< local normalization over 7x7 pixels
inline constexpr float kContrastFloor = 3.0f;     ///< gray levels: contrast below is noise
inline constexpr float kContrastScale = 20.0f;    ///< of the normalized image
inline constexpr int kPresmoothingRadius = 2;     ///< sigma 0.8 pixels
inline constexpr int kGradientReach = 2;          ///< of the derivative, (1 -8 0 8 -1) / 12
inline constexpr int kFitRadius = 4;              ///< a frame's fit is judged over 9x9 pixels
inline constexpr float kFitFloor = 0.3f;          ///< squared residual below which frames fit alike
inline constexpr float kLeastRamp = 0.02f;        ///< of the weight at the image's edges
inline constexpr float kLeastConfidence = 1e-3f;  ///< so that flow without any is still averaged
inline constexpr int kMaxPyramidWarps = 10;
inline constexpr int kMaxPyramidPartners = kMaxPyramidFrames - 1;

enum class PyramidStepKind : std::uint8_t {
  kIngest,     ///< camera pixels to floats
  kReduce,     ///< level - 1 to level
  kHighpass,   ///< all levels: minus the local mean
  kNormalize,  ///< all levels: divided by the local deviation
  kPresmooth,  ///< all levels: into the window of frames
  kExpand,     ///< flow of level + 1 to level, or zero
  kSmooth,     ///< box mean of the flow
  kWarp,       ///< frames back to the reference
  kFit,        ///< how well each frame fits
  kSolve,      ///< equation (3) for what is left
  kConfidenceSmooth,
  kMedian,
  kFinish,  ///< to the user's planes
};

struct PyramidStep {
  PyramidStepKind kind = PyramidStepKind::kIngest;
  int level = 0;
  int from = 0;  ///< which of a level's two flow buffers is read
  int to = 0;    ///< and which is written
  bool all_frames = false;
  bool last = false;  ///< last solution of the level
};

struct PyramidPlan {
  static constexpr int kMaxSteps = 8 + kMaxPyramidLevels * (3 + 4 * kMaxPyramidWarps);

  /// From a plan whose method is kPyramid.
  explicit PyramidPlan(const OpticalFlowPlan& plan) noexcept;

  int step_count = 0;
  PyramidStep steps[kMaxSteps];
  std::array<Rect, kMaxPyramidLevels> region{};  ///< what flow is computed of each level
  /// Weights of the light smoothing by distance from the center.
  std::array<float, kPresmoothingRadius + 1> presmoothing{};
  /// Pixels over which a residual's weight falls to nothing toward the image's edges.
  float border = 1.0f;

 private:
  PyramidStep& add_step(PyramidStepKind kind, int level) noexcept;
  void plan_steps(const OpticalFlowPlan& plan) noexcept;
  void plan_regions(const OpticalFlowPlan& plan) noexcept;
};

}  // namespace ocellus::detail
