// WindowFlow: the weighted 2x2 solution of Lucas and Kanade on derivatives that the caller gives.
//
// Source: Ohmura et al. 2011, equation (3). OpticalFlow with kernels has the same solution after
// its convolutions. Programs that compute the derivatives themselves, or on several computers, use
// this operator for the rest.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/optical_flow.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Configuration of WindowFlow. Members with the names of OpticalFlowConfig have its meaning and
/// ranges.
struct WindowFlowConfig {
  ImageSize size{};  ///< of one plane of derivatives; 1x1 to 16384x16384
  Rect roi{};        ///< empty: the whole plane; flow is computed and written only here
  int depth = 1;     ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  int window = 11;
  WindowWeight window_weight = WindowWeight::kBox;
  float window_sigma = 4.0f;
  float confidence_threshold = 0.0f;
  InvalidFlow invalid = InvalidFlow::kNan;

  /// The solution of an OpticalFlowConfig with kernels, for planes of this size.
  static WindowFlowConfig of(const OpticalFlowConfig& flow, ImageSize size,
                             const Rect& roi) noexcept;
};

/// The operator, on the CPU and on CUDA. A frame is one block of floats (kFloat32) with three
/// planes below each other: Ix, Iy, It. Its size is (size.width, 3 size.height). On the CPU its
/// rows are at least `row_floats` floats apart, because rows are read in whole vectors. Results are
/// those of OpticalFlow. Outside the planes, the nearest row and column are repeated. In windows
/// that see a derivative that is not finite, the flow is invalid and the confidence is 0.
class WindowFlow : public Operator<WindowFlow, WindowFlowConfig> {
 public:
  /// Least distance of two rows of a frame, in floats, on the CPU.
  static int row_floats(int width) noexcept;
};

}  // namespace ocellus

#pragma GCC visibility pop
