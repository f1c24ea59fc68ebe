// The update of a row class, in registers.
//
// The changes in a row depend only on the states of this row and, with swaps, on the next row. A
// warp therefore updates a piece of a row in registers. Each lane holds S neighboring cells, where
// S is the spacing of the colors. For each color, a flip can change the result one lane to its
// left. The results of the last lanes of a piece are thus invalid, and the next piece computes
// these cells again.
#pragma once

#include "kernels/halftone/band_flips.cuh"

namespace ocellus::cuda {
namespace {

/// Number of lanes of a piece whose results are valid.
template <int S>
constexpr int kUseful = 32 - (S - 1);

template <int S, int R, StatePlace kPlace>
__device__ int pieces_of(Band<R, kPlace>& band) {
  return (band.width + kUseful<S> * S - 1) / (kUseful<S> * S);
}

/// Loads the states of S cells, starting at column x. States outside the image are 0, but undefined
/// between the last column of the image and the end of its group.
template <int S, int R, StatePlace kPlace>
__device__ void load_states(Band<R, kPlace>& band, int row, int x, std::int32_t (&state)[S]) {
  constexpr int kPieces = S / 2 + S % 2;
  const std::uint32_t* const from = band.states(row) + (x >> 1);
  std::int32_t both[2 * kPieces];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const std::uint32_t word = x + 2 * i < band.width + 1 ? from[i] : 0;
    both[2 * i] = low_of(word);
    both[2 * i + 1] = high_of(word);
  }
  const bool odd = S % 2 != 0 && (x & 1) != 0;
#pragma unroll
  for (int q = 0; q < S; ++q)
    state[q] = S % 2 != 0 && odd ? both[q + 1 < 2 * kPieces ? q + 1 : q] : both[q];
}

/// Updates the outputs of a piece, color by color.
template <int S, int R, StatePlace kPlace>
__device__ void update_piece(Band<R, kPlace>& band, int row, int first) {
  const int x = first + band.lane * S;
  std::int32_t state[S];
  std::uint32_t bits = 0;
  std::uint32_t wanted = 0;
  std::uint32_t valid = 0;
  if (x < band.width) {
    const std::uint32_t* const output = band.outputs(row) + x / 32 + 1;
    bits = __funnelshift_r(output[0], output[1], x % 32);
    valid = band.width - x >= S ? (1u << S) - 1 : (1u << (band.width - x)) - 1;
  }
  load_states<S>(band, row, x, state);
#pragma unroll
  for (int q = 0; q < S; ++q) wanted |= (state[q] >= 0 ? 1u : 0u) << q;
  if (__any_sync(kFull, ((wanted ^ bits) & valid) != 0) == 0) return;
  std::uint32_t flipped = 0;
#pragma unroll
  for (int q = 0; q < S; ++q) {
    const bool one = (bits >> q & 1) != 0;
    const bool flips_now = (valid >> q & 1) != 0 && (state[q] >= 0) != one;
    const std::int32_t change = flips_now ? (one ? -2 : 2) : 0;
    if (flips_now) flipped |= 1u << q;
#pragma unroll
    for (int t = q + 1; t < S; ++t)
      if (t - q <= R) state[t] += change * band.weight_a(q - t, 0);
    if (S + q - (S - 1) <= R) {
      const std::int32_t right = __shfl_down_sync(kFull, change, 1);
#pragma unroll
      for (int t = q + 1; t < S; ++t)
        if (S + q - t <= R) state[t] += right * band.weight_a(S + q - t, 0);
    }
  }
  if (band.lane >= kUseful<S>) flipped = 0;
  if (flipped != 0) {
    record_flips(band, row, x, flipped, bits);
    atomicAdd(&band.count(), static_cast<unsigned>(__popc(flipped)));
  }
}

/// Swaps cells of a piece with their right or lower neighbors, color by color.
template <int S, int R, StatePlace kPlace>
__device__ void swap_piece(Band<R, kPlace>& band, int row, int first) {
  const bool below = row + 1 < band.height;
  const int x = first + band.lane * S;
  std::int32_t upper[S];
  std::int32_t lower[S];
  std::uint32_t upper_bits = 0;
  std::uint32_t lower_bits = 0;
  if (x < band.width) {
    const std::uint32_t* const output = band.outputs(row) + x / 32 + 1;
    upper_bits = __funnelshift_r(output[0], output[1], x % 32);
    if (below)
      lower_bits =
          __funnelshift_r(output[band.at.word_stride], output[band.at.word_stride + 1], x % 32);
  }
  load_states<S>(band, row, x, upper);
  load_states<S>(band, below ? row + 1 : row, x, lower);
  // The outputs before the changes of this lane.
  std::uint32_t upper_before = upper_bits;
  const std::uint32_t lower_before = lower_bits;
  const std::int32_t center = 2 * band.weight_a(0, 0);
  const std::int32_t right_bonus = center - 2 * band.weight_a(1, 0);
  const std::int32_t below_bonus = center - 2 * band.weight_a(0, 1);
  std::uint32_t upper_flips = 0;
  std::uint32_t lower_flips = 0;
  unsigned swaps = 0;
#pragma unroll
  for (int q = 0; q < S; ++q) {
    const bool one = (upper_bits >> q & 1) != 0;
    std::int32_t right_state;
    bool right_one;
    if (q < S - 1) {
      right_state = upper[q + 1];
      right_one = (upper_bits >> (q + 1) & 1) != 0;
    } else {
      right_state = __shfl_down_sync(kFull, upper[0], 1);
      right_one = __shfl_down_sync(kFull, upper_bits & 1, 1) != 0;
    }
    const bool below_one = (lower_bits >> q & 1) != 0;
    std::int32_t right_gain = 0;
    std::int32_t below_gain = 0;
    if (x + q + 1 < band.width && right_one != one)
      right_gain = (one ? right_state - upper[q] : upper[q] - right_state) + right_bonus;
    if (below && x + q < band.width && below_one != one)
      below_gain = (one ? lower[q] - upper[q] : upper[q] - lower[q]) + below_bonus;
    int move = 0;
    if (right_gain > 0 && right_gain >= below_gain) {
      move = 1;
    } else if (below_gain > 0) {
      move = 2;
    }
    if (__any_sync(kFull, move != 0) == 0) continue;
    if (move != 0 && band.lane < kUseful<S>) ++swaps;
    // The change of this cell: the sign is that of the output's change, the magnitude is the move.
    // The partner's change is the opposite.
    const int change = move == 0 ? 0 : one ? -move : move;
    const int left_change = __shfl_up_sync(kFull, change, 1);
    const int right_change = __shfl_down_sync(kFull, change, 1);
    // Update only the states that later colors read. These are the states of the cells after q, and
    // that of the first cell, the right neighbor of the previous lane's last cell.
#pragma unroll
    for (int from_lane = -1; from_lane <= 1; ++from_lane) {
      int source = from_lane == 0 ? change : from_lane < 0 ? left_change : right_change;
      if (from_lane < 0 && band.lane == 0) source = 0;
      if (from_lane > 0 && band.lane == 31) source = 0;
      const bool to_right = source == 1 || source == -1;
      const std::int32_t amount = source == 0 ? 0 : source > 0 ? 2 : -2;
      const std::int32_t right = to_right ? amount : 0;
      const std::int32_t down = to_right ? 0 : amount;
#pragma unroll
      for (int t = 0; t < S; ++t) {
        const int d = t - (q + from_lane * S);
        const bool first_cell = t == 0 && q < S - 1;
        if (d < -R || d > R + 1 || !(t > q || first_cell)) continue;
        upper[t] += right * band.a.swap[0][0][d + R] + down * band.a.swap[1][0][d + R];
        if (t > q) lower[t] += right * band.a.swap[0][1][d + R] + down * band.a.swap[1][1][d + R];
      }
    }
    std::uint32_t flipped = 0;
    if (move != 0) flipped = move == 1 ? 3u << q : 1u << q;
    if (move == 2) {
      lower_bits ^= 1u << q;
      lower_flips ^= 1u << q;
    }
    upper_bits ^= flipped & ((1u << S) - 1);
    upper_flips ^= flipped;
    if (q == S - 1 && move == 1) upper_before = (upper_before & ~(1u << S)) | (one ? 0 : 1u << S);
    if (q == S - 1 && band.lane > 0 && (left_change == 1 || left_change == -1)) upper_bits ^= 1u;
  }
  if (band.lane < kUseful<S>) {
    record_flips(band, row, x, upper_flips, upper_before);
    if (below) record_flips(band, row + 1, x, lower_flips, lower_before);
    if (swaps != 0) atomicAdd(&band.count(), 2 * swaps);
  }
}

/// A factor that replaces divisions by the number of pieces of a row.
template <int R, StatePlace kPlace>
__device__ unsigned inverse_of_pieces(Band<R, kPlace>& band, int spacing, bool swaps) {
  const int pieces = swaps || spacing != R + 1 ? pieces_of<R + 2>(band) : pieces_of<R + 1>(band);
  return kFull / static_cast<unsigned>(pieces) + 1;
}

/// Updates `rows` rows, S apart, starting at `first`. Only pieces with a state that has changed
/// since turn `since` are updated, or all pieces if `since` is negative.
template <int S, bool kSwaps, int R, StatePlace kPlace>
__device__ void update_rows(Band<R, kPlace>& band, int first, int rows, int since,
                            unsigned inverse) {
  constexpr int kCells = kUseful<S> * S;
  const int pieces = pieces_of<S>(band);
  // Each lane checks one piece. The warp then updates the pieces that have changed.
  for (int begins = 0; begins < rows * pieces; begins += 32 * kWarps) {
    const int item = begins + band.lane * kWarps + band.warp;
    const int index =
        pieces == 1 ? item : static_cast<int>(__umulhi(static_cast<unsigned>(item), inverse));
    const int row = first + index * S;
    const int column = (item - index * pieces) * kCells;
    bool changed = item < rows * pieces;
    if (changed && since >= 0)
      changed =
          has_changed(band, row, column, 32 * S + 1, since) ||
          (kSwaps && row + 1 < band.height && has_changed(band, row + 1, column, 32 * S, since));
    for (unsigned left = __ballot_sync(kFull, changed); left != 0; left &= left - 1) {
      const int from = __ffs(static_cast<int>(left)) - 1;
      const int its_row = __shfl_sync(kFull, row, from);
      const int its_column = __shfl_sync(kFull, column, from);
      if constexpr (kSwaps) {
        swap_piece<S>(band, its_row, its_column);
      } else {
        update_piece<S>(band, its_row, its_column);
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::cuda
