// What Network does beside the steps of its network.
#include <climits>

#include "kernels/cortical_network/answers.cuh"
#include "kernels/cortical_network/network_hypercolumn.cuh"
#include "kernels/cortical_network/network_operator.h"
#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

__global__ void __launch_bounds__(32) step_patch(const __grid_constant__ PatchStepArguments a) {
  wait_for_kernels_before();
  let_next_begin();
  if (threadIdx.x != 0) return;
  if (a.first)
    a.step->learn = a.enabled != nullptr && *a.enabled != 0 && a.state->bad == 0 ? 1 : 0;
  else if (a.step->learn != 0)
    ++a.step->number;
}

/// Hypercolumns of the level above whose windows have the point `at` along one side.
struct WindowRange {
  int begin;
  int end;

  __device__ WindowRange(int at, int window, int stride, int count)
      : begin(max(at - window + stride, 0) / stride), end(min(at / stride + 1, count)) {}
};

/// (a).
__device__ int expectation(const FeedbackArguments& a, int hypercolumn, int m) {
  if (a.level + 1 == a.network.level_count) return 0;
  const detail::LevelPlan& here = a.network.levels[a.level];
  const detail::LevelPlan& above = a.network.levels[a.level + 1];
  const int x = hypercolumn % here.columns;
  const int y = hypercolumn / here.columns;
  const WindowRange columns(x, above.window_width, above.stride_x, above.columns);
  const WindowRange rows(y, above.window_height, above.stride_y, above.rows);
  int expected = 0;
  for (int v = rows.begin; v < rows.end; ++v) {
    for (int u = columns.begin; u < columns.end; ++u) {
      const ColumnArrays parent(a.network, above, v * above.columns + u);
      // Its neighbors in the line may be those that this launch writes.
      const int hypothesis = __ldcg(a.hypotheses + parent.number);
      if (hypothesis == kSilent) continue;
      const int point = (y - v * above.stride_y) * above.window_width + x - u * above.stride_x;
      expected = max(expected,
                     static_cast<int>(parent.weights_of(hypothesis)[point * here.minicolumns + m]));
    }
  }
  return expected;
}

/// Active inputs of a hypercolumn, and those of them with strong weights of a minicolumn.
struct WindowSums {
  int active = 0;
  int strong = 0;
  int sum = 0;

  /// All lanes of a warp list the inputs. `weights`: of the minicolumn of the lane.
  __device__ WindowSums(const Window& window, const std::uint16_t* weights) {
    for (int base = 0; base < window.points(); base += kWarp) {
      const int point = base + lane_of_warp();
      const int cell = point < window.points() ? window.active_cell(point) : -1;
      const int own = cell < 0 ? -1 : point * window.l.below_cells + cell;
      for (int k = 0; k < kWarp; ++k) {
        const int input = __shfl_sync(kAllLanes, own, k);
        if (input < 0) continue;
        ++active;
        const int weight = weights[input];
        strong += weight >= detail::kStrongWeight ? 1 : 0;
        sum += weight >= detail::kStrongWeight ? weight : 0;
      }
    }
  }
};

__global__ void __launch_bounds__(kNetworkThreads)
    feed_back(const __grid_constant__ FeedbackArguments a) {
  wait_for_kernels_before();
  let_next_begin();
  const NetworkArguments& network = a.network;
  const detail::LevelPlan& l = network.levels[a.level];
  const int hypercolumn =
      static_cast<int>(blockIdx.x) * kBlockHypercolumns + static_cast<int>(threadIdx.x) / kWarp;
  if (hypercolumn >= l.hypercolumns) return;
  const ColumnArrays column(network, l, hypercolumn);
  const Window window(network, l, network.winners, hypercolumn);
  int best = INT_MAX;  // minicolumn of this lane
  std::int64_t most = INT64_MIN;
  std::int64_t response = 0;
  for (int base = 0; base < l.minicolumns; base += kWarp) {
    // The last lanes do the same as one before.
    const int m = min(base + lane_of_warp(), l.minicolumns - 1);
    const WindowSums sums(window, column.weights_of(m));
    const int weak = sums.active - sums.strong;
    const int omega = column.minicolumns[m].omega;
    const int expected = expectation(a, hypercolumn, m);
    const std::int64_t g = detail::response(sums.sum, weak, omega, network.threshold);
    const std::int64_t with_context = detail::expected_response(g, omega, a.tolerance, expected);
    const bool excused =
        std::int64_t{weak} * kCorticalWeightOne <= std::int64_t{a.tolerance} * expected;
    const bool fits = a.chooses ? omega != 0 && excused && (sums.sum != 0 || expected != 0)
                                : sums.active > 0 && with_context > 0;
    if (!fits || with_context <= most) continue;
    best = m;
    most = with_context;
    response = g;
  }
  const std::int64_t largest = WarpTeam().combine(most, Largest());
  const int winner = WarpTeam().combine(best != INT_MAX && most == largest ? best : INT_MAX,
                                        [](int first, int second) { return min(first, second); });
  const int owner =
      __ffs(static_cast<int>(__ballot_sync(kAllLanes, winner == INT_MAX || best == winner))) - 1;
  if (lane_of_warp() != owner) return;
  const int decided = winner == INT_MAX ? kSilent : winner;
  if (a.chooses) {
    a.hypotheses[column.number] = decided;
    return;
  }
  network.winners[column.number] = decided;
  network.winner_responses[column.number] = response;
}

__global__ void __launch_bounds__(kReadOutThreads)
    answer_winners(const __grid_constant__ WinnerArguments a) {
  // (c) of ocellus/cortical_network.h.
  const auto value = [&](int patch, int hypercolumn, int c) {
    const int winner = a.winners[static_cast<std::int64_t>(patch) * a.hypercolumns + hypercolumn];
    const std::size_t row = std::size_t{a.begins[hypercolumn]} + static_cast<unsigned>(winner + 1);
    return std::int64_t{kCortexActivityOne} * a.read_out[row * a.answers.classes + c];
  };
  answer_patch(a.answers, a.hypercolumns, value, [&](int patch, bool present, std::int64_t) {
    auto* const plane = out_plane<float>(*a.answers.frame, 0);
    if (plane == nullptr) return;
    float* const row = row_at(plane, a.answers.frame->out_stride[0], patch);
    for (int h = static_cast<int>(threadIdx.x); h < a.hypercolumns; h += kReadOutThreads) {
      const int winner = a.winners[static_cast<std::int64_t>(patch) * a.hypercolumns + h];
      row[h] = static_cast<float>(present ? winner : kSilent);
    }
  });
}

}  // namespace

const Kernel<PatchStepArguments> kPatchStepKernel = step_patch;
const Kernel<FeedbackArguments> kFeedbackKernel = feed_back;
const Kernel<WinnerArguments> kWinnerKernel = answer_winners;

}  // namespace ocellus::cuda
