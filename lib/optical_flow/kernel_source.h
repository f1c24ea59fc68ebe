// KernelSource: the taps of a kernel configuration, pixel by pixel, for every origin.
#pragma once

#include <memory>

#include "core/failure.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"
#include "optical_flow/deviation.h"
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

/// The error for memory that only the reading of kernels needs.
tl::unexpected<Error> no_memory_for_kernels() noexcept;

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

/// Reads the kernels of the plan's support, checks that its storage can hold them, and adds them to
/// `noise`. `take(x, y, pair, wx, wy, wt)` gets each one, with its pixel in the support.
/// `end_row(y)` is called behind each row and returns Expected<void>.
template <typename Take, typename EndRow>
Expected<void> read_support(const OpticalFlowPlan& plan, const KernelConfig& kernels,
                            KernelNoise& noise, Take&& take, EndRow&& end_row) noexcept {
  OCELLUS_TRY_ASSIGN(source, KernelSource::open(kernels, plan.kernel_image));
  const Rect support = {plan.support.x + plan.kernel_x, plan.support.y + plan.kernel_y,
                        plan.support.width, plan.support.height};
  const int width = plan.kernel_image.width;
  float wx[kMaxKernelTaps], wy[kMaxKernelTaps], wt[kMaxKernelTaps];
  for (int y = -support.y; y < plan.kernel_image.height - support.y; ++y) {
    // A file is read to its end, because it has one checksum.
    const bool is_inside = y >= 0 && y < support.height;
    OCELLUS_TRY((*source)->skip(is_inside ? support.x : width));
    if (!is_inside) continue;
    for (int x = 0; x < support.width; ++x) {
      for (int pair = 0; pair < plan.convolutions * plan.terms; ++pair) {
        OCELLUS_TRY((*source)->next(wx, wy, wt));
        OCELLUS_TRY(check_storage_range(plan, support.x + x, support.y + y, pair, wx, wy, wt));
        noise.add(plan, pair / plan.terms, pair % plan.terms, wx, wy, wt);
        take(x, y, pair, wx, wy, wt);
      }
    }
    OCELLUS_TRY((*source)->skip(width - support.x - support.width));
    OCELLUS_TRY(end_row(y));
  }
  return {};
}

}  // namespace ocellus::detail
