// KernelSource: the taps of a kernel configuration, pixel by pixel, for every origin.
#pragma once

#include <memory>

#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Fills n taps with a Gaussian of the given center (in taps), normalized to sum 1.
void gaussian_taps(int n, double center, double sigma, double* taps) noexcept;

/// Fills n taps of a true convolution with a derivative of a Gaussian; tap i is the weight of the
/// sample i steps back. The taps have sum 0 and a response of exactly 1 to a ramp of slope 1. All
/// taps are 0 if n is 1.
void gaussian_derivative_taps(int n, double center, double sigma, double* taps) noexcept;

/// Checks that `plan.storage` can hold a pixel's kernel. The largest half is 65504. A larger tap,
/// or a spatial sum that exceeds it for a white image, would become infinite. Errors:
/// InvalidArgument; the text names the pixel.
Expected<void> check_storage_range(const OpticalFlowPlan& plan, int x, int y, int pair,
                                   const float* wx, const float* wy, const float* wt) noexcept;

/// Returns taps in row-major order of (y, x), then by convolution, then by term. Uniform kernels
/// have one pixel. Used only at creation.
class KernelSource {
 public:
  virtual ~KernelSource() = default;

  /// Writes the next nx + ny + nt taps. Errors: InvalidArgument (a tap that is not finite),
  /// CorruptFile, IoError.
  virtual Expected<void> next(float* wx, float* wy, float* wt) noexcept = 0;
  /// Passes over all taps of the next `pixels` pixels. Errors: those of `next`.
  virtual Expected<void> skip(int pixels) noexcept;

  static Expected<std::unique_ptr<KernelSource>> open(const KernelConfig& kernels,
                                                      ImageSize size) noexcept;

 protected:
  explicit KernelSource(const KernelConfig& kernels) noexcept
      : pairs_(kernels.convolutions * kernels.terms) {}

 private:
  int pairs_;  // of convolution and term, for each pixel
};

}  // namespace ocellus::detail
