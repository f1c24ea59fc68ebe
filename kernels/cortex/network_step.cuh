// A step of a hypercolumn by the threads of a team.
#pragma once

#include "cortex/network_arithmetic.h"
#include "kernels/core/block.cuh"
#include "kernels/cortex/network.h"

namespace ocellus::cuda {

// ---- teams: threads that compute a hypercolumn together

struct Larger64 {
  __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a > b ? a : b; }
};
struct Sum32 {
  __device__ int operator()(int a, int b) const { return a + b; }
};

struct WarpTeam {
  __device__ int size() const { return kWarp; }
  __device__ int rank() const { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ void sync() const { __syncwarp(); }
  template <typename T, typename Combine>
  __device__ T combine(T value, const Combine& with) const {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      value = with(value, __shfl_xor_sync(kAllLanes, value, offset));
    return value;
  }
};

/// All threads of a block of kNetworkThreads.
struct BlockTeam {
  __device__ int size() const { return kNetworkThreads; }
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ void sync() const { __syncthreads(); }
  template <typename T, typename Combine>
  __device__ T combine(T value, const Combine& with) const {
    T values[1] = {value};
    combine_block<kNetworkThreads>(values, with);
    return values[0];
  }
};

/// Shared memory of a team.
inline constexpr int kListRows = 256;
template <int kMinicolumns>
struct TeamMemory {
  std::uint16_t rows[kListRows];  ///< active inputs
  int count;
  // Sums over active inputs: of the weights of kStrongWeight or more, and of the number of others.
  std::int32_t strong[kMinicolumns];
  std::int32_t weak[kMinicolumns];
};

// ---- inputs

/// The cell that is active at a pixel, or -1: lgn_cells() of lib/cortex/hypercolumn.h.
__device__ inline int lgn_cell(const NetworkArguments& a, int x, int y) {
  const auto at = [&](int px, int py) {
    return static_cast<int>(a.image[static_cast<std::size_t>(py) * a.width + px]);
  };
  const int pixel = at(x, y);
  if (a.lgn == LgnTransform::kLevel) return pixel >= a.lgn_threshold ? 0 : 1;
  const int left = max(x - 1, 0);
  const int right = min(x + 1, a.width - 1);
  const int above = max(y - 1, 0);
  const int below = min(y + 1, a.height - 1);
  const int contrast = 8 * pixel - at(left, above) - at(x, above) - at(right, above) - at(left, y) -
                       at(right, y) - at(left, below) - at(x, below) - at(right, below);
  if (contrast > 8 * a.lgn_threshold) return 0;
  return -contrast > 8 * a.lgn_threshold ? 1 : -1;
}

/// The window of a hypercolumn.
struct Window {
  const NetworkArguments& a;
  const NetworkLevel& l;
  const std::int32_t* winners;  ///< of the level below
  int left;
  int top;

  __device__ Window(const NetworkArguments& arguments, const NetworkLevel& level,
                    const std::int32_t* of_network, int hypercolumn)
      : a(arguments),
        l(level),
        winners(of_network),
        left(hypercolumn % level.columns * level.stride_x),
        top(hypercolumn / level.columns * level.stride_y) {}

  __device__ int points() const { return l.window_width * l.window_height; }
  /// The active cell of a grid point, or -1.
  __device__ int active_cell(int point) const {
    const int x = left + point % l.window_width;
    const int y = top + point / l.window_width;
    return l.below_first < 0 ? lgn_cell(a, x, y) : winners[l.below_first + y * l.below_columns + x];
  }
};

/// Writes the active inputs of kListRows grid points, from `first` on, to memory.rows, in any
/// order.
template <typename Team, typename Memory>
__device__ void list_rows(const Team& team, const Window& window, int first, Memory& memory) {
  if (team.rank() == 0) memory.count = 0;
  team.sync();
  const int end = min(window.points(), first + kListRows);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int base = first; base < end; base += team.size()) {
    const int point = base + team.rank();
    const int cell = point < end ? window.active_cell(point) : -1;
    const unsigned mask = __ballot_sync(kAllLanes, cell >= 0);
    int at = 0;
    if (lane == 0) at = atomicAdd(&memory.count, __popc(mask));
    at = __shfl_sync(kAllLanes, at, 0) + __popc(mask & lanes_before());
    if (cell >= 0)
      memory.rows[at] = static_cast<std::uint16_t>(point * window.l.below_cells + cell);
  }
  team.sync();
}

// ---- responses

/// Weights that a thread loads at once.
inline constexpr int kWeightVector = 8;

/// Adds the rows of the list to the sums. Each thread adds the same minicolumns of several rows.
/// Minicolumn m of the sums is at place(m), so that the threads of a warp use different banks.
struct VectorRows {
  __device__ static int place(const NetworkLevel& l, int m) {
    return m % kWeightVector * (l.padded / kWeightVector) + m / kWeightVector;
  }
  template <typename Team, typename Memory>
  __device__ static void add(const Team& team, const NetworkLevel& l, const std::uint16_t* weights,
                             Memory& memory) {
    const int vectors = l.padded / kWeightVector;
    const int groups = team.size() / vectors;
    const int group = team.rank() / vectors;
    const int vector = team.rank() % vectors;
    std::int32_t strong[kWeightVector] = {};
    std::int32_t weak[kWeightVector] = {};
    if (group < groups) {
      const std::uint16_t* const column = weights + vector * kWeightVector;
#pragma unroll 8
      for (int i = group; i < memory.count; i += groups) {
        const int4 row = *reinterpret_cast<const int4*>(
            column + static_cast<std::size_t>(memory.rows[i]) * static_cast<std::size_t>(l.padded));
        const int words[kWeightVector / 2] = {row.x, row.y, row.z, row.w};
#pragma unroll
        for (int k = 0; k < kWeightVector; ++k) {
          const int weight = words[k / 2] >> (16 * (k % 2)) & 0xffff;
          const bool is_strong = weight >= detail::kStrongWeight;
          strong[k] += is_strong ? weight : 0;
          weak[k] += is_strong ? 0 : 1;
        }
      }
    }
    bool writes = group < groups;
    if ((vectors & (vectors - 1)) == 0 && vectors < kWarp) {
      for (int offset = vectors; offset < kWarp; offset *= 2) {
#pragma unroll
        for (int k = 0; k < kWeightVector; ++k) {
          strong[k] += __shfl_xor_sync(kAllLanes, strong[k], offset);
          weak[k] += __shfl_xor_sync(kAllLanes, weak[k], offset);
        }
      }
      writes = static_cast<int>(threadIdx.x) % kWarp < vectors;
    }
    if (!writes) return;
#pragma unroll
    for (int k = 0; k < kWeightVector; ++k) {
      atomicAdd(&memory.strong[k * vectors + vector], strong[k]);
      atomicAdd(&memory.weak[k * vectors + vector], weak[k]);
    }
  }
};

// ---- learning

/// The weights of the winner, with their Omega and whether they are settled.
template <typename Team>
__device__ void learn(const Team& team, const NetworkArguments& a, const Window& window,
                      std::int64_t minicolumn, std::uint16_t* weights) {
  const NetworkLevel& l = window.l;
  const std::int32_t low = detail::largest_unchanged(a.depression);
  const std::int32_t high = kCorticalWeightOne - detail::largest_unchanged(a.potentiation);
  int omega = 0;
  int moving = 0;
  for (int i = team.rank(); i < l.inputs; i += team.size()) {
    std::uint16_t& at = weights[static_cast<std::size_t>(i) * static_cast<std::size_t>(l.padded)];
    const std::int32_t old = at;
    const int point = i / l.below_cells;
    const bool active = window.active_cell(point) == i - point * l.below_cells;
    const std::int32_t weight =
        active ? detail::potentiated(old, a.potentiation) : detail::depressed(old, a.depression);
    if (weight != old) at = static_cast<std::uint16_t>(weight);
    omega += detail::counted(weight);
    if (weight > low && weight < high) moving = 1;
  }
  omega = team.combine(omega, Sum32());
  moving = team.combine(moving, Sum32());
  // Otherwise a sum of counted weights does not tell which weights it has.
  const bool separate = low <= detail::kOmegaWeight && high >= detail::kStrongWeight;
  if (team.rank() != 0) return;
  a.omega[minicolumn] = omega;
  a.settled[minicolumn] = separate && moving == 0 ? 1 : 0;
}

// ---- the step

/// The minicolumn with the largest g of those that fire at random, or kSilent. `response(m)` is g.
template <typename Team, typename Response>
__device__ int firing_at_random(const Team& team, const NetworkArguments& a, const NetworkLevel& l,
                                int hypercolumn, std::uint64_t step, const Response& response) {
  const std::uint8_t* const wins = a.wins + l.minicolumns_at + std::int64_t{hypercolumn} * l.padded;
  const auto fires = [&](int m) {
    if (wins[m] >= a.stable_wins) return false;
    const auto words =
        detail::firing_words(a.seed, step, static_cast<std::uint32_t>(l.first + hypercolumn),
                             static_cast<std::uint32_t>(m / 4));
    return words[static_cast<std::size_t>(m % 4)] < a.firing[wins[m]];
  };
  constexpr std::int64_t kNone = INT64_MIN;
  std::int64_t own = kNone;
  int own_m = kSilent;
  for (int m = team.rank(); m < l.minicolumns; m += team.size()) {
    const std::int64_t g = response(m);
    // Ascending m: the lower one of equals stays.
    if ((own == kNone || g > own) && fires(m)) {
      own = g;
      own_m = m;
    }
  }
  const std::int64_t most = team.combine(own, Larger64());
  if (most == kNone) return kSilent;
  const std::int64_t place = own == most ? -own_m : -std::int64_t{INT32_MAX};
  return static_cast<int>(-team.combine(place, Larger64()));
}

/// One step of a hypercolumn of a level. `publish(winner)` is called by one thread before weights
/// change.
template <typename Rows, typename Team, typename Memory, typename Publish>
__device__ void step_hypercolumn(const Team& team, const NetworkArguments& a, const NetworkLevel& l,
                                 int hypercolumn, std::uint64_t step, bool learns,
                                 const std::int32_t* winners_below, Memory& memory,
                                 const Publish& publish) {
  const Window window(a, l, winners_below, hypercolumn);
  const std::int64_t begin = l.minicolumns_at + std::int64_t{hypercolumn} * l.padded;
  std::uint16_t* const weights =
      a.weights + l.weights_at + std::int64_t{hypercolumn} * l.inputs * l.padded;
  for (int m = team.rank(); m < l.padded; m += team.size()) {
    memory.strong[m] = 0;
    memory.weak[m] = 0;
  }
  int count = 0;
  for (int first = 0; first < window.points(); first += kListRows) {
    list_rows(team, window, first, memory);
    count += memory.count;
    Rows::add(team, l, weights, memory);
    team.sync();
  }
  const auto response = [&](int m) -> std::int64_t {
    const int at = Rows::place(l, m);
    return detail::response(memory.strong[at], memory.weak[at], a.omega[begin + m], a.threshold);
  };
  // Without an active input all sums are 0.
  std::int64_t best = 0;
  if (count > 0) {
    for (int m = team.rank(); m < l.minicolumns; m += team.size()) {
      const std::int64_t g = response(m);
      if (a.responses != nullptr) a.responses[begin + m] = g;
      // g of a winner is below 2^46.
      if (g > 0) best = max(best, g * kMaxMinicolumns + (kMaxMinicolumns - 1 - m));
    }
    best = team.combine(best, Larger64());
  } else if (a.responses != nullptr) {
    for (int m = team.rank(); m < l.minicolumns; m += team.size()) a.responses[begin + m] = 0;
  }
  int winner = kSilent;
  if (best > 0) winner = kMaxMinicolumns - 1 - static_cast<int>(best % kMaxMinicolumns);
  if (!learns || count == 0) {
    if (team.rank() == 0) publish(winner);
    return;
  }
  bool unchanged = false;
  if (winner != kSilent) {
    // Then all active weights are ones that potentiation does not change, and they are the only
    // weights that count in Omega: the others are ones that depression does not change.
    const int at = Rows::place(l, winner);
    unchanged = a.settled[begin + winner] != 0 && memory.weak[at] == 0 &&
                memory.strong[at] == a.omega[begin + winner];
  } else {
    winner = firing_at_random(team, a, l, hypercolumn, step, response);
  }
  if (team.rank() == 0) {
    publish(winner);
    if (best > 0)
      a.wins[begin + winner] =
          static_cast<std::uint8_t>(min(a.wins[begin + winner] + 1, a.stable_wins));
  }
  if (winner == kSilent || unchanged) return;
  // All threads have read Omega.
  team.sync();
  learn(team, a, window, begin + winner, weights + winner);
}

}  // namespace ocellus::cuda
