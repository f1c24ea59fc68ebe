// Top-down context of a cortical network.
#include <algorithm>

#include "cortical_network/hypercolumn.h"
#include "cortical_network/hypercolumn_place.h"
#include "cortical_network/network_arithmetic.h"

namespace ocellus::detail {
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
  const int minicolumns = here.shape.minicolumns;
  std::fill_n(expected, minicolumns, std::uint16_t{0});
  if (level + 1 == plan.hierarchy.level_count) return false;
  const LevelPlan& above = plan.hierarchy.level(level + 1);
  const CorticalLevel& shape = above.shape;
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
        for (int m = 0; m < place.layout().minicolumns; ++m) {
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
                         for (int m = 0; count > 0 && m < place.layout().minicolumns; ++m) {
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
