// The choice of the schedule.
#include "restoration/plan.h"
#include "restoration/transfer.h"

namespace ocellus::detail {
namespace {

// Fitted to the times of both schedules on two cores of an AMD EPYC (Zen 5, AVX-512): m from 1 to
// 11, images from 64x64 to 1920x1080, paddings up to 292 pixels. docs/restoration.md has the table.
// Only the ratio matters.

/// Nanoseconds of the recursion.
double recursion_cost(int support, double pixels) noexcept {
  // Without feedback there is no chain from pixel to pixel.
  const double cost = support == 1 ? 0.85 : 1.5 + 0.14 * support * support;
  // The four results of a large image leave the cache before they are added.
  constexpr double kCached = 1.5e6;
  return (cost + (pixels > kCached ? 3.3 : 0.0)) * pixels;
}

/// Nanoseconds of the transforms.
double frequency_cost(double frequencies) noexcept {
  constexpr double kCached = 4e5;
  return (frequencies > kCached ? 3.8 : 2.6) * frequencies;
}

RestorationSchedule faster_on_cpu(const RestorationPlan& plan) noexcept {
  const double padding = plan.border == RestorationBorder::kZero ? 0.0 : plan.padding;
  const double pixels = (plan.size.width + 2.0 * padding) * (plan.size.height + 2.0 * padding);
  const auto transforms = RestorationTransforms::plan(plan.size, plan.padding);
  const double frequencies =
      static_cast<double>(transforms.rows.length) * transforms.columns.length;
  return recursion_cost(plan.filter.support, pixels) < frequency_cost(frequencies)
             ? RestorationSchedule::kRecursion
             : RestorationSchedule::kFrequency;
}

}  // namespace

// On a device the transforms take 0.5 to 0.9 of the time of the recursion at m = 3, and the ratio
// falls with m.
RestorationPlan choose_schedule(const RestorationPlan& plan, BackendKind backend) noexcept {
  RestorationPlan chosen = plan;
  if (plan.schedule == RestorationSchedule::kAuto)
    chosen.schedule =
        backend == BackendKind::kCuda ? RestorationSchedule::kFrequency : faster_on_cpu(plan);
  return chosen;
}

}  // namespace ocellus::detail
