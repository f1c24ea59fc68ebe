#include "restoration/plan.h"

#include <cstdio>

#include "core/checks.h"
#include "core/failure.h"
#include "restoration/transfer.h"

namespace ocellus::detail {
namespace {

Expected<RestorationFilter> load_filter(const RestorationConfig& config) noexcept {
  if (config.coefficients != nullptr) return *config.coefficients;
  if (const auto found = find_restoration_filter(config.filter.view())) return *found;
  if (config.filter.empty()) {
    return invalid_argument(
        "filter is empty; it must be a filter file or the name of a filter of the library");
  }
  return read_restoration_filter(config.filter.c_str());
}

const char* schedule_text(RestorationSchedule schedule) noexcept {
  switch (schedule) {
    case RestorationSchedule::kRecursion:
      return ", by recursion";
    case RestorationSchedule::kFrequency:
      return ", in the frequency domain";
    case RestorationSchedule::kAuto:
      break;
  }
  return "";
}

// ---- the choice of the schedule

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

Expected<RestorationPlan> make_plan(const RestorationConfig& config) noexcept {
  // The fields that are options are checked by their rows.
  OCELLUS_TRY(check_options(RestorationConfig::options(), &config));
  OCELLUS_TRY(check_geometry(config.size, config.format, {}, config.depth));
  OCELLUS_TRY_ASSIGN(filter, load_filter(config));
  OCELLUS_TRY_ASSIGN(properties, analyze_filter(*filter));
  RestorationPlan plan;
  plan.size = config.size;
  plan.input_format = config.format;
  plan.format = luma_format(config.format);
  plan.depth = config.depth;
  plan.border = config.border;
  plan.schedule = config.schedule;
  plan.padding = properties->response;
  plan.filter = *filter;
  return plan;
}

// On a device the transforms take 0.5 to 0.9 of the time of the recursion at m = 3, and the ratio
// falls with m.
RestorationPlan choose_schedule(const RestorationPlan& plan, BackendKind backend) noexcept {
  RestorationPlan chosen = plan;
  if (plan.schedule == RestorationSchedule::kAuto)
    chosen.schedule =
        backend == BackendKind::kCuda ? RestorationSchedule::kFrequency : faster_on_cpu(plan);
  return chosen;
}

OperatorInfo info_of(const RestorationPlan& plan) noexcept {
  OperatorInfo info;
  info.name = "restore";
  info.size = plan.size;
  info.format = plan.input_format;
  info.planes[0] = {.name = "image",
                    .size = plan.size,
                    .format = plan.format,
                    .follows_frame = true,
                    .color = PictureColor::kKept};
  info.depth = plan.depth;
  const int m = plan.filter.support;
  std::snprintf(info.summary, sizeof(info.summary),
                "four recursive quadrants of %dx%d, padding of %d pixels%s", m, m, plan.padding,
                schedule_text(plan.schedule));
  const double pixels = static_cast<double>(plan.size.width) * plan.size.height;
  info.least_bytes = pixels * (bytes_per_pixel(plan.input_format) + bytes_per_pixel(plan.format));
  // Equation (1) of restoration_filter.h, four times. Transforms of Fourier need fewer operations,
  // but no fewer bytes.
  info.least_flops = pixels * 4.0 * 2.0 * (2.0 * m * m - 1.0);
  return info;
}

}  // namespace ocellus::detail
