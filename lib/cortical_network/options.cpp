// The options of Network: one row for each.
#include "cortical_network/patches.h"
#include "ocellus/network.h"

namespace ocellus {
namespace {

using NetworkRows = detail::PatchRows<NetworkConfig>;

constexpr OptionChoice kLgn[] = {
    {"level", static_cast<int>(LgnTransform::kLevel), "bright pixels are on, others off"},
    {"contrast", static_cast<int>(LgnTransform::kContrast),
     "pixels that are brighter or darker than those around them"},
};

constexpr auto kNew = [](const NetworkConfig& c) { return c.model.empty(); };
constexpr auto kFixed = [](const NetworkConfig& c) { return !c.learn; };
constexpr auto kFeedback = [](const NetworkConfig& c) { return !c.learn && c.feedback_rounds > 0; };

/// The row of a new network.
constexpr Option of_new(Option row) noexcept {
  return NetworkRows::when<kNew>("no model", row);
}

constexpr Option kNetworkOptions[] = {
    NetworkRows::text<[](auto& c) { return &c.model; }>(
        "model", "File of a network (*.ocellus); empty: a new network"),
    NetworkRows::layout(),
    NetworkRows::tile_width(),
    NetworkRows::tile_height(),
    NetworkRows::flag<[](auto& c) { return &c.learn; }>(
        "learn", "The network learns from each patch; the read-out stays"),
    of_new(NetworkRows::integer<[](auto& c) { return &c.width; }>(
        "width", 1, kMaxImageSide, "pixels", "Width of the image that the network sees")),
    of_new(NetworkRows::integer<[](auto& c) { return &c.height; }>(
        "height", 1, kMaxImageSide, "pixels", "Height of the image that the network sees")),
    of_new(NetworkRows::choice<[](auto& c) { return &c.lgn; }>("lgn", kLgn, "Cells of the LGN")),
    of_new(NetworkRows::integer<[](auto& c) { return &c.lgn_threshold; }>(
        "lgn_threshold", 1, 255, "gray levels", "Threshold of the cells of the LGN")),
    of_new(NetworkRows::text<[](auto& c) { return &c.levels; }>(
        "levels",
        "Levels, the lowest first, with commas between them: window/stride:minicolumns, such as "
        "3x3/1x1:64")),
    of_new(NetworkRows::real<[](auto& c) { return &c.learning.threshold; }>(
        "threshold", 0.0, 1.0, "", "T, which the inputs of a minicolumn must exceed")),
    of_new(NetworkRows::real<[](auto& c) { return &c.learning.potentiation; }>(
        "potentiation", 0.0, 1.0, "", "Rate of the weights of active inputs")),
    of_new(NetworkRows::real<[](auto& c) { return &c.learning.depression; }>(
        "depression", 0.0, 1.0, "", "Rate of the weights of other inputs")),
    of_new(NetworkRows::real<[](auto& c) { return &c.learning.initial_weight; }>(
        "initial_weight", 0.0, 0.2, "", "Largest weight at the begin")),
    of_new(NetworkRows::real<[](auto& c) { return &c.learning.random_firing; }>(
        "random_firing", 0.0, 1.0, "",
        "Probability that a minicolumn without a win fires at random")),
    of_new(NetworkRows::real<[](auto& c) { return &c.learning.firing_decay; }>(
        "firing_decay", 0.0, 1.0, "", "Factor of this probability for each win")),
    of_new(NetworkRows::integer<[](auto& c) { return &c.learning.stable_wins; }>(
        "stable_wins", 1, 64, "", "Wins after which a minicolumn does not fire at random")),
    of_new(NetworkRows::integer<[](auto& c) { return &c.seed; }>("seed", 0, 2147483647, "",
                                                                 "Seed of the random numbers")),
    NetworkRows::when<kFixed>(
        "learn=false", NetworkRows::integer<[](auto& c) { return &c.feedback_rounds; }>(
                           "feedback_rounds", 0, 100, "", "Rounds of feedback from higher levels")),
    NetworkRows::when<kFeedback>(
        "feedback_rounds above 0",
        NetworkRows::integer<[](auto& c) { return &c.feedback_tolerance; }>(
            "feedback_tolerance", 1, 1000, "",
            "Active inputs with weak weights that an expectation excuses")),
    detail::depth_option<NetworkConfig>(),
    detail::priority_option<NetworkConfig>(),
};

}  // namespace

OptionTable NetworkConfig::options() noexcept {
  return kNetworkOptions;
}

}  // namespace ocellus
