#include "cortical_network/hypercolumn.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cortical_network/network_arithmetic.h"

namespace ocellus::detail {
namespace {

// ---- the arrays of one hypercolumn

constexpr int kWeightsOfLine = 64 / static_cast<int>(sizeof(std::uint16_t));

void prefetch(const void* at) noexcept {
  __builtin_prefetch(at);
}

struct ActiveSums {
  std::int32_t sum = 0;
  int strong = 0;
};

/// A level, a hypercolumn of it, and its arrays.
class Place {
 public:
  Place(const NetworkPlan& plan, int level, int hypercolumn, const NetworkArrays& arrays) noexcept
      : plan_(plan),
        arrays_(arrays),
        level_plan_(plan.hierarchy.level(level)),
        level_(level),
        hypercolumn_(hypercolumn),
        slot_(hypercolumn + arrays.slot_shift),
        first_(plan.hierarchy.minicolumns_of(level, slot_)) {}

  const LevelPlan& level() const noexcept { return level_plan_; }
  /// Counted over all levels.
  int number() const noexcept { return level_plan_.first + hypercolumn_; }
  std::uint32_t* strong() const noexcept {
    return arrays_.strong + plan_.hierarchy.strong_of(level_, slot_);
  }
  std::uint16_t* weights(int minicolumn) const noexcept {
    return arrays_.weights + plan_.hierarchy.weights_of(level_, slot_, minicolumn);
  }
  Minicolumn* minicolumns() const noexcept { return arrays_.minicolumns + first_; }
  Minicolumn& minicolumn(int m) const noexcept { return minicolumns()[m]; }
  std::uint8_t* wins() const noexcept { return arrays_.wins + first_; }

  /// Active inputs with strong weights, and the sum of these.
  ActiveSums sums_of(int m, const std::uint16_t* active, int count) const noexcept {
    const std::uint16_t* const of = weights(m);
    ActiveSums sums;
    for (int i = 0; i < count; ++i) {
      const std::int32_t weight = of[active[i]];
      sums.sum += weight >= kStrongWeight ? weight : 0;
      sums.strong += weight >= kStrongWeight;
    }
    return sums;
  }

  /// g of a minicolumn from its weights.
  std::int64_t response_of(int m, const std::uint16_t* active, int count) const noexcept {
    const std::int32_t omega = minicolumn(m).omega;
    // Strong weights count in Omega.
    if (omega == 0) return 0;
    const ActiveSums sums = sums_of(m, active, count);
    return response(sums.sum, count - sums.strong, omega, plan_.threshold);
  }

  void prefetch_weights(int m) const noexcept {
    const std::uint16_t* const of = weights(m);
    for (int i = 0; i < level_plan_.pitch; i += kWeightsOfLine) prefetch(of + i);
  }
  void prefetch_weights(int m, const std::uint16_t* active, int count) const noexcept {
    if (count * kWeightsOfLine >= level_plan_.pitch) {
      prefetch_weights(m);
      return;
    }
    const std::uint16_t* const of = weights(m);
    for (int i = 0; i < count; ++i) prefetch(of + active[i]);
  }

 private:
  const NetworkPlan& plan_;
  const NetworkArrays& arrays_;
  const LevelPlan& level_plan_;
  int level_;
  int hypercolumn_;
  int slot_;
  std::size_t first_;
};

// ---- a step

constexpr int kMaxWords = kMaxMinicolumns / kBitsOfWord;

/// A hypercolumn on its way through the phases of a step.
struct Turn {
  int active = 0;  ///< inputs
  int winner = kSilent;
  std::int64_t response = 0;  ///< of the winner
  bool fires = false;         ///< at random
  bool learns = false;
  std::uint32_t candidates[kMaxWords];  ///< minicolumns
  std::uint32_t open[kMaxWords];        ///< minicolumns whose response needs their weights
};

// A minicolumn with a weak active input has g <= -Omega (1 + T), because the sum of its strong
// weights is at most Omega. Only minicolumns whose active inputs are all strong can respond with
// g > 0: these are the candidates.
//
// `T`: kCount of them are a row of strong bits.
template <typename T, int kCount>
bool find_candidates(const std::uint32_t* strong, const std::uint16_t* active, int count,
                     std::uint32_t* candidates) noexcept {
  constexpr std::size_t kRow = sizeof(T) * kCount / sizeof(*strong);
  T mask[kCount];
  std::memcpy(mask, strong + active[0] * kRow, sizeof(mask));
  T any = 1;
  for (int i = 1; i < count && any != 0; ++i) {
    T row[kCount];
    std::memcpy(row, strong + active[i] * kRow, sizeof(row));
    any = 0;
    for (int w = 0; w < kCount; ++w) any |= mask[w] &= row[w];
  }
  std::memcpy(candidates, mask, sizeof(mask));
  return any != 0;
}

bool find_candidates(const std::uint32_t* strong, int words, const std::uint16_t* active, int count,
                     std::uint32_t* candidates) noexcept {
  switch (words) {
    case 1:
      return find_candidates<std::uint32_t, 1>(strong, active, count, candidates);
    case 2:
      return find_candidates<std::uint64_t, 1>(strong, active, count, candidates);
    case 4:
      return find_candidates<std::uint64_t, 2>(strong, active, count, candidates);
    case 8:
      return find_candidates<std::uint64_t, 4>(strong, active, count, candidates);
    default:
      break;
  }
  const auto row_words = static_cast<std::size_t>(words);
  std::copy_n(strong + active[0] * row_words, words, candidates);
  std::uint32_t any = 1;
  for (int i = 1; i < count && any != 0; ++i) {
    const std::uint32_t* const row = strong + active[i] * row_words;
    any = 0;
    for (int w = 0; w < words; ++w) any |= candidates[w] &= row[w];
  }
  return any != 0;
}

/// Calls body(minicolumn) for each set bit in ascending order, until it returns false.
template <typename Body>
void for_each_bit(const std::uint32_t* bits, int words, const Body& body) noexcept {
  for (int w = 0; w < words; ++w)
    for (std::uint32_t left = bits[w]; left != 0; left &= left - 1)
      if (!body(w * kBitsOfWord + std::countr_zero(left))) return;
}

bool is_set(const std::uint32_t* bits, int m) noexcept {
  return (bits[m / kBitsOfWord] >> (m % kBitsOfWord) & 1) != 0;
}
void set(std::uint32_t* bits, int m) noexcept {
  bits[m / kBitsOfWord] |= 1u << (m % kBitsOfWord);
}

// ---- phases of a step. Each one prefetches what the next one reads.

void find(const Place& place, const std::uint16_t* active, Turn& turn) noexcept {
  const int words = place.level().words;
  if (turn.active == 0 ||
      !find_candidates(place.strong(), words, active, turn.active, turn.candidates)) {
    std::fill_n(turn.candidates, words, 0u);
    return;
  }
  for_each_bit(turn.candidates, words, [&](int m) {
    prefetch(&place.minicolumn(m));
    return true;
  });
}

void win(Turn& turn, int m, std::int64_t response) noexcept {
  turn.winner = m;
  turn.response = response;
}

void respond_from_sums(const NetworkPlan& plan, const Place& place, const std::uint16_t* active,
                       Turn& turn) noexcept {
  const int words = place.level().words;
  std::fill_n(turn.open, words, 0u);
  for_each_bit(turn.candidates, words, [&](int m) {
    const Minicolumn& of = place.minicolumn(m);
    if (of.strong == turn.active) {
      // All strong weights belong to active inputs.
      const std::int64_t g = response(of.strong_sum, 0, of.omega, plan.threshold);
      if (g > turn.response) win(turn, m, g);
    } else {
      set(turn.open, m);
      place.prefetch_weights(m, active, turn.active);
    }
    return true;
  });
}

void respond_from_weights(const Place& place, const std::uint16_t* active, Turn& turn) noexcept {
  for_each_bit(turn.open, place.level().words, [&](int m) {
    const std::int64_t g = place.response_of(m, active, turn.active);
    if (g > turn.response || (g == turn.response && m < turn.winner)) win(turn, m, g);
    return true;
  });
}

/// Finds the minicolumns that fire at random if none responds.
void fire(const NetworkPlan& plan, const Place& place, std::uint64_t step, Turn& turn) noexcept {
  turn.fires = turn.active > 0 && turn.winner == kSilent;
  if (!turn.fires) return;
  fire_at_random({plan.seed, step, static_cast<std::uint32_t>(place.number())}, plan.firing.data(),
                 place.wins(), place.level().padded, turn.open);
  for_each_bit(turn.open, place.level().words, [&](int m) {
    prefetch(&place.minicolumn(m));
    return true;
  });
}

/// Of the minicolumns that fire, keeps those whose response is to be compared. It is 0 at most.
void compare_fired(const Place& place, const std::uint16_t* active, Turn& turn) noexcept {
  if (!turn.fires) return;
  const int words = place.level().words;
  std::uint32_t fired[kMaxWords];
  std::copy_n(turn.open, words, fired);
  std::fill_n(turn.open, words, 0u);
  for_each_bit(fired, words, [&](int m) {
    if (m >= place.level().minicolumns || place.minicolumn(m).omega != 0) return true;
    win(turn, m, 0);
    return false;
  });
  for_each_bit(fired, words, [&](int m) {
    if (m >= place.level().minicolumns || m == turn.winner) return false;
    // Another one than a candidate is below 0.
    if (turn.winner != kSilent && !is_set(turn.candidates, m)) return true;
    set(turn.open, m);
    place.prefetch_weights(m, active, turn.active);
    return true;
  });
}

/// The minicolumn with the largest g of those that fire at random.
void choose_fired(const Place& place, const std::uint16_t* active, Turn& turn) noexcept {
  if (!turn.fires) return;
  for_each_bit(turn.open, place.level().words, [&](int m) {
    const std::int64_t g = place.response_of(m, active, turn.active);
    if (turn.winner == kSilent || g > turn.response || (g == turn.response && m < turn.winner))
      win(turn, m, g);
    return true;
  });
}

void count_win(const NetworkPlan& plan, const Place& place, int m) noexcept {
  Minicolumn& minicolumn = place.minicolumn(m);
  if (minicolumn.stable) return;
  std::uint8_t& wins = place.wins()[m];
  ++wins;
  minicolumn.stable = wins == plan.stable_wins;
}

/// Counts the win, and finds out whether the winner will change.
void prepare_learning(const NetworkPlan& plan, const Place& place, Turn& turn) noexcept {
  if (turn.winner == kSilent) return;
  if (!turn.fires) count_win(plan, place, turn.winner);
  const Minicolumn& winner = place.minicolumn(turn.winner);
  turn.learns = turn.fires || !winner.settled || winner.strong != turn.active;
  if (turn.learns) place.prefetch_weights(turn.winner);
}

void learn_pattern(const NetworkPlan& plan, const Place& place, const std::uint16_t* active,
                   const Turn& turn, std::uint8_t* pattern) noexcept {
  for (int i = 0; i < turn.active; ++i) pattern[active[i]] = 1;
  learn({plan.potentiation, plan.depression}, pattern, place.level().pitch,
        place.weights(turn.winner), place.strong(), place.level().words, turn.winner,
        place.minicolumn(turn.winner));
  for (int i = 0; i < turn.active; ++i) pattern[active[i]] = 0;
}

void lgn_levels(const NetworkPlan& plan, const std::uint8_t* row, int count,
                std::uint8_t* to) noexcept {
  const int threshold = plan.lgn_threshold;
  for (int x = 0; x < count; ++x) {
    to[kLgnCells * x] = row[x] >= threshold;
    to[kLgnCells * x + 1] = row[x] < threshold;
  }
}

}  // namespace

void lgn_cells(const NetworkPlan& plan, const std::uint8_t* image, std::ptrdiff_t stride,
               const PixelRange& range, std::uint8_t* cells) noexcept {
  for (int y = range.y_begin; y < range.y_end; ++y) {
    const std::uint8_t* const row = image + y * stride;
    std::uint8_t* const to =
        cells + static_cast<std::ptrdiff_t>(y) * plan.hierarchy.width * kLgnCells;
    if (plan.lgn == LgnTransform::kLevel) {
      lgn_levels(plan, row + range.x_begin, range.x_end - range.x_begin,
                 to + std::ptrdiff_t{range.x_begin} * kLgnCells);
      continue;
    }
    const std::uint8_t* const above = image + std::max(y - 1, 0) * stride;
    const std::uint8_t* const below = image + std::min(y + 1, plan.hierarchy.height - 1) * stride;
    for (int x = range.x_begin; x < range.x_end; ++x) {
      const int left = std::max(x - 1, 0);
      const int right = std::min(x + 1, plan.hierarchy.width - 1);
      const int neighbors = above[left] + above[x] + above[right] + row[left] + row[right] +
                            below[left] + below[x] + below[right];
      const int active = contrast_cell(row[x], neighbors, plan.lgn_threshold);
      to[kLgnCells * x] = active == 0;
      to[kLgnCells * x + 1] = active == 1;
    }
  }
}

void initialize_hypercolumns(const NetworkPlan& plan, int level, int begin, int end,
                             const NetworkArrays& arrays, const StepScratch& scratch) noexcept {
  for (int h = begin; h < end; ++h) {
    const Place place(plan, level, h, arrays);
    const LevelPlan& l = place.level();
    std::fill_n(place.wins(), place.level().padded, std::uint8_t{0});
    for (int m = 0; m < l.minicolumns; m += 4) {
      const int count = std::min(l.minicolumns - m, 4);
      for (int i = 0; i < l.inputs; ++i) {
        const std::array<std::uint32_t, 4> words = initial_words(
            plan.seed, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(place.number()),
            static_cast<std::uint32_t>(m / 4));
        for (int k = 0; k < count; ++k) {
          place.weights(m + k)[i] = static_cast<std::uint16_t>(
              initial_weight(words[static_cast<std::size_t>(k)], plan.initial_weight));
        }
      }
    }
  }
  derive_hypercolumns(plan, level, begin, end, arrays, scratch);
}

void derive_hypercolumns(const NetworkPlan& plan, int level, int begin, int end,
                         const NetworkArrays& arrays, const StepScratch&) noexcept {
  for (int h = begin; h < end; ++h) {
    const Place place(plan, level, h, arrays);
    const LevelPlan& l = place.level();
    const std::int32_t full = largest_unchanged(plan.potentiation);
    const std::int32_t empty = largest_unchanged(plan.depression);
    std::uint32_t* const strong = place.strong();
    std::fill_n(strong, static_cast<std::size_t>(l.inputs) * static_cast<std::size_t>(l.words), 0u);
    std::fill_n(place.minicolumns(), place.level().padded, Minicolumn{});
    arrays.winners[place.number()] = kSilent;
    arrays.winner_responses[place.number()] = 0;
    for (int m = 0; m < l.minicolumns; ++m) {
      std::uint16_t* const weights = place.weights(m);
      std::fill_n(weights + l.inputs, l.pitch - l.inputs, std::uint16_t{0});
      Minicolumn& of = place.minicolumn(m);
      of.stable = place.wins()[m] == plan.stable_wins;
      of.settled = true;
      for (int i = 0; i < l.inputs; ++i) {
        const std::int32_t weight = weights[i];
        of.omega += counted(weight);
        if (weight < kStrongWeight) {
          of.settled &= weight <= empty;
          continue;
        }
        of.settled &= kCorticalWeightOne - weight <= full;
        of.strong_sum += weight;
        ++of.strong;
        set(strong + static_cast<std::size_t>(i) * static_cast<std::size_t>(l.words), m);
      }
    }
  }
}

void step_hypercolumns(const NetworkPlan& plan, int level, int begin, int end,
                       const NetworkArrays& arrays, const StepScratch& scratch) noexcept {
  const auto most = static_cast<std::size_t>(plan.hierarchy.most_inputs);
  Turn turns[kHypercolumnBatch];
  for (; begin < end; begin += kHypercolumnBatch) {
    const int count = std::min(end - begin, kHypercolumnBatch);
    const auto each = [&](const auto& body) {
      for (int k = 0; k < count; ++k) {
        std::uint16_t* const active = scratch.active + static_cast<std::size_t>(k) * most;
        body(Place(plan, level, begin + k, arrays), turns[k], active);
      }
    };
    for (int k = 0; k < count; ++k) {
      Turn& turn = turns[k];
      std::uint16_t* const active = scratch.active + static_cast<std::size_t>(k) * most;
      turn.winner = kSilent;
      turn.response = 0;
      turn.fires = false;
      turn.learns = false;
      turn.active =
          active_inputs(plan.hierarchy, level, begin + k, arrays.cells, arrays.winners, active);
      const Place place(plan, level, begin + k, arrays);
      // The processor fetches the rows that follow.
      constexpr int kFirstRows = 4;
      for (int i = 0; i < std::min(turn.active, kFirstRows); ++i)
        prefetch(place.strong() + active[i] * static_cast<std::size_t>(place.level().words));
    }
    each([&](const Place& place, Turn& turn, const std::uint16_t* active) {
      find(place, active, turn);
    });
    each([&](const Place& place, Turn& turn, const std::uint16_t* active) {
      respond_from_sums(plan, place, active, turn);
    });
    each([&](const Place& place, Turn& turn, const std::uint16_t* active) {
      respond_from_weights(place, active, turn);
      if (scratch.learns) fire(plan, place, scratch.step, turn);
    });
    if (scratch.learns) {
      each([&](const Place& place, Turn& turn, const std::uint16_t* active) {
        compare_fired(place, active, turn);
      });
      each([&](const Place& place, Turn& turn, const std::uint16_t* active) {
        choose_fired(place, active, turn);
        prepare_learning(plan, place, turn);
      });
      each([&](const Place& place, const Turn& turn, const std::uint16_t* active) {
        if (turn.learns) learn_pattern(plan, place, active, turn, scratch.pattern);
      });
    }
    each([&](const Place& place, const Turn& turn, const std::uint16_t*) {
      arrays.winners[place.number()] = turn.winner;
      arrays.winner_responses[place.number()] = turn.response;
    });
  }
}

void responses_of(const NetworkPlan& plan, int level, int hypercolumn, const NetworkArrays& arrays,
                  const StepScratch& scratch, std::span<std::int64_t> responses) noexcept {
  const Place place(plan, level, hypercolumn, arrays);
  const int count = active_inputs(plan.hierarchy, level, hypercolumn, arrays.cells, arrays.winners,
                                  scratch.active);
  if (count == 0) {
    std::fill(responses.begin(), responses.end(), 0);
    return;
  }
  const int winner = arrays.winners[place.number()];
  for (int m = 0; m < static_cast<int>(responses.size()); ++m) {
    // Only the weights of the winner have changed since the response.
    responses[static_cast<std::size_t>(m)] = m == winner
                                                 ? arrays.winner_responses[place.number()]
                                                 : place.response_of(m, scratch.active, count);
  }
}

// ---- top-down context

namespace {

/// Hypercolumns of the level above whose windows have the point `at` along one side.
struct Range {
  int begin = 0;
  int end = 0;
};
Range windows_over(int at, int window, int stride, int count) noexcept {
  return {std::max(at - window + stride, 0) / stride, std::min(at / stride + 1, count)};
}

/// (a) for all minicolumns of a hypercolumn. False if all of them are 0.
bool expectation_of(const NetworkPlan& plan, int level, int hypercolumn,
                    const NetworkArrays& arrays, std::uint16_t* expected) noexcept {
  const LevelPlan& here = plan.hierarchy.level(level);
  const int minicolumns = here.minicolumns;
  std::fill_n(expected, minicolumns, std::uint16_t{0});
  if (level + 1 == plan.hierarchy.level_count) return false;
  const LevelPlan& above = plan.hierarchy.level(level + 1);
  const CorticalLevel& shape = above;
  const int x = hypercolumn % here.columns;
  const int y = hypercolumn / here.columns;
  const Range columns = windows_over(x, shape.window_width, shape.stride_x, above.columns);
  const Range rows = windows_over(y, shape.window_height, shape.stride_y, above.rows);
  bool any = false;
  for (int v = rows.begin; v < rows.end; ++v) {
    for (int u = columns.begin; u < columns.end; ++u) {
      const int parent = v * above.columns + u;
      const std::int32_t hypothesis = arrays.hypotheses[above.first + parent];
      if (hypothesis == kSilent) continue;
      any = true;
      const int point = (y - v * shape.stride_y) * shape.window_width + x - u * shape.stride_x;
      const std::uint16_t* const weights =
          Place(plan, level + 1, parent, arrays).weights(hypothesis) +
          static_cast<std::ptrdiff_t>(point) * minicolumns;
      for (int m = 0; m < minicolumns; ++m) expected[m] = std::max(expected[m], weights[m]);
    }
  }
  return any;
}

/// Calls body(hypercolumn, place, active inputs, their number, expected).
template <typename Body>
void for_each_expectation(const NetworkPlan& plan, int level, int begin, int end,
                          const NetworkArrays& arrays, const StepScratch& scratch,
                          const Body& body) noexcept {
  for (int h = begin; h < end; ++h) {
    const Place place(plan, level, h, arrays);
    const int count =
        active_inputs(plan.hierarchy, level, h, arrays.cells, arrays.winners, scratch.active);
    expectation_of(plan, level, h, arrays, scratch.expected);
    body(place, scratch.active, count, scratch.expected);
  }
}

}  // namespace

void choose_hypotheses(const NetworkPlan& plan, int level, int begin, int end,
                       const NetworkArrays& arrays, const StepScratch& scratch) noexcept {
  for_each_expectation(
      plan, level, begin, end, arrays, scratch,
      [&](const Place& place, const std::uint16_t* active, int count,
          const std::uint16_t* expected) {
        std::int32_t best = kSilent;
        std::int64_t most = 0;
        for (int m = 0; m < place.level().minicolumns; ++m) {
          const std::int32_t omega = place.minicolumn(m).omega;
          if (omega == 0) continue;
          const ActiveSums sums = place.sums_of(m, active, count);
          const int weak = count - sums.strong;
          const std::int64_t excused = std::int64_t{plan.feedback_tolerance} * expected[m];
          if (std::int64_t{weak} * kCorticalWeightOne > excused) continue;
          if (sums.sum == 0 && expected[m] == 0) continue;
          const std::int64_t g = expected_response(response(sums.sum, weak, omega, plan.threshold),
                                                   omega, plan.feedback_tolerance, expected[m]);
          if (best != kSilent && g <= most) continue;
          most = g;
          best = m;
        }
        arrays.hypotheses[place.number()] = best;
      });
}

void respond_to_expectation(const NetworkPlan& plan, int level, int begin, int end,
                            const NetworkArrays& arrays, const StepScratch& scratch) noexcept {
  for_each_expectation(plan, level, begin, end, arrays, scratch,
                       [&](const Place& place, const std::uint16_t* active, int count,
                           const std::uint16_t* expected) {
                         std::int32_t winner = kSilent;
                         std::int64_t most = 0;
                         std::int64_t response = 0;
                         for (int m = 0; count > 0 && m < place.level().minicolumns; ++m) {
                           const std::int64_t g = place.response_of(m, active, count);
                           const std::int64_t with_context = expected_response(
                               g, place.minicolumn(m).omega, plan.feedback_tolerance, expected[m]);
                           if (with_context <= most) continue;
                           most = with_context;
                           response = g;
                           winner = m;
                         }
                         arrays.winners[place.number()] = winner;
                         arrays.winner_responses[place.number()] = response;
                       });
}

}  // namespace ocellus::detail
