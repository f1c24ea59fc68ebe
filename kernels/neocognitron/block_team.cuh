// The threads of a block as a team (neocognitron/team.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/core/block.cuh"

namespace ocellus::cuda {

/// The sum of the values of the lanes up to the own one. All lanes of the warp must call it.
__device__ inline int scan_warp(int value) {
  for (unsigned distance = 1; distance < kWarp; distance *= 2) {
    const int before = __shfl_up_sync(kAllLanes, value, distance);
    if (threadIdx.x % kWarp >= distance) value += before;
  }
  return value;
}

template <int kThreads>
struct BlockTeam {
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return kThreads; }
  __device__ void barrier() const { __syncthreads(); }
  __device__ bool any(bool value) const { return __syncthreads_or(value ? 1 : 0) != 0; }

  __device__ int scan(int* values, int count) const {
    constexpr int kWarps = kThreads / kWarp;
    static_assert(kWarps <= kWarp);
    __shared__ int of_warps[kWarps];
    const int lane = index() % kWarp;
    const int warp = index() / kWarp;
    int sum = 0;
    __syncthreads();
    for (int first = 0; first < count; first += kThreads) {
      const int i = first + index();
      const int own = i < count ? values[i] : 0;
      const int until = scan_warp(own);
      if (lane == kWarp - 1) of_warps[warp] = until;
      __syncthreads();
      const int warps = scan_warp(lane < kWarps ? of_warps[lane] : 0);
      const int until_warp = __shfl_sync(kAllLanes, warps, warp);
      const int total = __shfl_sync(kAllLanes, warps, kWarps - 1);
      const int of_warp = __shfl_sync(kAllLanes, until, kWarp - 1);
      if (i < count) values[i] = sum + until_warp - of_warp + until - own;
      sum += total;
      __syncthreads();
    }
    return sum;
  }

  __device__ void sort(std::uint64_t* keys, int count) const {
    // Lanes that compare a key with the others.
    int lanes = 1;
    while (lanes < kWarp && 2 * lanes * count <= kThreads) lanes *= 2;
    const int key = index() / lanes;
    __syncthreads();
    const std::uint64_t own = key < count ? keys[key] : 0;
    int place = 0;
    for (int i = index() % lanes; key < count && i < count; i += lanes)
      place += keys[i] < own ? 1 : 0;
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      place += __shfl_xor_sync(kAllLanes, place, offset);
    __syncthreads();
    if (key < count && index() % lanes == 0) keys[place] = own;
    __syncthreads();
  }

  /// Values are below kRankValues; those below 0 have no rank. `work` has kRankWork elements.
  static constexpr int kRankValues = 512;
  static constexpr int kRankWork = kThreads / kWarp * kRankValues / 2;
  __device__ int rank(int value, int* work) const {
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

  __device__ int squad() const { return index() / kWarp; }
  __device__ int squads() const { return kThreads / kWarp; }
  __device__ int lane() const { return index() % kWarp; }
  __device__ int lanes() const { return kWarp; }
  template <typename T, typename Combine>
  __device__ T combine_lanes(T value, const Combine& combine) const {
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

  __device__ void add(int& to, int value) const { atomicAdd(&to, value); }
  __device__ void add(std::int64_t& to, std::int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(value));
  }
  __device__ int lower(int& to, int value) const { return atomicMin(&to, value); }
  __device__ void raise(int& to, int value) const { atomicMax(&to, value); }
  __device__ int read(const int& from) const { return static_cast<const volatile int&>(from); }
};

}  // namespace ocellus::cuda
