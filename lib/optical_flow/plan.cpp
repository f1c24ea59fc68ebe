#include "optical_flow/plan.h"

#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "core/failure.h"
#include "optical_flow/deviation.h"

namespace ocellus {
namespace detail {
namespace {

Check check_kernels(const KernelConfig& kernels, ImageSize size) noexcept {
  if (kernels.image != ImageSize{} &&
      (kernels.image_x < 0 || kernels.image_y < 0 || kernels.image.width > kMaxImageSide ||
       kernels.image.height > kMaxImageSide || kernels.image_x > kernels.image.width - size.width ||
       kernels.image_y > kernels.image.height - size.height)) {
    return invalid_argument(
        "kernels.image is %dx%d; frames of %dx%d at (%d, %d) must lie in it, and it can have %d "
        "pixels along each side",
        kernels.image.width, kernels.image.height, size.width, size.height, kernels.image_x,
        kernels.image_y, kMaxImageSide);
  }
  if (kernels.form != KernelForm::kUniform && kernels.form != KernelForm::kPerPixel &&
      kernels.form != KernelForm::kFull) {
    return invalid_argument("kernels.form is %d; it must be kUniform, kPerPixel or kFull",
                            static_cast<int>(kernels.form));
  }
  OCELLUS_TRY(check_range("kernels.nx", kernels.nx, 1, kMaxKernelTaps));
  OCELLUS_TRY(check_range("kernels.ny", kernels.ny, 1, kMaxKernelTaps));
  OCELLUS_TRY(check_range("kernels.nt", kernels.nt, 1, kMaxKernelTaps));
  OCELLUS_TRY(check_range("kernels.convolutions", kernels.convolutions, 1, kMaxConvolutions));
  OCELLUS_TRY(check_range("kernels.terms", kernels.terms, 1,
                          kernels.form == KernelForm::kFull ? 1 : kMaxKernelTerms));
  switch (kernels.origin) {
    case KernelOrigin::kFoveated:
      if (kernels.form == KernelForm::kUniform)
        return invalid_argument(
            "kernels.origin is kFoveated, whose kernels differ by pixel; kernels.form must be "
            "kPerPixel or kFull");
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
      return {};
    case KernelOrigin::kCallback:
      if (kernels.callback == nullptr)
        return invalid_argument("kernels.origin is kCallback, but kernels.callback is null");
      return {};
    case KernelOrigin::kFile:
      if (kernels.path.empty())
        return invalid_argument("kernels.origin is kFile, but kernels.path is empty");
      return {};
  }
  return invalid_argument(
      "kernels.origin is %d; it must be kGaussian, kFoveated, kCallback or kFile",
      static_cast<int>(kernels.origin));
}

/// A plan with the members that all configurations have.
template <typename Config>
OpticalFlowPlan begin_plan(const Config& config, PixelFormat format) noexcept {
  OpticalFlowPlan plan;
  plan.size = config.size;
  plan.input_format = format;
  plan.format = luma_format(format);
  plan.roi = whole_or(config.roi, config.size);
  plan.depth = config.depth;
  return plan;
}

void set_kernels(const KernelConfig& kernels, CoefficientStorage storage,
                 OpticalFlowPlan& plan) noexcept {
  const bool part = kernels.image != ImageSize{};
  plan.kernel_image = part ? kernels.image : plan.size;
  plan.kernel_x = part ? kernels.image_x : 0;
  plan.kernel_y = part ? kernels.image_y : 0;
  plan.form = kernels.form;
  plan.origin = kernels.origin;
  plan.nx = kernels.nx;
  plan.ny = kernels.ny;
  plan.nt = kernels.nt;
  plan.convolutions = kernels.convolutions;
  plan.terms = kernels.terms;
  plan.term_taps = taps_of_term(kernels.form, kernels.nx, kernels.ny, kernels.nt);
  plan.storage = storage;
  plan.frames = kernels.nt;
  plan.delay_frames = static_cast<float>(kernels.nt - 1) / 2.0f;
}

/// `config`: OpticalFlowConfig or WindowFlowConfig, whose members of the window are the same.
template <typename Config>
void set_window(const Config& config, OpticalFlowPlan& plan) noexcept {
  plan.radius = config.window / 2;
  double weight[kMaxWindow / 2 + 1] = {};
  double sum = 0.0;
  for (int k = 0; k <= plan.radius; ++k) {
    const double distance = k / static_cast<double>(config.window_sigma);
    weight[k] =
        config.window_weight == WindowWeight::kBox ? 1.0 : std::exp(-0.5 * distance * distance);
    sum += k == 0 ? weight[k] : 2.0 * weight[k];
  }
  for (int k = 0; k <= plan.radius; ++k)
    plan.weight[static_cast<std::size_t>(k)] = static_cast<float>(weight[k] / sum);
  plan.confidence_threshold = config.confidence_threshold;
  plan.invalid = config.invalid;
}

void set_pyramid(const OpticalFlowConfig& config, OpticalFlowPlan& plan) noexcept {
  const PyramidConfig& pyramid = config.pyramid;
  plan.pyramid = pyramid;
  plan.frames = kPyramidFrames;
  plan.delay_frames = 1.0f;  // the flow is that of the older frame
  constexpr int kSmallestSide = 24;
  plan.levels = 1;
  plan.level_size[0] = config.size;
  while (plan.levels < pyramid.levels) {
    const ImageSize below = plan.level_size[static_cast<std::size_t>(plan.levels - 1)];
    const ImageSize next = {(below.width + 1) / 2, (below.height + 1) / 2};
    if (std::min(next.width, next.height) < kSmallestSide) break;
    plan.level_size[static_cast<std::size_t>(plan.levels++)] = next;
  }
}

}  // namespace

Rect grow(const Rect& rect, int by, ImageSize size) noexcept {
  const int left = std::max(0, rect.x - by);
  const int top = std::max(0, rect.y - by);
  const int right = std::min(size.width, rect.x + rect.width + by);
  const int bottom = std::min(size.height, rect.y + rect.height + by);
  return {left, top, right - left, bottom - top};
}

Expected<OpticalFlowPlan> make_plan(const OpticalFlowConfig& config) noexcept {
  OCELLUS_TRY(check_geometry(config.size, config.format, config.roi, config.depth));
  OCELLUS_TRY(check_options(OpticalFlowConfig::options(), &config));
  OpticalFlowPlan plan = begin_plan(config, config.format);
  plan.method = config.method;
  set_window(config, plan);
  plan.objects = config.objects;
  plan.motion = {scaled_motion(config.min_motion, config.min_motion_side, config.size),
                 config.min_deviations};
  plan.deviation_plane = config.deviation;
  plan.deviation = plan.deviation_plane || objects_need_deviation(plan);
  plan.min_area = config.min_area;
  plan.flow = plan.roi;
  if (plan.deviation) {
    plan.flow = grow(plan.roi, kDeviationReach, plan.size);
    // The first pixel must be a sample.
    for (const auto& [at, length] :
         {std::pair{&Rect::x, &Rect::width}, {&Rect::y, &Rect::height}}) {
      plan.flow.*length += plan.flow.*at % 2;
      plan.flow.*at -= plan.flow.*at % 2;
    }
  }
  plan.support = grow(plan.flow, plan.radius, plan.size);
  switch (config.method) {
    case FlowMethod::kKernels:
      OCELLUS_TRY(check_kernels(config.kernels, config.size));
      if (config.kernels.convolutions != 3) {
        return invalid_argument(
            "kernels.convolutions is %d; optical flow needs the 3 derivatives Ix, Iy, It",
            config.kernels.convolutions);
      }
      set_kernels(config.kernels, config.storage, plan);
      break;
    case FlowMethod::kPyramid:
      set_pyramid(config, plan);
      break;
  }
  return plan;
}

Expected<OpticalFlowPlan> make_plan(const SpatioTemporalFilterConfig& config) noexcept {
  OCELLUS_TRY(check_geometry(config.size, config.format, config.roi, config.depth));
  OCELLUS_TRY(check_options(SpatioTemporalFilterConfig::options(), &config));
  OCELLUS_TRY(check_kernels(config.kernels, config.size));
  OpticalFlowPlan plan = begin_plan(config, config.format);
  plan.filter_only = true;
  plan.support = plan.roi;
  set_kernels(config.kernels, config.storage, plan);
  return plan;
}

Expected<OpticalFlowPlan> make_plan(const WindowFlowConfig& config) noexcept {
  OCELLUS_TRY(check_geometry(config.size, PixelFormat::kFloat32, config.roi, config.depth));
  // The ranges of the window are those of optical flow.
  OpticalFlowConfig flow = OpticalFlowConfig::with_kernels(config.size);
  flow.window = config.window;
  flow.window_weight = config.window_weight;
  flow.window_sigma = config.window_sigma;
  flow.confidence_threshold = config.confidence_threshold;
  flow.invalid = config.invalid;
  OCELLUS_TRY(check_options(OpticalFlowConfig::options(), &flow));
  OpticalFlowPlan plan = begin_plan(config, PixelFormat::kFloat32);
  plan.flow = plan.roi;
  plan.support = {0, 0, config.size.width, config.size.height};
  set_window(config, plan);
  return plan;
}

}  // namespace detail

}  // namespace ocellus
