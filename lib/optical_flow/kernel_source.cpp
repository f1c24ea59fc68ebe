#include "optical_flow/kernel_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "ocellus/kernel_taps.h"
#include "optical_flow/kernel_bank_file.h"

namespace ocellus::detail {
namespace {

/// Iterates over (y, x, convolution, term); term changes fastest.
struct Position {
  int y = 0;
  int x = 0;
  int convolution = 0;
  int term = 0;

  void step(int width, int convolutions, int terms) noexcept {
    if (++term < terms) return;
    term = 0;
    if (++convolution < convolutions) return;
    convolution = 0;
    if (++x < width) return;
    x = 0;
    ++y;
  }
};

/// Gaussian derivatives Ix, Iy, It, with one sigma for all pixels or a sigma that grows with
/// eccentricity.
class GaussianSource final : public KernelSource {
 public:
  GaussianSource(const KernelConfig& kernels, ImageSize size) noexcept
      : KernelSource(kernels), kernels_(kernels), width_(size.width) {
    fovea_x_ =
        kernels.fovea_x < 0.0f ? (size.width - 1) / 2.0 : static_cast<double>(kernels.fovea_x);
    fovea_y_ =
        kernels.fovea_y < 0.0f ? (size.height - 1) / 2.0 : static_cast<double>(kernels.fovea_y);
    const double center = (kernels.nt - 1) / 2.0;
    const double sigma = static_cast<double>(kernels.sigma_time);
    gaussian_taps(kernels.nt, center, sigma, gt_);
    gaussian_derivative_taps(kernels.nt, center, sigma, dt_);
    set_sigma(static_cast<double>(kernels.sigma_space));
  }

  Expected<void> next(float* wx, float* wy, float* wt) noexcept override {
    if (kernels_.origin == KernelOrigin::kFoveated && at_.convolution == 0) {
      const double eccentricity = std::hypot(at_.x - fovea_x_, at_.y - fovea_y_);
      set_sigma(static_cast<double>(kernels_.sigma_space) *
                (1.0 + eccentricity / static_cast<double>(kernels_.fovea_radius)));
    }
    copy(at_.convolution == 0 ? dx_ : gx_, kernels_.nx, wx);
    copy(at_.convolution == 1 ? dy_ : gy_, kernels_.ny, wy);
    copy(at_.convolution == 2 ? dt_ : gt_, kernels_.nt, wt);
    at_.step(width_, kernels_.convolutions, kernels_.terms);
    return {};
  }

  Expected<void> skip(int pixels) noexcept override {
    at_.x += pixels;
    at_.y += at_.x / width_;
    at_.x %= width_;
    return {};
  }

 private:
  void set_sigma(double sigma) noexcept {
    const int center_x = kernels_.nx / 2;
    const int center_y = kernels_.ny / 2;
    gaussian_taps(kernels_.nx, center_x, sigma, gx_);
    gaussian_taps(kernels_.ny, center_y, sigma, gy_);
    gaussian_derivative_taps(kernels_.nx, center_x, sigma, dx_);
    gaussian_derivative_taps(kernels_.ny, center_y, sigma, dy_);
  }

  static void copy(const double* from, int n, float* to) noexcept {
    for (int i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
  }

  KernelConfig kernels_;
  int width_;
  double fovea_x_;
  double fovea_y_;
  Position at_;
  double gx_[kMaxKernelTaps], gy_[kMaxKernelTaps], gt_[kMaxKernelTaps];
  double dx_[kMaxKernelTaps], dy_[kMaxKernelTaps], dt_[kMaxKernelTaps];
};

class CallbackSource final : public KernelSource {
 public:
  CallbackSource(const KernelConfig& kernels, ImageSize size) noexcept
      : KernelSource(kernels), kernels_(kernels), width_(size.width) {}

  Expected<void> next(float* wx, float* wy, float* wt) noexcept override {
    std::fill(wx, wx + kernels_.nx, 0.0f);
    std::fill(wy, wy + kernels_.ny, 0.0f);
    std::fill(wt, wt + kernels_.nt, 0.0f);
    kernels_.callback(kernels_.user, at_.x, at_.y, at_.convolution, at_.term, wx, wy, wt);
    if (!finite(wx, kernels_.nx) || !finite(wy, kernels_.ny) || !finite(wt, kernels_.nt)) {
      return invalid_argument(
          "kernels.callback wrote a tap that is not finite at (%d, %d), convolution %d, term %d",
          at_.x, at_.y, at_.convolution, at_.term);
    }
    at_.step(width_, kernels_.convolutions, kernels_.terms);
    return {};
  }

 private:
  static bool finite(const float* taps, int n) noexcept {
    for (int i = 0; i < n; ++i) {
      if (!std::isfinite(taps[i])) return false;
    }
    return true;
  }

  KernelConfig kernels_;
  int width_;
  Position at_;
};

class FileSource final : public KernelSource {
 public:
  explicit FileSource(const KernelConfig& kernels) noexcept : KernelSource(kernels) {}

  Expected<void> open(const KernelConfig& kernels, ImageSize size) noexcept {
    OCELLUS_TRY(file_.open(kernels.path.c_str()));
    return file_.match(kernels, size);
  }

  Expected<void> next(float* wx, float* wy, float* wt) noexcept override {
    return file_.next(wx, wy, wt);
  }

 private:
  KernelBankFile file_;
};

template <typename Source, typename... Args>
Expected<std::unique_ptr<KernelSource>> make_source(Args&&... args) noexcept {
  std::unique_ptr<KernelSource> source(new (std::nothrow) Source(static_cast<Args&&>(args)...));
  if (!source) return no_memory_for_kernels();
  return source;
}

}  // namespace

tl::unexpected<Error> no_memory_for_kernels() noexcept {
  return tl::unexpected(
      make_error(Status::kOutOfMemory, "the system gave no memory to read the kernels"));
}

void gaussian_taps(int n, double center, double sigma, double* taps) noexcept {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) {
    const double distance = (i - center) / sigma;
    taps[i] = std::exp(-0.5 * distance * distance);
    sum += taps[i];
  }
  for (int i = 0; i < n; ++i) taps[i] /= sum;
}

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
  const float spatial = magnitude_sum(wx, plan.nx) * magnitude_sum(wy, plan.ny);
  magnitude_sum(wt, plan.nt);
  if (largest <= kHalfMax && 255.0f * spatial <= kHalfMax) return {};
  return invalid_argument(
      "the kernel at (%d, %d), convolution %d, term %d is too large for storage kHalf: its spatial "
      "sum can exceed %g, the largest half; scale it down or use kFloat",
      x, y, pair / plan.terms, pair % plan.terms, static_cast<double>(kHalfMax));
}

Expected<void> KernelSource::skip(int pixels) noexcept {
  float wx[kMaxKernelTaps], wy[kMaxKernelTaps], wt[kMaxKernelTaps];
  for (int left = pixels * pairs_; left > 0; --left) OCELLUS_TRY(next(wx, wy, wt));
  return {};
}

Expected<std::unique_ptr<KernelSource>> KernelSource::open(const KernelConfig& kernels,
                                                           ImageSize size) noexcept {
  switch (kernels.origin) {
    case KernelOrigin::kGaussian:
    case KernelOrigin::kFoveated:
      return make_source<GaussianSource>(kernels, size);
    case KernelOrigin::kCallback:
      return make_source<CallbackSource>(kernels, size);
    case KernelOrigin::kFile: {
      std::unique_ptr<FileSource> source(new (std::nothrow) FileSource(kernels));
      if (!source) return no_memory_for_kernels();
      OCELLUS_TRY(source->open(kernels, size));
      return source;
    }
  }
  return invalid_argument("kernels.origin is %d", static_cast<int>(kernels.origin));
}

}  // namespace ocellus::detail

namespace ocellus {

Expected<KernelFileInfo> read_kernel_file_info(const char* path) noexcept {
  const std::unique_ptr<detail::KernelBankFile> file(new (std::nothrow) detail::KernelBankFile);
  if (!file) return detail::no_memory_for_kernels();
  OCELLUS_TRY(file->open(path));
  const detail::KernelBankHeader& header = file->header();
  KernelFileInfo info;
  info.kernels.form = header.form;
  info.kernels.origin = KernelOrigin::kFile;
  info.kernels.nx = header.nx;
  info.kernels.ny = header.ny;
  info.kernels.nt = header.nt;
  info.kernels.convolutions = header.convolutions;
  info.kernels.terms = header.terms;
  if (header.form == KernelForm::kPerPixel) info.size = header.size;
  info.tap_bytes = header.tap_bytes();
  std::memcpy(info.note, header.note, sizeof(info.note));
  return info;
}

Expected<void> visit_kernels(const KernelConfig& kernels, ImageSize size, KernelVisitor visitor,
                             void* user) noexcept {
  if (visitor == nullptr) return detail::invalid_argument("visitor is null");
  SpatioTemporalFilterConfig filter;
  filter.size = size;
  filter.kernels = kernels;
  OCELLUS_TRY(detail::make_plan(filter));
  OCELLUS_TRY_ASSIGN(source, detail::KernelSource::open(kernels, size));
  const ImageSize pixels = kernels.form == KernelForm::kPerPixel ? size : ImageSize{1, 1};
  float wx[kMaxKernelTaps];
  float wy[kMaxKernelTaps];
  float wt[kMaxKernelTaps];
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      for (int pair = 0; pair < kernels.convolutions * kernels.terms; ++pair) {
        OCELLUS_TRY((*source)->next(wx, wy, wt));
        if (!visitor(user, x, y, pair / kernels.terms, pair % kernels.terms, wx, wy, wt)) return {};
      }
    }
  }
  return {};
}

}  // namespace ocellus
