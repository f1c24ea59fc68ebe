// KernelSource: the taps of a kernel configuration, pixel by pixel, whoever makes them.
#pragma once

#include <memory>

#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Fills n taps with a Gaussian of the given center (in taps), normalized to the sum 1.
void gaussian_taps(int n, double center, double sigma, double* taps) noexcept;

/// Fills n taps of a true convolution (tap i weighs the sample i steps back) with a derivative of a
/// Gaussian: sum 0, and a response of exactly 1 to a ramp that rises by 1 per step. All zero when n
/// is 1.
void gaussian_derivative_taps(int n, double center, double sigma, double* taps) noexcept;

/// Whether a pixel's kernel can be kept in `plan.storage`: half precision ends at 65504; a larger
/// tap, or a spatial sum that a white image can drive beyond, would be lost as infinity. Errors:
/// InvalidArgument, naming the pixel.
Expected<void> check_storage_range(const OpticalFlowPlan& plan, int x, int y, int pair,
                                   const float* wx, const float* wy, const float* wt) noexcept;

/// Gives the taps in row-major order of (y, x), then convolution, then term: one pixel in all for
/// uniform kernels. Used at creation only.
class KernelSource {
 public:
  virtual ~KernelSource() = default;

  /// Writes the next nx + ny + nt taps. Errors: InvalidArgument (a tap that is not finite),
  /// CorruptFile, IoError.
  virtual Expected<void> next(float* wx, float* wy, float* wt) noexcept = 0;

  static Expected<std::unique_ptr<KernelSource>> open(const KernelConfig& kernels,
                                                      ImageSize size) noexcept;
};

}  // namespace ocellus::detail
