// Plan and state of a cortical network as plain arrays, and a step of its hypercolumns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "cortical_network/hierarchy.h"
#include "ocellus/cortical_network.h"

namespace ocellus::detail {

// ---- where the arrays lie on the CPU

/// Weights of a minicolumn are padded to this number of inputs: a cache line.
inline constexpr int kInputAlignment = 32;
inline constexpr int kBitsOfWord = 32;
/// The strong bits of a level begin at a multiple of this number of words, so that rows can be read
/// as vectors.
inline constexpr std::size_t kStrongAlignment = 8;

constexpr int padded_inputs(int count) noexcept {
  return (count + kInputAlignment - 1) / kInputAlignment * kInputAlignment;
}

/// The levels of a network, and where its arrays lie. A response needs to know which minicolumns
/// have a strong weight for each active input, and rarely a weight itself: a bit of each weight is
/// kept apart. The winner learns with all of its weights, which lie side by side:
///   weights      [hypercolumn][minicolumn][padded input]
///   strong bits  [hypercolumn][input][word]
/// Errors: InvalidArgument.
Expected<Hierarchy> hierarchy_of(const CorticalNetworkConfig& config) noexcept;

// ---- plan and state

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
  /// Probability of random firing after a number of wins; 0 after stable_wins.
  std::array<std::uint32_t, kMaxStableWins + 1> firing{};
  int feedback_rounds = 0;
  std::int32_t feedback_tolerance = 1;
  std::uint64_t seed = 0;
};

/// Checks the configuration. Errors: InvalidArgument.
Expected<void> make_network_plan(const CorticalNetworkConfig& config, NetworkPlan& plan) noexcept;

/// Errors: InvalidArgument.
Expected<void> check_feedback(int rounds, int tolerance) noexcept;

/// What the weights of a minicolumn imply, kept up to date.
struct alignas(16) Minicolumn {
  std::int32_t omega = 0;
  std::int32_t strong_sum = 0;  ///< of weights of kStrongWeight or more
  std::uint16_t strong = 0;     ///< their number
  /// Learning changes no weight if exactly the inputs with strong weights are active.
  bool settled = false;
  bool stable = false;  ///< has stable_wins wins
};

/// What hypercolumns learn. Padded minicolumns and inputs keep the weight 0 and take no part.
struct HypercolumnArrays {
  std::uint16_t* weights = nullptr;   ///< see hierarchy_of()
  std::uint32_t* strong = nullptr;    ///< see hierarchy_of()
  Minicolumn* minicolumns = nullptr;  ///< [hypercolumn][padded minicolumn]
  std::uint8_t* wins = nullptr;       ///< by g > 0, at most stable_wins; the same order
  /// Strong bits of the lowest level in the order of its weights; on a GPU only.
  std::uint8_t* patterns = nullptr;

  /// Places the arrays; numbers of elements.
  void place(LayoutBuilder& builder, std::size_t weight_count, std::size_t strong_count,
             std::size_t minicolumn_count, std::size_t pattern_count = 0) noexcept {
    weights = builder.take<std::uint16_t>(weight_count);
    strong = builder.take<std::uint32_t>(strong_count);
    minicolumns = builder.take<Minicolumn>(minicolumn_count);
    wins = builder.take<std::uint8_t>(minicolumn_count);
    if (pattern_count > 0) patterns = builder.take<std::uint8_t>(pattern_count);
  }
};

struct NetworkArrays : HypercolumnArrays {
  std::uint8_t* cells = nullptr;             ///< LGN, [pixel][cell], 0 or 1
  std::int32_t* winners = nullptr;           ///< [hypercolumn], counted over all levels
  std::int64_t* winner_responses = nullptr;  ///< g of the winner before it learned; the same order
  std::int32_t* hypotheses = nullptr;        ///< of the feedback, or kSilent; the same order
  /// Added to the number of a hypercolumn in its level, it is the place in `weights`, `strong`,
  /// `minicolumns` and `wins`. Not 0 where these have only a part of the level.
  int slot_shift = 0;
};

/// Hypercolumns of a part are computed this many at a time, so that the memory that one of them
/// needs can be fetched while others are computed.
inline constexpr int kHypercolumnBatch = 16;

/// Private memory of a worker, and what it does in a step.
struct StepScratch {
  std::uint16_t* active = nullptr;    ///< kHypercolumnBatch lists of most_inputs
  std::uint8_t* pattern = nullptr;    ///< of most_inputs, padded; 0 between the calls
  std::uint16_t* expected = nullptr;  ///< of most_minicolumns
  std::uint64_t step = 0;             ///< number of the learning step
  bool learns = false;
};

/// LGN cells of the pixels of rows [y_begin, y_end) and columns [x_begin, x_end).
struct PixelRange {
  int y_begin = 0;
  int y_end = 0;
  int x_begin = 0;
  int x_end = 0;
};
void lgn_cells(const NetworkPlan& plan, const std::uint8_t* image, std::ptrdiff_t stride,
               const PixelRange& range, std::uint8_t* cells) noexcept;

/// g of all minicolumns in the last step.
void responses_of(const NetworkPlan& plan, int level, int hypercolumn, const NetworkArrays& arrays,
                  const StepScratch& scratch, std::span<std::int64_t> responses) noexcept;

// What follows is done with the hypercolumns [begin, end) of a level, in any order and at the same
// time as with others.

/// Random weights, and what they imply.
void initialize_hypercolumns(const NetworkPlan& plan, int level, int begin, int end,
                             const NetworkArrays& arrays, const StepScratch& scratch) noexcept;

/// Computes what weights and wins imply: strong bits and minicolumns. There is no winner.
void derive_hypercolumns(const NetworkPlan& plan, int level, int begin, int end,
                         const NetworkArrays& arrays, const StepScratch& scratch) noexcept;

/// A step. The inputs are complete.
void step_hypercolumns(const NetworkPlan& plan, int level, int begin, int end,
                       const NetworkArrays& arrays, const StepScratch& scratch) noexcept;

// ---- feedback, see (a) and (b) in ocellus/cortical_network.h

/// Hypotheses; those of the level above are complete.
void choose_hypotheses(const NetworkPlan& plan, int level, int begin, int end,
                       const NetworkArrays& arrays, const StepScratch& scratch) noexcept;

/// Winners from inputs and hypotheses of the level above.
void respond_to_expectation(const NetworkPlan& plan, int level, int begin, int end,
                            const NetworkArrays& arrays, const StepScratch& scratch) noexcept;

// ---- vector code

struct FiringCounter {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t hypercolumn = 0;  ///< counted over all levels
};

/// Bits of the minicolumns that fire at random. `minicolumns`: padded; `firing`: probability after
/// a number of wins.
void fire_at_random(const FiringCounter& counter, const std::uint32_t* firing,
                    const std::uint8_t* wins, int minicolumns, std::uint32_t* fired) noexcept;

/// Learning constants of a network.
struct LearningRates {
  std::int32_t potentiation = 0;
  std::int32_t depression = 0;
};

/// Updates the weights of a minicolumn. `pattern`: of each input, 1 where it is active; `pitch`:
/// number of the weights, padded; `strong`, `words`: strong bits of the hypercolumn. Keeps
/// `stable`.
void learn(const LearningRates& rates, const std::uint8_t* pattern, int pitch,
           std::uint16_t* weights, std::uint32_t* strong, int words, int number,
           Minicolumn& minicolumn) noexcept;

}  // namespace ocellus::detail
