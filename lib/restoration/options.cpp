// The options of Restoration: one row for each.
#include "core/option_table.h"
#include "restoration/plan.h"

namespace ocellus {
namespace {

using Rows = detail::Rows<RestorationConfig>;

constexpr OptionChoice kBorders[] = {
    {"reflect", static_cast<int>(RestorationBorder::kReflect),
     "the image mirrored at its outermost pixels"},
    {"replicate", static_cast<int>(RestorationBorder::kReplicate), "the nearest pixel"},
    {"zero", static_cast<int>(RestorationBorder::kZero), "0"},
};

constexpr OptionChoice kSchedules[] = {
    {"auto", static_cast<int>(RestorationSchedule::kAuto), "the faster one, frequency on CUDA"},
    {"recursion", static_cast<int>(RestorationSchedule::kRecursion),
     "the recursion of each quadrant"},
    {"frequency", static_cast<int>(RestorationSchedule::kFrequency), "Fourier transforms"},
};

constexpr Option kOptions[] = {
    Rows::text<[](auto& c) { return &c.filter; }>(
        "filter",
        "Filter file (*.ocellus), or a filter of the library: gaussian-1, gaussian-1.5, "
        "gaussian-2"),
    Rows::choice<[](auto& c) { return &c.border; }>("border", kBorders,
                                                    "What lies beyond the image"),
    Rows::choice<[](auto& c) { return &c.schedule; }>("schedule", kSchedules,
                                                      "How the result is computed"),
    detail::depth_option<RestorationConfig>(),
    detail::priority_option<RestorationConfig>(),
};

}  // namespace

OptionTable RestorationConfig::options() noexcept {
  return kOptions;
}

}  // namespace ocellus
