// Plan and state of a cortical network as plain arrays, and a step of one hypercolumn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cortex/hierarchy.h"
#include "ocellus/cortical_network.h"

namespace ocellus::detail {

inline constexpr int kMaxStableWins = 64;

/// Plain data. Constants are integers in units of 2^-15, probabilities in units of 2^-32.
struct NetworkPlan {
  Hierarchy hierarchy;
  LgnTransform lgn = LgnTransform::kLevel;
  int lgn_threshold = 0;
  std::int32_t threshold = 0;
  std::int32_t potentiation = 0;
  std::int32_t depression = 0;
  std::int32_t initial_weight = 0;
  int stable_wins = 0;
  /// Probability of random firing after a number of wins.
  std::array<std::uint32_t, kMaxStableWins> firing{};
  std::uint64_t seed = 0;
};

/// Checks the configuration. Errors: InvalidArgument.
Expected<void> make_network_plan(const CorticalNetworkConfig& config, NetworkPlan& plan) noexcept;

/// The arrays. Padded minicolumns keep the weight 0 and take no part.
struct NetworkArrays {
  std::uint8_t* cells = nullptr;      ///< LGN, [pixel][cell], 0 or 1
  std::uint16_t* weights = nullptr;   ///< [hypercolumn][input][padded minicolumn]
  std::int32_t* omega = nullptr;      ///< [hypercolumn][padded minicolumn], kept up to date
  std::uint8_t* wins = nullptr;       ///< by g > 0, at most stable_wins; the same order
  std::int64_t* responses = nullptr;  ///< g; the same order
  std::int32_t* winners = nullptr;    ///< [hypercolumn], counted over all levels
};

/// LGN cells of rows [begin, end) of an image.
void lgn_cells(const NetworkPlan& plan, const std::uint8_t* image, std::ptrdiff_t stride, int begin,
               int end, std::uint8_t* cells) noexcept;

/// Random weights of a hypercolumn; `hypercolumn`: of the level.
void initialize_hypercolumn(const NetworkPlan& plan, int level, int hypercolumn,
                            const NetworkArrays& arrays) noexcept;

/// A step of one hypercolumn, whose inputs are complete. It reads the weights of active inputs and
/// writes those of the winner. Hypercolumns of a level may run in any order and at the same time.
/// `active`: scratch memory for most_inputs numbers. `step`: number of the learning step.
void step_hypercolumn(const NetworkPlan& plan, int level, int hypercolumn, std::uint64_t step,
                      bool learn, const NetworkArrays& arrays, std::uint16_t* active) noexcept;

/// g of all minicolumns: `weights` and `omega` of the hypercolumn, `responses` for `minicolumns`,
/// which is padded.
void respond(const std::uint16_t* weights, const std::int32_t* omega, const std::uint16_t* active,
             int count, int minicolumns, std::int32_t threshold, std::int64_t* responses) noexcept;

}  // namespace ocellus::detail
