#include "optical_flow/deviation.h"

#include <algorithm>
#include <cmath>

namespace ocellus::detail {

void KernelNoise::add(const OpticalFlowPlan& plan, int convolution, int term, const float* wx,
                      const float* wy, const float* wt) noexcept {
  const auto squares = [](const float* taps, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += taps[i] * taps[i];
    return sum;
  };
  if (term == 0) norm_ = 0.0f;
  norm_ += std::sqrt(plan.form == KernelForm::kFull
                         ? squares(wx, plan.term_taps)
                         : squares(wx, plan.nx) * squares(wy, plan.ny) * squares(wt, plan.nt));
  if (term != plan.terms - 1) return;
  float& gain = convolution < 2 ? gradient : residual;
  gain = std::max(gain, norm_ * norm_);
}

DeviationModel pyramid_deviation(const OpticalFlowPlan& plan, const PyramidPlan& pyramid) noexcept {
  DeviationModel model{};
  const bool variational = is_variational(plan);
  model.gradient_floor = 10.0f;
  model.least = variational ? 0.052f : 0.047f;
  model.noise = variational ? 0.02f : 0.008f;
  model.bend = variational ? 1.0f : 4.0f;
  const float variance = rounding_variance(plan.format);
  const float contrast = variational ? 1.0f : kContrastScale / kContrastFloor;
  float smoothing = 0.0f;  // gain of the presmoothing along one axis
  for (std::size_t k = 0; k < pyramid.presmoothing.size(); ++k)
    smoothing += (k == 0 ? 1.0f : 2.0f) * pyramid.presmoothing[k] * pyramid.presmoothing[k];
  // Two frames have it. Where the contrast is low, which is where it matters, the normalization
  // has its largest gain.
  model.rounding = 2.0f * variance * contrast * contrast * smoothing * smoothing;
  // Of noise, the derivative of a frame has 0.28 times the variance of the difference of two.
  model.gradient_rounding = 0.6f * model.rounding;
  model.pixel_rounding = variance;
  model.texture_noise = 12.0f * 2.0f * variance;
  return model;
}

DeviationModel kernel_deviation(const OpticalFlowPlan& plan, const KernelNoise& noise) noexcept {
  DeviationModel model{};
  model.gradient_floor = 1.0f;
  model.least = 0.22f;
  model.noise = 0.0014f;
  model.bend = 37.0f;
  const float variance = rounding_variance(plan.format);
  model.rounding = variance * noise.residual;
  model.gradient_rounding = 2.0f * variance * noise.gradient;
  model.pixel_rounding = model.rounding;
  // A convolution in single precision has rounding errors of its own.
  model.texture_noise = std::max(model.gradient_rounding, kFlat);
  return model;
}

}  // namespace ocellus::detail
