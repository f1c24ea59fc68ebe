// SpatioTemporalFilter: 1 to 8 linear filters of a frame sequence in one pass, without the flow.
//
// Source: Ohmura et al. 2011, equation (2), with the package execution of section III.B. Models of
// visual neurons use these planes. Optical flow with kernels uses the same pass.
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

/// Configuration of SpatioTemporalFilter.
struct SpatioTemporalFilterConfig {
  ImageSize size{};  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  Rect roi{};     ///< empty: whole image
  int depth = 1;  ///< frames in flight, 1 to 8
  KernelConfig kernels{};
  CoefficientStorage storage = CoefficientStorage::kFloat;

  /// The table of options: all members except size and format.
  static OptionTable options() noexcept;
};

/// The operator. Its output is one plane of 32-bit floats (kFloat32) for each convolution, of the
/// size of the region of interest. Errors, borders and delay are those of OpticalFlow.
class SpatioTemporalFilter : public OperatorHandle {
 public:
  /// Returns what an operator of this configuration takes and produces. Errors: InvalidArgument and
  /// Unsupported, as for `create`.
  static Expected<OperatorInfo> info_for(const SpatioTemporalFilterConfig& config) noexcept;

  /// Returns the memory that `create` takes. Errors: as for OpticalFlow::footprint.
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const SpatioTemporalFilterConfig& config) noexcept;
  /// Creates the operator. Errors: as for OpticalFlow::create.
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
