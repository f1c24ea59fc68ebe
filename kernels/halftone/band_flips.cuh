// Records flips of cells, and adds their weights to the states around them.
//
// A flip is encoded in one word: the column, the row counted from `top`, and the new output in bit
// 31. If a turn has few flips, they are kept in lists, and a lane adds each flip to one row of
// states. If it has many, they are kept in bit planes, and a lane adds all flips near a group to
// that group.
#pragma once

#include "kernels/halftone/band.cuh"

namespace ocellus::cuda {
namespace {

/// Number of words of a row of states that a flip changes.
template <int R>
constexpr int kPairs = R + 1;
/// Distance between these weights in shared memory, in words.
template <int R>
constexpr int kPairStride = (kPairs<R> + 3) / 4 * 4;

/// Weights of a flip in an even or an odd column.
template <int R, StatePlace kPlace>
__device__ std::uint32_t* row_weights_of(Band<R, kPlace>& band, int odd, int dy) {
  return reinterpret_cast<std::uint32_t*>(band.shared + band.at.row_weights) +
         (odd * kSide<R> + dy + R) * kPairStride<R>;
}
/// Weights that a flip adds to a group: one slice for each column that the flip can have.
template <int R, StatePlace kPlace>
__device__ uint4* slices_of(Band<R, kPlace>& band, int positive, int dy) {
  return reinterpret_cast<uint4*>(band.shared + band.at.slices) +
         (positive * kSide<R> + dy + R) * kAround;
}

/// Computes the weights for `apply_many`: for each column around a group, the 8 weights of a flip.
template <int R, StatePlace kPlace>
__device__ void make_slices(Band<R, kPlace>& band) {
  for (int i = band.tid; i < 2 * kSide<R> * kAround * kGroup / 2; i += kBandThreads) {
    const int c = i % (kGroup / 2) * 2;
    const int o = i / (kGroup / 2) % kAround;
    const int dy = i / (kGroup / 2 * kAround) % kSide<R>;
    const int change = i / (kGroup / 2 * kAround * kSide<R>) != 0 ? 2 : -2;
    const auto weight = [&](int dx) {
      return dx >= -R && dx <= R ? change * band.a.a[dy * kSide<R> + dx + R] : 0;
    };
    const int dx = o - kMaxTemplateRadius - c;
    reinterpret_cast<std::uint32_t*>(slices_of(band, change > 0, dy - R) + o)[c / 2] =
        pack(weight(dx), weight(dx - 1));
  }
}

/// Computes the weights for `apply_flip`: for each row around a flip, kPairs<R> words.
template <int R, StatePlace kPlace>
__device__ void make_row_weights(Band<R, kPlace>& band) {
  for (int i = band.tid; i < 2 * kSide<R> * kPairs<R>; i += kBandThreads) {
    const int odd = i / (kSide<R> * kPairs<R>);
    const int dy = i / kPairs<R> % kSide<R> - R;  // from the flip to the row of states
    // The first word contains the column R before the flip.
    const int dx = 2 * (i % kPairs<R>)-R - ((R + odd) & 1);
    const auto weight = [&](int at_dx) {
      return at_dx >= -R && at_dx <= R ? 2 * band.a.a[(R - dy) * kSide<R> + R - at_dx] : 0;
    };
    row_weights_of(band, odd, dy)[i % kPairs<R>] = pack(weight(dx), weight(dx + 1));
  }
}

__device__ inline std::uint32_t flip_of(int x, int index, std::uint32_t one) {
  return static_cast<unsigned>(x) | static_cast<unsigned>(index) << 15 | one << 31;
}

/// Records the flips of a lane's cells. `ones` are the outputs before the flips.
template <int R, StatePlace kPlace>
__device__ void record_flips(Band<R, kPlace>& band, int row, int x, std::uint32_t bits,
                             std::uint32_t ones) {
  if (bits == 0) return;
  std::uint32_t* const to = band.flips(row) + x / 32 + 1;
  atomicXor(to, bits << x % 32);
  const std::uint32_t over = x % 32 == 0 ? 0 : bits >> (32 - x % 32);
  if (over != 0) atomicXor(to + 1, over);
  int at_entry = atomicAdd(&band.listed(band.now), __popc(bits));
  for (; bits != 0 && at_entry < kListed; bits &= bits - 1, ++at_entry) {
    const int bit = __ffs(static_cast<int>(bits)) - 1;
    band.list()[at_entry] = flip_of(x + bit, row - band.top, ~ones >> bit & 1);
  }
}

/// True if a state in these columns has changed since turn `since`. There must be fewer columns
/// than share a stamp.
template <int R, StatePlace kPlace>
__device__ bool has_changed(Band<R, kPlace>& band, int row, int x, int columns, int since) {
  const int* const stamp = band.stamps(row);
  const int first = min(x / kStampColumns, band.at.blocks - 1);
  const int last = min((x + columns - 1) / kStampColumns, band.at.blocks - 1);
  return max(stamp[first], stamp[last]) > since;
}

/// Adds a flip's weights to the states of the row `dy` below the flip.
template <int R, StatePlace kPlace>
__device__ void apply_flip(Band<R, kPlace>& band, std::uint32_t flip, int dy) {
  const int x = static_cast<int>(flip & 0x7fff);
  const int row = static_cast<int>(flip >> 15 & 0xffff) + band.top + dy;
  if (row < band.begin || row >= band.begin + band.x_rows) return;
  const std::uint32_t* const weight = row_weights_of(band, x & 1, dy);
  std::uint32_t* const to = band.states(row) + ((x - R) >> 1);
#pragma unroll
  for (int p = 0; p < kPairs<R>; ++p)
    atomicAdd(to + p, flip >> 31 != 0 ? weight[p] : 0u - weight[p]);
  int* const stamp = band.stamps(row);
  stamp[max(x - R, 0) / kStampColumns] = band.turn;
  stamp[min(x + R, band.width - 1) / kStampColumns] = band.turn;
}

/// Applies `count` flips of a list. `step` lanes share the work; `index` is the index of this lane.
template <int R, StatePlace kPlace>
__device__ void apply_list(Band<R, kPlace>& band, const std::uint32_t* flipped, int count,
                           int index, int step) {
#pragma unroll 2
  for (int i = index; i < count * kSide<R>; i += step)
    apply_flip(band, flipped[i / kSide<R>], i % kSide<R> - R);
}

/// Adds the flips of one word to the bit planes. `ones` are the new outputs.
template <int R, StatePlace kPlace>
__device__ void add_many(Band<R, kPlace>& band, int row, int word, std::uint32_t bits,
                         std::uint32_t ones) {
  std::uint32_t again = atomicOr(band.many(0, row) + word + 1, bits & ~ones) & bits & ~ones;
  again |= atomicOr(band.many(1, row) + word + 1, bits & ones) & bits & ones;
  // The planes can hold only one flip of a cell, so a second one is applied immediately.
  for (; again != 0; again &= again - 1) {
    const int bit = __ffs(static_cast<int>(again)) - 1;
    for (int dy = -R; dy <= R; ++dy)
      apply_flip(band, flip_of(32 * word + bit, row - band.top, ones >> bit & 1), dy);
  }
  atomicOr(band.pending() + (row - band.top) / 32, 1u << (row - band.top) % 32);
  band.crowded() = 1;
}

/// Applies the flips in the bit planes.
template <int R, StatePlace kPlace>
__device__ void apply_many(Band<R, kPlace>& band) {
  const int groups = padded(band.width) / kGroup;
  for (int item = band.warp; item < band.x_rows * band.at.blocks; item += kWarps) {
    const int row = band.begin + item / band.at.blocks;
    const int block = item % band.at.blocks;
    const int group = 32 * block + band.lane;
    const int index = row - R - band.top;
    unsigned rows =
        __funnelshift_r(band.pending()[index / 32], band.pending()[index / 32 + 1], index % 32) &
        ((1u << kSide<R>)-1);
    if (rows == 0) continue;
    bool changed = false;
    if (group < groups) {
      uint4 sums;
      uint4* const to = reinterpret_cast<uint4*>(band.states(row)) + group;
      // The first bit is that of the column 4 before the group.
      const int first = group * kGroup + 32 - kMaxTemplateRadius;
      for (; rows != 0; rows &= rows - 1) {
        const int dy = __ffs(static_cast<int>(rows)) - 1 - R;
#pragma unroll
        for (int to_one = 0; to_one < 2; ++to_one) {
          const std::uint32_t* const flipped = band.many(to_one, row + dy) + first / 32;
          constexpr unsigned kSeen = ((1u << (kGroup + 2 * R)) - 1) << (kMaxTemplateRadius - R);
          unsigned bits = __funnelshift_r(flipped[0], flipped[1], first % 32) & kSeen;
          if (bits == 0) continue;
          if (!changed) sums = *to;
          changed = true;
          for (; bits != 0; bits &= bits - 1) {
            const uint4 slice = slices_of(band, to_one, dy)[__ffs(static_cast<int>(bits)) - 1];
            sums.x += slice.x;
            sums.y += slice.y;
            sums.z += slice.z;
            sums.w += slice.w;
          }
        }
      }
      if (changed) *to = sums;
    }
    if (__any_sync(kFull, changed) && band.lane == 0) band.stamps(row)[block] = band.turn;
  }
}

/// Clears the bit planes.
template <int R, StatePlace kPlace>
__device__ void clear_many(Band<R, kPlace>& band) {
  for (int i = band.tid; i < band.at.many_words(); i += kBandThreads) band.many()[i] = 0;
  if (band.tid < band.at.pending_words()) band.pending()[band.tid] = 0;
  if (band.tid == 0) band.crowded() = 0;
}

}  // namespace
}  // namespace ocellus::cuda
