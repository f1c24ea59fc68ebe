#include "optical_flow/pyramid_plan.h"

#include <algorithm>
#include <cmath>

#include "optical_flow/variational.h"

namespace ocellus::detail {
namespace {

// Sigma of the smoothing that a derivative of 5 taps needs, in pixels.
constexpr double kPresmoothingSigma = 0.8;

int warps_of(const OpticalFlowPlan& plan, int level) {
  if (is_variational(plan)) return variational_warps(plan.pyramid, level);
  return level < 2 ? plan.pyramid.warps : plan.pyramid.coarse_warps;
}

/// Pixels around a result of the level on which it depends.
int reach_of(const OpticalFlowPlan& plan, int level) {
  const int warps = warps_of(plan, level);
  if (is_variational(plan)) {
    const int median = 1;
    return warps * (half_sweeps(plan.pyramid, level) + 2 * kGradientReach + median) + kGuidedReach +
           1 + kCandidateDistance + 1;
  }
  return warps * (kGradientReach + plan.radius + plan.pyramid.smoothing_size / 2);
}

}  // namespace

PyramidPlan::PyramidPlan(const OpticalFlowPlan& plan) noexcept {
  double sum = 0.0;
  const double sigma = is_variational(plan) ? static_cast<double>(kVariationalPresmoothingSigma)
                                            : kPresmoothingSigma;
  for (int k = 0; k <= kPresmoothingRadius; ++k) {
    const double distance = k / sigma;
    float& weight = presmoothing[static_cast<std::size_t>(k)];
    weight = static_cast<float>(std::exp(-0.5 * distance * distance));
    sum += (k == 0 ? 1.0 : 2.0) * static_cast<double>(weight);
  }
  for (float& weight : presmoothing) weight = static_cast<float>(static_cast<double>(weight) / sum);
  plan_steps(plan);
  plan_regions(plan);
}

PyramidStep& PyramidPlan::add_step(PyramidStepKind kind, int level) noexcept {
  PyramidStep& step = steps[step_count++];
  step.kind = kind;
  step.level = level;
  return step;
}

void PyramidPlan::plan_steps(const OpticalFlowPlan& plan) noexcept {
  using Kind = PyramidStepKind;
  add_step(Kind::kIngest, 0);
  for (int l = 1; l < plan.levels; ++l) add_step(Kind::kReduce, l);
  if (!is_variational(plan)) {
    add_step(Kind::kHighpass, 0);
    add_step(Kind::kNormalize, 0);
  }
  add_step(Kind::kPresmooth, 0);
  int from_above = 0;
  for (int l = plan.levels - 1; l >= 0; --l) {
    add_step(Kind::kExpand, l).from = from_above;
    from_above = is_variational(plan) ? plan_variational(plan, l) : plan_lucas_kanade(plan, l);
  }
  add_step(Kind::kFinish, 0).from = from_above;
}

// Alternates between two buffers, because a step reads neighboring rows of one while it writes the
// other.
PyramidStep& PyramidPlan::add_flip(PyramidStepKind kind, int level, int& now) noexcept {
  PyramidStep& step = add_step(kind, level);
  step.from = now;
  step.to = now = 1 - now;
  return step;
}

int PyramidPlan::plan_lucas_kanade(const OpticalFlowPlan& plan, int level) noexcept {
  using Kind = PyramidStepKind;
  int now = 0;
  for (int w = 0; w < warps_of(plan, level); ++w) {
    add_flip(Kind::kSmooth, level, now);
    add_flip(Kind::kSolve, level, now);
  }
  return now;
}

int PyramidPlan::plan_variational(const OpticalFlowPlan& plan, int level) noexcept {
  using Kind = PyramidStepKind;
  int now = 0;
  if (level < plan.levels - 1) add_flip(Kind::kCandidates, level, now);
  const int warps = warps_of(plan, level);
  for (int w = 0; w < warps; ++w) add_flip(Kind::kRefine, level, now).last = w == warps - 1;
  add_flip(Kind::kGuidedMedian, level, now);
  return now;
}

void PyramidPlan::plan_regions(const OpticalFlowPlan& plan) noexcept {
  // A step that reads neighbors repeats the edge of the region. This is correct only at the edges
  // of the image. Each region is therefore so much larger than the required part that such errors
  // do not reach this part.
  Rect wanted = plan.flow;
  for (int l = 0; l < plan.levels; ++l) {
    const auto level = static_cast<std::size_t>(l);
    const ImageSize size = plan.level_size[level];
    const int reach = reach_of(plan, l);
    // Even corners, so that a coarse pixel lies on the first fine pixel.
    const int left = std::max(0, wanted.x - reach) & ~1;
    const int top = std::max(0, wanted.y - reach) & ~1;
    const int right = std::min(size.width, wanted.x + wanted.width + reach);
    const int bottom = std::min(size.height, wanted.y + wanted.height + reach);
    region[level] = {left, top, right - left, bottom - top};
    // Expanding reads one more coarse pixel.
    if (l + 1 < plan.levels) {
      const ImageSize coarse = plan.level_size[level + 1];
      wanted = {left / 2, top / 2, std::min(coarse.width, (right + 1) / 2 + 1) - left / 2,
                std::min(coarse.height, (bottom + 1) / 2 + 1) - top / 2};
    }
  }
}

}  // namespace ocellus::detail
