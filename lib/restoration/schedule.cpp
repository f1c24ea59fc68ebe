// The choice of the schedule.
#include "restoration/plan.h"
#include "restoration/transfer.h"

namespace ocellus::detail {
namespace {

// Fitted to times of both schedules on two cores of an AMD EPYC with AVX-512: m from 1 to 31,
// images from 64x64 to 2048x2048 and paddings up to 400 pixels. Only the ratio matters.
// docs/restoration.md has the table.

/// Nanoseconds of the recursion for a pixel of the padded image.
double recursion_cost(int support) noexcept {
  // Without feedback there is no chain from pixel to pixel.
  return support == 1 ? 0.45 : 0.9 + 0.09 * support * support;
}
/// Nanoseconds of the transforms for a frequency.
constexpr double kFrequencyCost = 1.1;

RestorationSchedule faster_on_cpu(const RestorationPlan& plan) noexcept {
  const double padding = plan.border == RestorationBorder::kZero ? 0.0 : plan.padding;
  const double pixels = (plan.size.width + 2.0 * padding) * (plan.size.height + 2.0 * padding);
  const auto transforms = RestorationTransforms::plan(plan.size, plan.padding);
  const double frequencies =
      static_cast<double>(transforms.rows.length) * transforms.columns.length;
  return recursion_cost(plan.filter.support) * pixels < kFrequencyCost * frequencies
             ? RestorationSchedule::kRecursion
             : RestorationSchedule::kFrequency;
}

}  // namespace

RestorationPlan choose_schedule(const RestorationPlan& plan, BackendKind backend) noexcept {
  RestorationPlan chosen = plan;
  if (plan.schedule == RestorationSchedule::kAuto)
    chosen.schedule =
        backend == BackendKind::kCuda ? RestorationSchedule::kFrequency : faster_on_cpu(plan);
  return chosen;
}

}  // namespace ocellus::detail
