// The options of NewOperator: one row for each.
#include "core/option_table.h"
#include "new_operator/plan.h"

namespace ocellus {
namespace {

using Rows = detail::Rows<NewOperatorConfig>;

constexpr OptionChoice kBorders[] = {
    {"repeat", static_cast<int>(NewOperatorBorder::kRepeat), "the nearest pixel of the image"},
    {"black", static_cast<int>(NewOperatorBorder::kBlack), "0"},
};

constexpr Option kOptions[] = {
    Rows::integer<[](auto& c) { return &c.radius; }>("radius", 1, detail::kMaxNewOperatorRadius,
                                                     "pixels", "Half the side of the square"),
    Rows::choice<[](auto& c) { return &c.border; }>("border", kBorders,
                                                    "What lies beyond the image"),
    detail::depth_option<NewOperatorConfig>(),
    detail::priority_option<NewOperatorConfig>(),
};

}  // namespace

OptionTable NewOperatorConfig::options() noexcept {
  return kOptions;
}

}  // namespace ocellus
