#include "new_operator/plan.h"

#include <cstdio>

#include "core/checks.h"
#include "core/failure.h"

namespace ocellus::detail {

Expected<NewOperatorPlan> make_plan(const NewOperatorConfig& config) noexcept {
  // The fields that are options are checked by their rows.
  OCELLUS_TRY(check_options(NewOperatorConfig::options(), &config));
  OCELLUS_TRY(check_geometry(config.size, config.format, {}, config.depth));
  return NewOperatorPlan{config.size,  config.format, luma_format(config.format),
                         config.depth, config.radius, config.border};
}

OperatorInfo info_of(const NewOperatorPlan& plan) noexcept {
  OperatorInfo info;
  info.name = "newoperator";
  info.size = plan.size;
  info.format = plan.input_format;
  info.planes[0] = {.name = "image",
                    .size = plan.size,
                    .format = plan.format,
                    .follows_frame = true,
                    .color = PictureColor::kKept};
  info.depth = plan.depth;
  const int side = 2 * plan.radius + 1;
  std::snprintf(info.summary, sizeof(info.summary), "mean of %dx%d pixels", side, side);
  const double pixels = static_cast<double>(plan.size.width) * plan.size.height;
  info.least_bytes = pixels * (bytes_per_pixel(plan.input_format) + bytes_per_pixel(plan.format));
  // Sums along each axis, and the division.
  info.least_flops = pixels * (2.0 * (side - 1) + 1.0);
  return info;
}

}  // namespace ocellus::detail
