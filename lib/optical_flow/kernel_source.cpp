#include "optical_flow/kernel_source.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "ocellus/kernel_taps.h"

namespace ocellus::detail {
namespace {

/// Fills n taps with a Gaussian of the given center (in taps), normalized to sum 1.
void gaussian_taps(int n, double center, double sigma, double* taps) noexcept {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) {
    const double distance = (i - center) / sigma;
    taps[i] = std::exp(-0.5 * distance * distance);
    sum += taps[i];
  }
  for (int i = 0; i < n; ++i) taps[i] /= sum;
}

/// Fills n taps of a true convolution with a derivative of a Gaussian; tap i is the weight of the
/// sample i steps back. The taps have sum 0 and a response of exactly 1 to a ramp of slope 1. All
/// taps are 0 if n is 1.
void gaussian_derivative_taps(int n, double center, double sigma, double* taps) noexcept {
  gaussian_taps(n, center, sigma, taps);
  // Distances are from the weighted mean. It equals the center only if the support is symmetric
  // about the center.
  double mean = 0.0;
  for (int i = 0; i < n; ++i) mean += i * taps[i];
  double variance = 0.0;
  for (int i = 0; i < n; ++i) variance += (i - mean) * (i - mean) * taps[i];
  for (int i = 0; i < n; ++i) taps[i] *= variance > 0.0 ? -(i - mean) / variance : 0.0;
}

/// Gaussian derivatives Ix, Iy, It, with one sigma for all pixels or a sigma that grows with
/// eccentricity.
class GaussianSource final : public KernelSource {
 public:
  GaussianSource(const KernelConfig& kernels, ImageSize size) noexcept : kernels_(kernels) {
    fovea_x_ =
        kernels.fovea_x < 0.0f ? (size.width - 1) / 2.0 : static_cast<double>(kernels.fovea_x);
    fovea_y_ =
        kernels.fovea_y < 0.0f ? (size.height - 1) / 2.0 : static_cast<double>(kernels.fovea_y);
    t_.set(kernels.nt, (kernels.nt - 1) / 2.0, static_cast<double>(kernels.sigma_time));
    set_sigma(static_cast<double>(kernels.sigma_space));
  }

  Expected<void> read(int x, int y, int convolution, int, float* wx, float* wy,
                      float* wt) noexcept override {
    if (kernels_.origin == KernelOrigin::kFoveated && convolution == 0) {
      const double eccentricity = std::hypot(x - fovea_x_, y - fovea_y_);
      set_sigma(static_cast<double>(kernels_.sigma_space) *
                (1.0 + eccentricity / static_cast<double>(kernels_.fovea_radius)));
    }
    if (kernels_.form == KernelForm::kFull) {
      for (int t = 0; t < t_.n; ++t)
        for (int j = 0; j < y_.n; ++j)
          for (int i = 0; i < x_.n; ++i)
            *wx++ = static_cast<float>(t_.of(convolution == 2)[t] * y_.of(convolution == 1)[j] *
                                       x_.of(convolution == 0)[i]);
      return {};
    }
    x_.write(convolution == 0, wx);
    y_.write(convolution == 1, wy);
    t_.write(convolution == 2, wt);
    return {};
  }

 private:
  /// The taps along one axis.
  struct Axis {
    int n = 0;
    double gaussian[kMaxKernelTaps];
    double derivative[kMaxKernelTaps];

    void set(int taps, double center, double sigma) noexcept {
      n = taps;
      gaussian_taps(n, center, sigma, gaussian);
      gaussian_derivative_taps(n, center, sigma, derivative);
    }
    const double* of(bool derive) const noexcept { return derive ? derivative : gaussian; }
    void write(bool derive, float* to) const noexcept {
      for (int i = 0; i < n; ++i) to[i] = static_cast<float>(of(derive)[i]);
    }
  };
  void set_sigma(double sigma) noexcept {
    x_.set(kernels_.nx, kernels_.nx / 2, sigma);
    y_.set(kernels_.ny, kernels_.ny / 2, sigma);
  }

  KernelConfig kernels_;
  double fovea_x_;
  double fovea_y_;
  Axis x_, y_, t_;
};

class CallbackSource final : public KernelSource {
 public:
  explicit CallbackSource(const KernelConfig& kernels) noexcept : kernels_(kernels) {}

  Expected<void> read(int x, int y, int convolution, int term, float* wx, float* wy,
                      float* wt) noexcept override {
    // wy and wt follow behind wx, or wx has all taps.
    float* const end = wx + taps_of_term(kernels_.form, kernels_.nx, kernels_.ny, kernels_.nt);
    std::fill(wx, end, 0.0f);
    kernels_.callback(kernels_.user, x, y, convolution, term, wx, wy, wt);
    if (!std::all_of(wx, end, [](float tap) { return std::isfinite(tap); })) {
      return invalid_argument(
          "kernels.callback wrote a tap that is not finite at (%d, %d), convolution %d, term %d", x,
          y, convolution, term);
    }
    return {};
  }

 private:
  KernelConfig kernels_;
};

struct FileSource final : KernelSource {
  Expected<void> read(int, int, int, int, float* wx, float* wy, float* wt) noexcept override {
    return file.next(wx, wy, wt);
  }

  KernelBankFile file;
};

}  // namespace

Expected<void> check_storage_range(const OpticalFlowPlan& plan, int x, int y, int pair,
                                   const float* wx, const float* wy, const float* wt) noexcept {
  if (plan.storage != CoefficientStorage::kHalf) return {};
  constexpr float kHalfMax = 65504.0f;
  float largest = 0.0f;
  const auto magnitude_sum = [&largest](const float* taps, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
      const float magnitude = std::fabs(taps[i]);
      sum += magnitude;
      largest = std::max(largest, magnitude);
    }
    return sum;
  };
  float spatial = 0.0f;  // full kernels keep no spatial sums
  if (plan.form == KernelForm::kFull) {
    magnitude_sum(wx, plan.term_taps);
  } else {
    spatial = magnitude_sum(wx, plan.nx) * magnitude_sum(wy, plan.ny);
    magnitude_sum(wt, plan.nt);
  }
  if (largest <= kHalfMax && 255.0f * spatial <= kHalfMax) return {};
  return invalid_argument(
      "the kernel at (%d, %d), convolution %d, term %d is too large for storage kHalf: %s can "
      "exceed "
      "%g, the largest half; scale it down or use kFloat",
      x, y, pair / plan.terms, pair % plan.terms,
      plan.form == KernelForm::kFull ? "a tap" : "its spatial sum", static_cast<double>(kHalfMax));
}

Expected<std::unique_ptr<KernelSource>> KernelSource::open(const KernelConfig& kernels,
                                                           ImageSize size) noexcept {
  std::unique_ptr<KernelSource> source;
  if (kernels.origin == KernelOrigin::kFile) {
    auto* const opened = new (std::nothrow) FileSource;
    source.reset(opened);
    if (opened == nullptr) return no_memory_for_kernels();
    OCELLUS_TRY(opened->file.open(kernels.path.c_str()));
    OCELLUS_TRY(opened->file.match(kernels, size));
  } else if (kernels.origin == KernelOrigin::kCallback) {
    source.reset(new (std::nothrow) CallbackSource(kernels));
  } else {
    source.reset(new (std::nothrow) GaussianSource(kernels, size));
  }
  if (!source) return no_memory_for_kernels();
  return source;
}

}  // namespace ocellus::detail

namespace ocellus {

Expected<void> visit_kernels(const KernelConfig& kernels, ImageSize size, KernelVisitor visitor,
                             void* user) noexcept {
  if (visitor == nullptr) return detail::invalid_argument("visitor is null");
  SpatioTemporalFilterConfig filter;
  filter.size = size;
  filter.kernels = kernels;
  OCELLUS_TRY(detail::make_plan(filter));
  return detail::read_kernels(kernels, size, {0, 0, size.width, size.height},
                              [&](int x, int y, int convolution, int term, const float* wx,
                                  const float* wy, const float* wt) -> Expected<bool> {
                                return visitor(user, x, y, convolution, term, wx, wy, wt);
                              });
}

}  // namespace ocellus
