// OpticalFlowPlan: a checked configuration in the form that the backends use. Plain data.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/operator_instance.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"
#include "ocellus/window_flow.h"

namespace ocellus::detail {

inline constexpr int kMaxWindow = 31;
inline constexpr int kMaxPyramidLevels = 6;
inline constexpr int kPyramidFrames = 2;  ///< the reference frame and the next one

/// The least motion on frames of this size, as OpticalFlowConfig::min_motion_side says.
inline float scaled_motion(float motion, int side, ImageSize size) noexcept {
  const int shorter = std::min(size.width, size.height);
  if (side <= 0 || shorter <= side) return motion;
  return motion * static_cast<float>(shorter) / static_cast<float>(side);
}

/// Which vectors of a field are motion. Drawing and the search for objects share it.
struct MotionThreshold {
  float min_motion = 1.0f;
  float min_deviations = 0.0f;

  /// False only if no deviation would let the vector pass. It is also true a little below the least
  /// motion, because a device rounds differently.
  constexpr bool may_pass(float u, float v) const noexcept {
    return u * u + v * v >= 0.999f * min_motion * min_motion;
  }
  /// `deviation`: of the vector, or 0 if it is unknown. False for NaN and infinity.
  bool passes(float length, float deviation) const noexcept {
    if (!(length > 0.0f) || length < min_motion || !std::isfinite(length)) return false;
    // The deviation may be infinite, which 0 must not multiply.
    return !(min_deviations > 0.0f) || length >= min_deviations * deviation;
  }
};

struct OpticalFlowPlan {
  bool filter_only = false;  ///< true for SpatioTemporalFilter: the convolutions are the result
  ImageSize size;
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  PixelFormat format = PixelFormat::kGray8;        ///< of their luma
  Rect roi;                                        ///< never empty
  /// Region in which flow is needed. With `deviation`, it is larger than the region of interest.
  Rect flow;
  /// Region in which derivatives are needed: `flow`, extended by the window's radius and clipped to
  /// the image.
  Rect support;
  bool deviation_plane = false;
  /// Whether the deviation is computed: for its plane, or in the cells of the moving objects.
  bool deviation = false;
  int objects = 0;  ///< of the record; 0: there is none
  MotionThreshold motion;
  int min_area = 0;  ///< pixels; 0: the default
  int depth = 1;
  float delay_frames = 0.0f;
  int frames = 1;  ///< temporal support; with fewer frames the operator is warming up

  FlowMethod method = FlowMethod::kKernels;

  // kKernels
  KernelForm form = KernelForm::kUniform;
  KernelOrigin origin = KernelOrigin::kGaussian;
  /// The image that the kernels are made for, and the position of the frame in it.
  ImageSize kernel_image;
  int kernel_x = 0;
  int kernel_y = 0;
  int nx = 0;
  int ny = 0;
  int nt = 0;
  int convolutions = 0;
  int terms = 0;
  int term_taps = 0;  ///< of a pixel and a term
  CoefficientStorage storage = CoefficientStorage::kFloat;

  // kPyramid
  PyramidConfig pyramid;
  int levels = 0;
  std::array<ImageSize, kMaxPyramidLevels> level_size{};

  // Lucas-Kanade
  int radius = 0;  ///< radius of the window
  /// weight[k] is the weight of pixels at distance k from the center along one axis. weight[0] + 2
  /// (sum of the others) = 1.
  std::array<float, kMaxWindow / 2 + 1> weight{};
  float confidence_threshold = 0.0f;
  InvalidFlow invalid = InvalidFlow::kNan;
};

/// Whether the search for moving objects compares motion with its deviation.
inline bool objects_need_deviation(const OpticalFlowPlan& plan) noexcept {
  return plan.objects > 0 && plan.motion.min_deviations > 0.0f;
}

inline bool is_variational(const OpticalFlowPlan& plan) noexcept {
  return plan.pyramid.solver == FlowSolver::kVariational;
}

/// The value of u and v where the flow is invalid.
inline float invalid_value(const OpticalFlowPlan& plan) noexcept {
  return plan.invalid == InvalidFlow::kNan ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
}

/// The rectangle with `by` more pixels on all sides, as far as they are inside the image.
Rect grow(const Rect& rect, int by, ImageSize size) noexcept;

/// Checks every field. Errors: InvalidArgument and Unsupported; the text names the field, its value
/// and its range.
Expected<OpticalFlowPlan> make_plan(const OpticalFlowConfig& config) noexcept;
Expected<OpticalFlowPlan> make_plan(const SpatioTemporalFilterConfig& config) noexcept;
/// `size` and `support` are those of the planes.
Expected<OpticalFlowPlan> make_plan(const WindowFlowConfig& config) noexcept;

static_assert(kMaxConvolutions <= kMaxOutputPlanes && kMaxKernelTaps <= kMaxSupportFrames);

/// Output planes of optical flow are u, v, confidence and, if the plan has it, deviation; the last
/// two may be left out. The filter has one output plane for each convolution.
OperatorInfo info_of(const OpticalFlowPlan& plan) noexcept;

/// The info of WindowFlow.
OperatorInfo window_info_of(const OpticalFlowPlan& plan) noexcept;

/// Number of operations per pixel for the window's sums and the solution, without the derivatives.
double solution_flops(int window) noexcept;

/// A solution is singular if the smaller eigenvalue of the structure tensor is at most this
/// fraction of the larger one. Below it, single precision cannot represent the second component.
inline constexpr float kSingularRatio = 1e-6f;
/// A solution is also singular if the smaller eigenvalue is at most this value, in (gray levels per
/// pixel)^2. It bounds the rounding errors of a flat image.
inline constexpr float kFlat = 1e-7f;

}  // namespace ocellus::detail
