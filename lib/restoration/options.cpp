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

constexpr Option kOptions[] = {
    Rows::text<[](auto& c) { return &c.filter; }>(
        "filter", "Filter file (*.ocellus), or a filter of the library: gaussian-1, gaussian-1.5"),
    Rows::choice<[](auto& c) { return &c.border; }>("border", kBorders,
                                                    "What lies beyond the image"),
    detail::depth_option<RestorationConfig>(),
};

}  // namespace

OptionTable RestorationConfig::options() noexcept {
  return kOptions;
}

}  // namespace ocellus
