#include "optical_flow/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/checks.h"
#include "core/failure.h"

namespace ocellus {
namespace detail {
namespace {

/// Below 0.1 a Gaussian sampled between two taps is lost to underflow.
Check check_sigma(const char* field, float sigma) noexcept {
  if (!(sigma >= 0.1f && sigma <= 1000.0f))
    return invalid_argument("%s is %g; it must be 0.1 to 1000", field, static_cast<double>(sigma));
  return {};
}

Check check_kernels(const KernelConfig& kernels) noexcept {
  if (kernels.form != KernelForm::kUniform && kernels.form != KernelForm::kPerPixel) {
    return invalid_argument("kernels.form is %d; it must be kUniform or kPerPixel",
                            static_cast<int>(kernels.form));
  }
  if (Check c = check_range("kernels.nx", kernels.nx, 1, kMaxKernelTaps); !c) return c;
  if (Check c = check_range("kernels.ny", kernels.ny, 1, kMaxKernelTaps); !c) return c;
  if (Check c = check_range("kernels.nt", kernels.nt, 1, kMaxKernelTaps); !c) return c;
  if (Check c = check_range("kernels.convolutions", kernels.convolutions, 1, kMaxConvolutions); !c)
    return c;
  if (Check c = check_range("kernels.terms", kernels.terms, 1, kMaxKernelTerms); !c) return c;
  switch (kernels.origin) {
    case KernelOrigin::kFoveated:
      if (kernels.form != KernelForm::kPerPixel)
        return invalid_argument(
            "kernels.origin is kFoveated, whose kernels differ by pixel; kernels.form must be "
            "kPerPixel");
      if (Check c = check_positive("kernels.fovea_radius", kernels.fovea_radius); !c) return c;
      if (!std::isfinite(kernels.fovea_x) || !std::isfinite(kernels.fovea_y))
        return invalid_argument(
            "kernels.fovea_x and fovea_y must be finite, or negative for the center");
      [[fallthrough]];
    case KernelOrigin::kGaussian:
      if (kernels.convolutions != 3)
        return invalid_argument(
            "kernels.convolutions is %d; the library's own kernels are the 3 derivatives",
            kernels.convolutions);
      if (kernels.terms != 1)
        return invalid_argument("kernels.terms is %d; the library's own kernels have 1 term",
                                kernels.terms);
      if (kernels.nx < 2 || kernels.ny < 2 || kernels.nt < 2) {
        return invalid_argument(
            "kernels are %dx%dx%d taps; a derivative needs at least 2 along each axis", kernels.nx,
            kernels.ny, kernels.nt);
      }
      if (Check c = check_sigma("kernels.sigma_space", kernels.sigma_space); !c) return c;
      return check_sigma("kernels.sigma_time", kernels.sigma_time);
    case KernelOrigin::kCallback:
      if (kernels.callback == nullptr)
        return invalid_argument("kernels.origin is kCallback, but kernels.callback is null");
      return {};
    case KernelOrigin::kFile:
      if (kernels.path == nullptr || kernels.path[0] == '\0')
        return invalid_argument("kernels.origin is kFile, but kernels.path is empty");
      return {};
  }
  return invalid_argument(
      "kernels.origin is %d; it must be kGaussian, kFoveated, kCallback or kFile",
      static_cast<int>(kernels.origin));
}

void set_kernels(const KernelConfig& kernels, CoefficientStorage storage,
                 OpticalFlowPlan& plan) noexcept {
  plan.form = kernels.form;
  plan.nx = kernels.nx;
  plan.ny = kernels.ny;
  plan.nt = kernels.nt;
  plan.convolutions = kernels.convolutions;
  plan.terms = kernels.terms;
  plan.storage = storage;
  plan.frames = kernels.nt;
  plan.delay_frames = static_cast<float>(kernels.nt - 1) / 2.0f;
}

Check check_storage(CoefficientStorage storage) noexcept {
  if (storage != CoefficientStorage::kFloat && storage != CoefficientStorage::kHalf) {
    return invalid_argument("storage is %d; it must be kFloat or kHalf", static_cast<int>(storage));
  }
  return {};
}

Rect grow(const Rect& rect, int by, ImageSize size) noexcept {
  const int left = std::max(0, rect.x - by);
  const int top = std::max(0, rect.y - by);
  const int right = std::min(size.width, rect.x + rect.width + by);
  const int bottom = std::min(size.height, rect.y + rect.height + by);
  return {left, top, right - left, bottom - top};
}

Check set_window(const OpticalFlowConfig& config, OpticalFlowPlan& plan) noexcept {
  if (config.window < 3 || config.window > kMaxWindow || config.window % 2 == 0) {
    return invalid_argument("window is %d; it must be odd, 3 to %d", config.window, kMaxWindow);
  }
  if (Check c = check_positive("window_sigma", config.window_sigma, true); !c) return c;
  plan.radius = config.window / 2;
  double weight[kMaxWindow / 2 + 1] = {};
  double sum = 0.0;
  for (int k = 0; k <= plan.radius; ++k) {
    const double distance = k / static_cast<double>(config.window_sigma);
    weight[k] = std::exp(-0.5 * distance * distance);
    sum += k == 0 ? weight[k] : 2.0 * weight[k];
  }
  for (int k = 0; k <= plan.radius; ++k)
    plan.weight[static_cast<std::size_t>(k)] = static_cast<float>(weight[k] / sum);
  return {};
}

Check set_pyramid(const OpticalFlowConfig& config, OpticalFlowPlan& plan) noexcept {
  const PyramidConfig& pyramid = config.pyramid;
  if (Check c = check_range("pyramid.levels", pyramid.levels, 1, kMaxPyramidLevels); !c) return c;
  if (Check c = check_range("pyramid.frames", pyramid.frames, 2, kMaxPyramidFrames); !c) return c;
  if (Check c = check_range("pyramid.warps", pyramid.warps, 1, 10); !c) return c;
  if (Check c = check_range("pyramid.coarse_warps", pyramid.coarse_warps, 1, 10); !c) return c;
  if (Check c = check_not_negative("pyramid.gradient_floor", pyramid.gradient_floor); !c) return c;
  if (Check c = check_not_negative("pyramid.robust", pyramid.robust); !c) return c;
  if (Check c = check_not_negative("pyramid.ridge", pyramid.ridge); !c) return c;
  if (pyramid.median != 0 && pyramid.median != 3 && pyramid.median != 5) {
    return invalid_argument("pyramid.median is %d; it must be 0, 3 or 5", pyramid.median);
  }
  switch (pyramid.smoothing) {
    case FlowSmoothing::kNone:
      plan.smoothing_radius = 0;
      break;
    case FlowSmoothing::kBeforeWarp:
    case FlowSmoothing::kConfidence:
      if (pyramid.smoothing_size < 3 || pyramid.smoothing_size > kMaxWindow ||
          pyramid.smoothing_size % 2 == 0) {
        return invalid_argument("pyramid.smoothing_size is %d; it must be odd, 3 to %d",
                                pyramid.smoothing_size, kMaxWindow);
      }
      plan.smoothing_radius = pyramid.smoothing_size / 2;
      break;
    default:
      return invalid_argument(
          "pyramid.smoothing is %d; it must be kNone, kBeforeWarp or kConfidence",
          static_cast<int>(pyramid.smoothing));
  }
  plan.pyramid = pyramid;
  plan.frames = pyramid.frames;
  // Two frames: the flow of the older one; more: of the middle one, or the newer of the two in the
  // middle.
  plan.delay_frames = static_cast<float>(std::max(1, (pyramid.frames - 1) / 2));
  constexpr int kSmallestSide = 24;
  plan.levels = 1;
  plan.level_size[0] = config.size;
  while (plan.levels < pyramid.levels) {
    const ImageSize below = plan.level_size[static_cast<std::size_t>(plan.levels - 1)];
    const ImageSize next = {(below.width + 1) / 2, (below.height + 1) / 2};
    if (std::min(next.width, next.height) < kSmallestSide) break;
    plan.level_size[static_cast<std::size_t>(plan.levels++)] = next;
  }
  return {};
}

}  // namespace

Expected<OpticalFlowPlan> make_plan(const OpticalFlowConfig& config) noexcept {
  if (Check c = check_geometry(config.size, config.format, config.roi, config.depth); !c)
    return tl::unexpected(c.error());
  OpticalFlowPlan plan;
  plan.size = config.size;
  plan.format = config.format;
  plan.roi = whole_or(config.roi, config.size);
  plan.depth = config.depth;
  plan.method = config.method;
  if (Check c = set_window(config, plan); !c) return tl::unexpected(c.error());
  plan.support = grow(plan.roi, plan.radius, plan.size);
  switch (config.method) {
    case FlowMethod::kKernels:
      if (Check c = check_kernels(config.kernels); !c) return tl::unexpected(c.error());
      if (config.kernels.convolutions != 3) {
        return invalid_argument(
            "kernels.convolutions is %d; optical flow needs the 3 derivatives Ix, Iy, It",
            config.kernels.convolutions);
      }
      if (Check c = check_storage(config.storage); !c) return tl::unexpected(c.error());
      set_kernels(config.kernels, config.storage, plan);
      break;
    case FlowMethod::kPyramid:
      if (Check c = set_pyramid(config, plan); !c) return tl::unexpected(c.error());
      break;
    default:
      return invalid_argument("method is %d; it must be kKernels or kPyramid",
                              static_cast<int>(config.method));
  }
  if (Check c = check_not_negative("confidence_threshold", config.confidence_threshold); !c)
    return tl::unexpected(c.error());
  if (config.invalid != InvalidFlow::kNan && config.invalid != InvalidFlow::kZero) {
    return invalid_argument("invalid is %d; it must be kNan or kZero",
                            static_cast<int>(config.invalid));
  }
  plan.confidence_threshold = config.confidence_threshold;
  plan.invalid = config.invalid;
  return plan;
}

Expected<OpticalFlowPlan> make_plan(const SpatioTemporalFilterConfig& config) noexcept {
  if (Check c = check_geometry(config.size, config.format, config.roi, config.depth); !c)
    return tl::unexpected(c.error());
  if (Check c = check_kernels(config.kernels); !c) return tl::unexpected(c.error());
  if (Check c = check_storage(config.storage); !c) return tl::unexpected(c.error());
  OpticalFlowPlan plan;
  plan.filter_only = true;
  plan.size = config.size;
  plan.format = config.format;
  plan.roi = whole_or(config.roi, config.size);
  plan.support = plan.roi;
  plan.depth = config.depth;
  set_kernels(config.kernels, config.storage, plan);
  return plan;
}

OperatorInfo info_of(const OpticalFlowPlan& plan) noexcept {
  static constexpr const char* kFlowPlanes[] = {"u", "v", "confidence"};
  static constexpr const char* kFilterPlanes[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  static_assert(std::size(kFilterPlanes) == kMaxConvolutions);
  OperatorInfo info;
  info.name = plan.filter_only ? "spatio-temporal filter" : "optical flow";
  info.size = plan.size;
  info.format = plan.format;
  info.plane_count = plan.filter_only ? plan.convolutions : 3;
  for (int p = 0; p < info.plane_count; ++p) {
    PlaneInfo& plane = info.planes[static_cast<std::size_t>(p)];
    plane.name = (plan.filter_only ? kFilterPlanes : kFlowPlanes)[p];
    plane.size = {plan.roi.width, plan.roi.height};
    plane.optional = !plan.filter_only && p == 2;
  }
  info.depth = plan.depth;
  info.support_frames = plan.frames;
  info.delay_frames = plan.delay_frames;
  info.keeps_state = plan.frames > 1;
  return info;
}

}  // namespace detail

OpticalFlowConfig OpticalFlowConfig::fast(ImageSize size) noexcept {
  OpticalFlowConfig config = quality(size);
  config.window = 11;
  config.pyramid.warps = 1;
  config.pyramid.gradient_floor = 0.0f;
  config.pyramid.robust = 0.0f;
  config.pyramid.median = 0;
  config.pyramid.ridge = 1.0f;
  config.pyramid.smoothing = FlowSmoothing::kBeforeWarp;
  config.pyramid.smoothing_size = 15;
  return config;
}

OpticalFlowConfig OpticalFlowConfig::quality(ImageSize size) noexcept {
  OpticalFlowConfig config;
  config.size = size;
  config.method = FlowMethod::kPyramid;
  config.window = 7;
  config.window_sigma = std::numeric_limits<float>::infinity();
  return config;
}

}  // namespace ocellus
