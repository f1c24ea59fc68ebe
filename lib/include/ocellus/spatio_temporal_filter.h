// SpatioTemporalFilter: 1 to 8 linear filters of a frame sequence in one pass, without the flow.
//
// Source: Ohmura et al. 2011, equation (2), with the package execution of section III.B. Models of
// visual neurons use these planes. Optical flow with kernels uses the same pass.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/operator.h"
#include "ocellus/optical_flow.h"
#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Configuration of SpatioTemporalFilter.
struct SpatioTemporalFilterConfig {
  ImageSize size{};  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  Rect roi{};                                             ///< empty: whole image
  int depth = 1;                                          ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  KernelConfig kernels{};
  CoefficientStorage storage = CoefficientStorage::kFloat;

  /// The table of options: all members except size and format.
  static OptionTable options() noexcept;
};

/// The operator. Its output is one plane of 32-bit floats (kFloat32) for each convolution, of the
/// size of the region of interest. Errors, borders and delay are those of OpticalFlow.
class SpatioTemporalFilter : public Operator<SpatioTemporalFilter, SpatioTemporalFilterConfig> {};

}  // namespace ocellus

#pragma GCC visibility pop
