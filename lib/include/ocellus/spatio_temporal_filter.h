// SpatioTemporalFilter: 1 to 8 linear filters of a frame sequence in one pass, without the flow.
//
// Source: Ohmura et al. 2011, equation (2), with the package execution of its section III.B. Models
// of visual neurons read these planes; optical flow is built on the same pass.
#pragma once

#include <utility>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/memory.h"
#include "ocellus/operator.h"
#include "ocellus/optical_flow.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

struct SpatioTemporalFilterConfig {
  ImageSize size;  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  Rect roi;       ///< empty = whole image
  int depth = 1;  ///< frames in flight, 1 to 8
  KernelConfig kernels;
  CoefficientStorage storage = CoefficientStorage::kFloat;

  /// All but size and format.
  static OptionTable options() noexcept;
};

/// The operator. Its output is one plane of 32-bit floats (kFloat32) for each convolution, of the
/// region of interest's size. Errors, borders and delay as for OpticalFlow.
class SpatioTemporalFilter : public OperatorHandle {
 public:
  /// What an operator of this configuration takes and gives. Errors: InvalidArgument and
  /// Unsupported, as `create`.
  static Expected<OperatorInfo> info_for(const SpatioTemporalFilterConfig& config) noexcept;

  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const SpatioTemporalFilterConfig& config) noexcept;
  static Expected<SpatioTemporalFilter> create(Engine& engine,
                                               const SpatioTemporalFilterConfig& config) noexcept;

  const SpatioTemporalFilterConfig& config() const noexcept { return config_; }

 private:
  SpatioTemporalFilter(OperatorHandle handle, const SpatioTemporalFilterConfig& config) noexcept
      : OperatorHandle(std::move(handle)), config_(config) {}

  SpatioTemporalFilterConfig config_;
};

}  // namespace ocellus

#pragma GCC visibility pop
