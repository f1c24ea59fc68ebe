// Messages between bands: the flips of rows near the border of a band.
//
// A message contains the flips of one row in one sweep as bits. Each word of 64 bits has 32 flips
// in its lower half and the number of the sweep in its upper half. A receiver can thus recognize
// each valid word, without locks or flags. Even and odd sweeps have separate buffers.
#pragma once

#include "kernels/halftone/band_flips.cuh"

namespace ocellus::cuda {
namespace {

// Tests run the kernel of one band on the host (tests/kernels/simt.h), which exchanges no messages.
__device__ inline std::uint64_t load_message(const unsigned long long* at) {
#if __CUDA_ARCH__ > 0
  std::uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
#else
  return *at;
#endif
}
__device__ inline ulonglong2 load_message(const ulonglong2* at) {
#if __CUDA_ARCH__ > 0
  ulonglong2 value;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.x), "=l"(value.y)
               : "l"(at)
               : "memory");
  return value;
#else
  return *at;
#endif
}
__device__ inline void store_message(ulonglong2* at, std::uint32_t sweep, std::uint32_t first,
                                     std::uint32_t second) {
  const std::uint64_t number = static_cast<std::uint64_t>(sweep) << 32;
#if __CUDA_ARCH__ > 0
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(number | first),
               "l"(number | second)
               : "memory");
#else
  *at = {number | first, number | second};
#endif
}

/// The message of a row. A swap changes two rows: part 0 is the row itself, part 1 the row below.
template <int R, StatePlace kPlace>
__device__ ulonglong2* message_of(Band<R, kPlace>& band, std::uint32_t sweep, int row, int part) {
  const unsigned slot =
      (sweep & 1) * static_cast<unsigned>(band.height) + static_cast<unsigned>(row);
  return reinterpret_cast<ulonglong2*>(band.a.messages) +
         (slot * 2 + static_cast<unsigned>(part)) *
             static_cast<unsigned>(message_pairs(band.width));
}

/// Publishes an updated row class: `rows` rows, `step` apart, starting at `first`. Also applies the
/// flips to the band's outputs and clears them. If `fresh` is false, no row has flips. With
/// `crowd`, the flips are also added to the bit planes.
template <int R, StatePlace kPlace>
__device__ void send_flips(Band<R, kPlace>& band, int first, int step, int rows, bool swap,
                           bool fresh, bool crowd, std::uint32_t sweep) {
  const int shift = swap ? 1 : 0;
  for (int item = band.warp - kCounter - 1; item < rows << shift; item += kSenders) {
    const int part = swap ? item & 1 : 0;
    const int row = first + (item >> shift) * step;
    const bool near = row < band.begin + band.a.reach || row >= band.end - band.a.reach;
    if (!near && !fresh) continue;
    ulonglong2* const to = message_of(band, sweep, row, part);
    std::uint32_t* const flipped = band.flips(row + part) + 1;
#pragma unroll 1
    for (int word = 2 * band.lane; word < band.words; word += 64) {
      std::uint32_t bits[2] = {0, 0};
      std::uint32_t ones[2] = {0, 0};
      if (fresh) {
        bits[0] = flipped[word];
        bits[1] = flipped[word + 1];  // rows have one word after the image
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (bits[i] == 0) continue;
        flipped[word + i] = 0;
        ones[i] = atomicXor(band.outputs(row + part) + word + i + 1, bits[i]) ^ bits[i];
      }
      if (near) {
        // After a swap, the neighbor may flip the same cells back within this turn. Its answer must
        // find the outputs of now.
        __threadfence_block();
        store_message(to + word / 2, sweep, bits[0], bits[1]);
      }
      if (!crowd) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (bits[i] != 0) add_many(band, row + part, word + i, bits[i], ones[i]);
    }
  }
}

/// Waits until a neighbor's row has been updated in this sweep, and applies its flips. The neighbor
/// skips the present sweep if this band does.
template <int R, StatePlace kPlace>
__device__ void receive_flips(Band<R, kPlace>& band, int row, std::uint32_t sweep, int parts,
                              std::uint32_t present) {
  std::uint32_t* const few =
      reinterpret_cast<std::uint32_t*>(band.shared + band.at.received) + band.warp * kFewInRow;
#pragma unroll 1
  for (int part = 0; part < parts; ++part) {
    const ulonglong2* const from = message_of(band, sweep, row, part);
#pragma unroll 1
    for (int first = 0; first < band.words; first += 64) {
      const int word = first + 2 * band.lane;
      std::uint32_t bits[2] = {0, 0};
      if (word < band.words) {
        ulonglong2 pair = load_message(from + word / 2);
        while (static_cast<std::uint32_t>(pair.x >> 32) != sweep ||
               static_cast<std::uint32_t>(pair.y >> 32) != sweep) {
          if (sweep == present && atomicOr(&band.stop(), 0) != 0) break;
          pair = load_message(from + word / 2);
        }
        if (static_cast<std::uint32_t>(pair.x >> 32) == sweep) {
          bits[0] = static_cast<std::uint32_t>(pair.x);
          bits[1] = static_cast<std::uint32_t>(pair.y);
        }
      }
      if (__any_sync(kFull, (bits[0] | bits[1]) != 0) == 0) continue;
      std::uint32_t ones[2] = {0, 0};
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (bits[i] != 0)
          ones[i] = atomicXor(band.outputs(row + part) + word + i + 1, bits[i]) ^ bits[i];
      // A prefix sum gives the position of this lane's flips in the list of all lanes' flips.
      const int mine = __popc(bits[0]) + __popc(bits[1]);
      int before = mine;
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        const int left = __shfl_up_sync(kFull, before, d);
        if (band.lane >= d) before += left;
      }
      const int count = __shfl_sync(kFull, before, 31);
      before -= mine;
      std::uint32_t* to = few;
      if (count > kFewInRow) {
        int begins = 0;
        if (band.lane == 0) begins = atomicAdd(&band.left(), count);
        begins = __shfl_sync(kFull, begins, 0);
        if (begins + count > kListed) {
          if (band.lane == 0) atomicMin(&band.left_end(), begins);
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (bits[i] != 0) add_many(band, row + part, word + i, bits[i], ones[i]);
          continue;
        }
        to = band.left_list() + begins;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        for (; bits[i] != 0; bits[i] &= bits[i] - 1) {
          const int bit = __ffs(static_cast<int>(bits[i])) - 1;
          to[before++] = flip_of(32 * (word + i) + bit, row + part - band.top, ones[i] >> bit & 1);
        }
      }
      if (to != few) continue;
      __syncwarp();
      apply_list(band, few, count, band.lane, 32);
      __syncwarp();
    }
  }
}

}  // namespace
}  // namespace ocellus::cuda
