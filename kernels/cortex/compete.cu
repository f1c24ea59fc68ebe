// Competition of the minicolumns of a hypercolumn. Sums are sums of integers: their order, which
// depends on the timing, does not change them.
#include "kernels/core/block.cuh"
#include "kernels/core/overlap.cuh"
#include "kernels/cortex/kernels.h"

namespace ocellus::cuda {
namespace {

/// Minicolumns whose weights a thread reads at once.
constexpr int kVector = 16;
constexpr int kMostKeys = kMaxMinicolumns / kCompeteThreads;
constexpr std::int64_t kNoKey = INT64_MIN;

struct Larger {
  __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return max(a, b); }
};

/// active_inputs() of lib/cortex/classifier.h, in any order.
__device__ void find_active(const CompeteArguments& a, int patch, int hypercolumn,
                            std::uint16_t* active, int& count) {
  const int points = a.level.window_width * a.level.window_height;
  const int x0 = hypercolumn % a.level.columns * a.level.stride_x;
  const int y0 = hypercolumn / a.level.columns * a.level.stride_y;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int base = 0; base < points; base += kCompeteThreads) {
    const int i = base + static_cast<int>(threadIdx.x);
    bool is_active = i < points;
    int input = i;
    if (is_active) {
      const int below = a.fields != nullptr
                            ? a.fields[hypercolumn * points + i]
                            : (y0 + i / a.level.window_width) * a.level.below_columns + x0 +
                                  i % a.level.window_width;
      if (a.cells != nullptr)
        is_active = a.cells[patch * a.pixels + below] != 0;
      else
        input = i * a.level.below_cells +
                a.winners[patch * a.hypercolumns + a.level.below_first + below];
    }
    const unsigned mask = __ballot_sync(kAllLanes, is_active);
    int at = 0;
    if (lane == 0) at = atomicAdd(&count, __popc(mask));
    at = __shfl_sync(kAllLanes, at, 0) + __popc(mask & ((1u << lane) - 1u));
    if (is_active) active[at] = static_cast<std::uint16_t>(input);
  }
}

/// Adds the weights of active inputs to `scores`. Minicolumn m is at m % 16 * (padded / 16) + m /
/// 16, so that the threads of a warp write to different banks.
__device__ void add_weights(const CompeteArguments& a, const std::int8_t* weights,
                            const std::uint16_t* active, int count, std::int32_t* scores) {
  const int vectors = a.level.padded / kVector;
  const int groups = kCompeteThreads / vectors;
  const int group = static_cast<int>(threadIdx.x) / vectors;
  const int vector = static_cast<int>(threadIdx.x) % vectors;
  if (group >= groups) return;
  int sums[kVector] = {};
  const std::int8_t* const column = weights + vector * kVector;
#pragma unroll 4
  for (int i = group; i < count; i += groups) {
    const int4 row = __ldg(reinterpret_cast<const int4*>(
        column + static_cast<std::size_t>(active[i]) * a.level.padded));
    const int words[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int k = 0; k < kVector; ++k) sums[k] = __dp4a(words[k / 4], 1 << (8 * (k % 4)), sums[k]);
  }
#pragma unroll
  for (int k = 0; k < kVector; ++k) atomicAdd(&scores[k * vectors + vector], sums[k]);
}

__global__ void __launch_bounds__(kCompeteThreads)
    compete(const __grid_constant__ CompeteArguments a) {
  __shared__ std::uint16_t active[kMostActive];
  __shared__ std::int32_t scores[kMaxMinicolumns];
  __shared__ int count;
  const int thread = static_cast<int>(threadIdx.x);
  const int hypercolumn = static_cast<int>(blockIdx.x);
  const int patch = static_cast<int>(blockIdx.y);
  const int vectors = a.level.padded / kVector;
  const std::int32_t* const bias = a.bias + static_cast<std::size_t>(hypercolumn) * a.level.padded;
  for (int m = thread; m < a.level.padded; m += kCompeteThreads)
    scores[m % kVector * vectors + m / kVector] = bias[m];
  if (thread == 0) count = 0;
  __syncthreads();
  wait_for_kernels_before();
  let_next_begin();
  find_active(a, patch, hypercolumn, active, count);
  __syncthreads();
  add_weights(a,
              a.weights + static_cast<std::size_t>(hypercolumn) * a.level.inputs * a.level.padded,
              active, count, scores);
  __syncthreads();

  // The score and, for equal scores, the lower index decide.
  std::int64_t keys[kMostKeys];
#pragma unroll
  for (int k = 0; k < kMostKeys; ++k) {
    const int m = k * kCompeteThreads + thread;
    keys[k] = kNoKey;
    if (m < a.level.minicolumns) {
      const std::int64_t score = scores[m % kVector * vectors + m / kVector];
      keys[k] = score * kMaxMinicolumns + (kMaxMinicolumns - 1 - m);
    }
  }
  // share_activity() of lib/cortex/classifier.h.
  detail::CortexActivity own{};
  std::int64_t parts[kMaxCompetitors] = {};
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (int k = 0; k < a.competitors; ++k) {
    std::int64_t best[1] = {kNoKey};
#pragma unroll
    for (int i = 0; i < kMostKeys; ++i) best[0] = max(best[0], keys[i]);
    combine_block<kCompeteThreads>(best, Larger());
#pragma unroll
    for (int i = 0; i < kMostKeys; ++i)
      if (keys[i] == best[0]) keys[i] = kNoKey;
    // The shift rounds down, also for negative keys.
    const std::int64_t score = best[0] >> 10;
    static_assert(kMaxMinicolumns == 1 << 10);
    if (k == 0) most = score;
    const std::int64_t difference = most - score;
    parts[k] = difference < detail::kShareTableSize ? a.shares[difference] : 0;
    sum += parts[k];
    own.minicolumn[static_cast<std::size_t>(k)] =
        static_cast<std::uint16_t>(kMaxMinicolumns - 1 - (best[0] & (kMaxMinicolumns - 1)));
  }
  if (thread != 0) return;
  for (int k = 0; k < a.competitors; ++k)
    own.share[static_cast<std::size_t>(k)] =
        static_cast<std::uint16_t>((parts[k] * kCortexActivityOne + sum / 2) / sum);
  const int at = patch * a.hypercolumns + a.level.first + hypercolumn;
  a.winners[at] = own.minicolumn[0];
  a.activity[at] = own;
}

}  // namespace

const Kernel<CompeteArguments> kCompeteKernel = compete;

}  // namespace ocellus::cuda
