// The options of Cortex: one row for each.
#include "cortical_network/patches.h"
#include "ocellus/cortex.h"

namespace ocellus {
namespace {

using Rows = detail::PatchRows<CortexConfig>;

constexpr OptionChoice kInks[] = {
    {"auto", static_cast<int>(CortexInk::kAuto), "decided for each patch by its border"},
    {"dark", static_cast<int>(CortexInk::kDark), "darker than the ground"},
    {"light", static_cast<int>(CortexInk::kLight), "lighter than the ground"},
};

constexpr auto kLearns = [](const CortexConfig& c) { return c.learn; };

constexpr Option kOptions[] = {
    Rows::text<[](auto& c) { return &c.model; }>(
        "model", "Model file (*.ocellus), or a model of the library: digits"),
    Rows::layout(),
    Rows::tile_width(),
    Rows::tile_height(),
    Rows::choice<[](auto& c) { return &c.ink; }>("ink", kInks, "Gray levels of the ink"),
    Rows::flag<[](auto& c) { return &c.learn; }>(
        "learn", "The features learn from each frame; the read-out stays"),
    Rows::when<kLearns>("learn=true", Rows::real<[](auto& c) { return &c.learn_rate; }>(
                                          "learn_rate", 1e-4, 1.0, "",
                                          "Step of an input probability towards an input")),
    detail::depth_option<CortexConfig>(),
    detail::priority_option<CortexConfig>(),
};

}  // namespace

OptionTable CortexConfig::options() noexcept {
  return kOptions;
}

}  // namespace ocellus
