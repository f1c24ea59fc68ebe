// The threads of a block as a team (neocognitron/team.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/core/block.cuh"
#include "neocognitron/team.h"

namespace ocellus::cuda {

/// The sum of the values of the lanes up to the own one. All lanes of the warp must call it.
__device__ inline int scan_warp(int value) {
  for (unsigned distance = 1; distance < kWarp; distance *= 2) {
    const int before = __shfl_up_sync(kAllLanes, value, distance);
    if (threadIdx.x % kWarp >= distance) value += before;
  }
  return value;
}

// Functions that are not inlined are static, so that objects with a team stay in registers.
template <int kThreads>
struct BlockTeam {
  __device__ static int index() { return static_cast<int>(threadIdx.x); }
  __device__ static int size() { return kThreads; }
  __device__ void barrier() const { __syncthreads(); }
  __device__ bool any(bool value) const { return __syncthreads_or(value ? 1 : 0) != 0; }

  OCELLUS_TEAM_CALL static int scan(int* values, int count) {
    constexpr int kWarps = kThreads / kWarp;
    static_assert(kWarps <= kWarp);
    __shared__ int of_warps[kWarps];
    const int lane = index() % kWarp;
    const int warp = index() / kWarp;
    const int each = (count + kThreads - 1) / kThreads;
    const int begin = min(index() * each, count);
    const int end = min(begin + each, count);
    __syncthreads();
    int own = 0;
    OCELLUS_TEAM_LOOP
    for (int i = begin; i < end; ++i) own += values[i];
    const int until = scan_warp(own);
    if (lane == kWarp - 1) of_warps[warp] = until;
    __syncthreads();
    const int warps = scan_warp(lane < kWarps ? of_warps[lane] : 0);
    int sum = until - own + __shfl_sync(kAllLanes, warps, warp) - of_warps[warp];
    OCELLUS_TEAM_LOOP
    for (int i = begin; i < end; ++i) {
      const int value = values[i];
      values[i] = sum;
      sum += value;
    }
    __syncthreads();
    return __shfl_sync(kAllLanes, warps, kWarps - 1);
  }

  template <typename Use>
  __device__ void sort(const std::uint64_t* keys, int count, const Use& use) const {
    // Lanes that compare a key with the others.
    int lanes = 1;
    while (lanes < kWarp && 2 * lanes * count <= kThreads) lanes *= 2;
    const int key = index() / lanes;
    __syncthreads();
    const std::uint64_t own = key < count ? keys[key] : 0;
    int place = 0;
    OCELLUS_TEAM_LOOP
    for (int i = index() % lanes; key < count && i < count; i += lanes)
      place += keys[i] < own ? 1 : 0;
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      place += __shfl_xor_sync(kAllLanes, place, offset);
    if (key < count && index() % lanes == 0) use(place, own);
    __syncthreads();
  }

  /// Values are below kRankValues; those below 0 have no rank. `work` has kRankWork elements.
  static constexpr int kRankValues = 512;
  static constexpr int kRankWork = kThreads / kWarp * kRankValues / 2;
  OCELLUS_TEAM_CALL static int rank(int value, int* work) {
    // How often a warp has each value.
    auto* const counts = reinterpret_cast<std::uint16_t*>(work);
    for (int i = index(); i < kRankWork; i += kThreads) work[i] = 0;
    __syncthreads();
    const unsigned same = __match_any_sync(kAllLanes, value);
    const int before = __popc(same & lanes_before());
    const int warp = index() / kWarp;
    if (value >= 0 && before == 0)
      counts[warp * kRankValues + value] = static_cast<std::uint16_t>(__popc(same));
    __syncthreads();
    int rank = before;
    for (int w = 0; value >= 0 && w < warp; ++w) rank += counts[w * kRankValues + value];
    return rank;
  }

  __device__ static int squad() { return index() / kWarp; }
  __device__ static int squads() { return kThreads / kWarp; }
  __device__ static int lane() { return index() % kWarp; }
  __device__ static int lanes() { return kWarp; }
  template <typename T, typename Combine>
  __device__ static T combine_lanes(T value, const Combine& combine) {
    int words[sizeof(T) / sizeof(int)];
    static_assert(sizeof(words) == sizeof(T));
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      std::memcpy(words, &value, sizeof(T));
      for (int& word : words) word = __shfl_xor_sync(kAllLanes, word, offset);
      T other;
      std::memcpy(&other, words, sizeof(T));
      value = combine(value, other);
    }
    return value;
  }
  __device__ int lane_rank(bool value, int& sum) const {
    const unsigned set = __ballot_sync(kAllLanes, value);
    sum += __popc(set);
    return __popc(set & lanes_before());
  }

  OCELLUS_TEAM_CALL static void add(int& to, int value) { atomicAdd(&to, value); }
  OCELLUS_TEAM_CALL static void add(std::int64_t& to, std::int64_t value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(value));
  }
  OCELLUS_TEAM_CALL static int lower(int& to, int value) { return atomicMin(&to, value); }
  OCELLUS_TEAM_CALL static void raise(int& to, int value) { atomicMax(&to, value); }
  __device__ int read(const int& from) const { return static_cast<const volatile int&>(from); }

#if __CUDA_ARCH__ >= 800
  // One instruction.
  __device__ static int combine_lanes(int value, const detail::Plus&) {
    return __reduce_add_sync(kAllLanes, value);
  }
  __device__ static int combine_lanes(int value, const detail::Larger&) {
    return __reduce_max_sync(kAllLanes, value);
  }
#endif
};

}  // namespace ocellus::cuda
