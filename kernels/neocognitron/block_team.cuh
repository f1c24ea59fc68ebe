// The threads of a block as a team (neocognitron/team.h).
#pragma once

#include <cuda_pipeline.h>

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

  /// The part of [first, last) of a warp, which has neighboring elements.
  struct Range {
    int begin;
    int end;
  };
  __device__ static Range squad_range(int first, int last) {
    const int each = (last - first + kThreads - 1) / kThreads * kWarp;
    const int begin = first + squad() * each;
    return {begin, min(begin + each, last)};
  }

  template <typename Has, typename Use>
  __device__ int select(int count, const Has& has, const Use& use) const {
    // A bit of `own` is has(i).
    constexpr int kWarps = kThreads / kWarp;
    constexpr int kMost = kThreads * 32;
    __shared__ int of_warps[kWarps];
    int total = 0;
    OCELLUS_TEAM_LOOP
    for (int first = 0; first < count; first += kMost) {
      const Range range = squad_range(first, min(count, first + kMost));
      unsigned own = 0;
      OCELLUS_TEAM_LOOP
      for (int i = range.begin + lane(), bit = 0; i < range.end; i += kWarp, ++bit)
        own |= (has(i) ? 1u : 0u) << bit;
      const int found = combine_lanes(__popc(own), detail::Plus());
      if (lane() == 0) of_warps[squad()] = found;
      __syncthreads();
      const int until = scan_warp(lane() < kWarps ? of_warps[lane()] : 0);
      int before = total + __shfl_sync(kAllLanes, until, squad()) - found;
      total += __shfl_sync(kAllLanes, until, kWarps - 1);
      OCELLUS_TEAM_LOOP
      for (int at = range.begin; at < range.end; at += kWarp, own >>= 1) {
        const bool has_own = (own & 1u) != 0;
        const int of_squad = before;
        const int place = of_squad + lane_rank(has_own, before);
        if (at + lane() < range.end) use(at + lane(), has_own ? place : -1);
      }
      __syncthreads();
    }
    return total;
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

  /// Values are below kDistributed. `work` has kDistributeWork elements.
  static constexpr int kDistributed = 512;
  static constexpr int kDistributeWork = kThreads / kWarp * kDistributed / 2;
  template <typename Value, typename Use>
  __device__ void distribute(int count, int* begins, int* work, const Value& value,
                             const Use& use) const {
    // A warp counts the values of its i without atomic operations.
    static_assert(kDistributed <= kThreads);
    constexpr int kWarps = kThreads / kWarp;
    constexpr int kMost = 0xffff / kThreads * kThreads;  // counts have 16 bits
    auto* const counts = reinterpret_cast<std::uint16_t*>(work);
    std::uint16_t* const own = counts + squad() * kDistributed;
    OCELLUS_TEAM_LOOP
    for (int first = 0; first < count; first += kMost) {
      const Range range = squad_range(first, min(count, first + kMost));
      // Calls add(i, value, lanes before with the same value), and counts the values.
      const auto for_each = [&](const auto& add) {
        OCELLUS_TEAM_LOOP
        for (int at = range.begin; at < range.end; at += kWarp) {
          const int i = at + lane();
          const int of = i < range.end ? value(i) : -1;
          const unsigned same = __match_any_sync(kAllLanes, of);
          const int before = __popc(same & lanes_before());
          if (of >= 0) add(i, of, before);
          __syncwarp();
          if (of >= 0 && before == 0) own[of] = static_cast<std::uint16_t>(own[of] + __popc(same));
          __syncwarp();
        }
      };
      OCELLUS_TEAM_LOOP
      for (int v = lane(); v < kDistributed; v += kWarp) own[v] = 0;
      __syncwarp();
      for_each([](int, int, int) {});
      __syncthreads();
      // Those of the warps before.
      int sum = 0;
      if (index() < kDistributed) {
        for (int w = 0; w < kWarps; ++w) {
          std::uint16_t& of_warp = counts[w * kDistributed + index()];
          const int of = of_warp;
          of_warp = static_cast<std::uint16_t>(sum);
          sum += of;
        }
      }
      __syncthreads();
      for_each([&](int i, int of, int before) { use(i, begins[of] + own[of] + before); });
      __syncthreads();
      if (sum > 0) begins[index()] += sum;
      __syncthreads();
    }
  }

  /// Copies elements to shared memory. Both arrays are aligned to 16 bytes. Needs a barrier behind.
  template <typename T>
  __device__ void copy_near(T* to, const T* from, int count) const {
    constexpr int kPiece = 16;
    const auto bytes = count * static_cast<int>(sizeof(T));
    auto* const to_bytes = reinterpret_cast<char*>(to);
    const auto* const from_bytes = reinterpret_cast<const char*>(from);
    const int whole = bytes / kPiece * kPiece;
    OCELLUS_TEAM_LOOP
    for (int at = index() * kPiece; at < whole; at += kThreads * kPiece)
      __pipeline_memcpy_async(to_bytes + at, from_bytes + at, kPiece);
    static_assert(sizeof(T) % sizeof(int) == 0);
    const int rest = whole + index() * static_cast<int>(sizeof(int));
    if (rest < bytes) __pipeline_memcpy_async(to_bytes + rest, from_bytes + rest, sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  __device__ static int squad() { return index() / kWarp; }
  __device__ static int squads() { return kThreads / kWarp; }
  __device__ static int lane() { return index() % kWarp; }
  __device__ static int lanes() { return kWarp; }
  template <typename T, typename Combine>
  __device__ static T combine_lanes(T value, const Combine& combine) {
    int words[sizeof(T) / sizeof(int)];
    static_assert(sizeof(words) == sizeof(T));
    OCELLUS_TEAM_LOOP
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
  OCELLUS_TEAM_CALL static void lower(int& to, int value) { atomicMin(&to, value); }
  OCELLUS_TEAM_CALL static int exchange_lower(int& to, int value) { return atomicMin(&to, value); }
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
