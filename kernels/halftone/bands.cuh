// Two levels in colors: one kernel for all stages of a run.
//
// The states of all cells remain in shared memory, or in global memory if shared memory is too
// small. They have 16 bits each. The kernel keeps them up to date: a cell that flips adds its
// weights to the states of its neighbors.
//
// A row class consists of the rows that are a spacing apart. A sweep updates the row classes one
// after the other. Each class is updated in registers (band_update.cuh). Then the flips are added
// to the states around them (band_flips.cuh) and sent as messages to the bands above and below
// (band_messages.cuh). A band waits only for the rows of its neighbors that its next rows depend
// on.
//
// The count of changed cells is available two sweeps late. If it is 0, the stage ends. The sweeps
// since then have changed nothing either. All bands add up the counts, so they agree when the frame
// has made its last sweep. Band 0 reads whether the operator was stopped, and tells the others with
// its count.
#pragma once

#include "kernels/core/shared_memory.cuh"
#include "kernels/halftone/band_convolution.cuh"
#include "kernels/halftone/band_messages.cuh"
#include "kernels/halftone/band_update.cuh"

namespace ocellus::cuda {
namespace {

/// Values of Band::stop.
constexpr int kStageEnds = 1;
constexpr int kFrameEnds = 2;

// ---- outputs

/// Loads the outputs of all rows that the band reads, as bits.
template <int R, StatePlace kPlace>
__device__ void load_outputs(Band<R, kPlace>& band) {
  const int rows = band.end - band.begin + 2 * band.a.reach + 1;
  for (int i = band.tid; i < rows * band.words; i += kBandThreads) {
    const int row = band.top + i / band.words;
    const int word = i % band.words;
    if (row < 0 || row >= band.height) continue;
    const auto* from = reinterpret_cast<const uint4*>(band.a.cells.k + row * band.a.cells.pitch +
                                                      static_cast<std::int64_t>(word) * 32);
    std::uint32_t bits = 0;
    const uint4 low = from[0];
    const uint4 high = from[1];
    const std::uint32_t quads[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int q = 0; q < 8; ++q) bits |= ((quads[q] & 0x01010101u) * 0x10204080u >> 28) << (4 * q);
    // The bytes of the plane after the image are undefined.
    if (word == band.words - 1 && band.width % 32 != 0) bits &= (1u << band.width % 32) - 1;
    band.outputs(row)[word + 1] = bits;
  }
}

/// Writes the outputs of the band's own rows for the next run, for a warm start, and to the frame's
/// result.
template <int R, StatePlace kPlace>
__device__ void write_outputs(Band<R, kPlace>& band) {
  const BandArguments& a = band.a;
  const int rows = band.end - band.begin;
  const bool bad = *static_cast<volatile unsigned*>(&a.end.state->bad) != 0;
  const bool bytes = a.end.last && a.end.format == PixelFormat::kGray8;
  char* const out = a.end.last ? static_cast<char*>(a.end.frame->out[0]) : nullptr;
  const std::int64_t stride = a.end.last ? a.end.frame->out_stride[0] : 0;
  const bool aligned = (reinterpret_cast<std::uintptr_t>(out) | stride) % 16 == 0;
  const int pieces = (band.width + 15) / 16;
  const std::uint32_t darkest = detail::gray_of_level(0, 2, a.end.range, 257, true);
  const std::uint32_t span = detail::gray_of_level(1, 2, a.end.range, 257, true) - darkest;
  for (int i = band.tid; i < rows * pieces; i += kBandThreads) {
    const int row = band.begin + i / pieces;
    const int x = i % pieces * 16;
    const std::uint32_t bits = band.outputs(row)[x / 32 + 1] >> x % 32;
    const auto four = [&](int quad) {
      return ((bits >> 4 * quad & 15) * 0x00204081u) & 0x01010101u;
    };
    const uint4 k = make_uint4(four(0), four(1), four(2), four(3));
    if (!a.end.last) *reinterpret_cast<uint4*>(a.to + row * a.cells.pitch + x) = k;
    if (a.end.keep != nullptr && !bad)
      *reinterpret_cast<uint4*>(a.end.keep + row * a.cells.pitch + x) = k;
    if (!a.end.last) continue;
    if (bytes && aligned && x + 16 <= band.width) {
      const std::uint32_t black = a.end.white_is_one ? 0 : 0x01010101u;
      const auto gray = [&](std::uint32_t quad) {
        return bad ? 0u : darkest * 0x01010101u + (quad ^ black) * span;
      };
      *reinterpret_cast<uint4*>(out + row * stride + x) =
          make_uint4(gray(k.x), gray(k.y), gray(k.z), gray(k.w));
    } else {
      for (int c = 0; c < 16 && x + c < band.width; ++c)
        write_gray(a.end, x + c, row, static_cast<int>(bits >> c & 1), bad);
    }
  }
}

// ---- stages

/// Computes the states of the outputs that a run begins with.
template <int R, StatePlace kPlace>
__device__ void begin_states(Band<R, kPlace>& band) {
  band.clear();
  __syncthreads();
  if (band.tid == 0) band.left_end() = kListed;
  make_slices(band);
  make_row_weights(band);
  load_outputs(band);
  __syncthreads();
  if (band.a.fused) {
    sum_states<Sum::kFused>(band);
  } else {
    sum_states<Sum::kControl>(band);
    sum_states<Sum::kFeedback>(band);
  }
}

/// The sweeps of a run.
template <int R, StatePlace kPlace>
struct BandSweeps {
  Band<R, kPlace>& band;
  // Of the thread `counter` alone. In shared memory, because registers are of all threads.
  SweepCounter& c = band.sweep_counter();
  const bool counter = band.tid == 32 * kCounter;
  unsigned long long* const counts = band.a.shared->counts;
  const std::uint32_t base = *static_cast<volatile std::uint32_t*>(&band.a.shared->sweep);
  std::uint32_t sweep = base;
  // The neighbor's row that this warp receives, and the last sweep whose flips it has received.
  const int seen = band.warp < band.a.reach ? band.begin - band.a.reach + band.warp
                                            : band.end + band.warp - band.a.reach;
  const bool receives = band.warp < 2 * band.a.reach && seen >= 0 && seen < band.height;
  int seen_class = 0;  // of this row, in the stage; a division in each turn would delay the warp
  std::uint32_t had = base - 1;
  // The rows that were updated last and have not been sent yet.
  int sent_first = 0;
  int sent_step = 0;
  int sent_rows = 0;
  bool sent_swap = false;
  bool swapped = false;  // true if the previous stage swaps
  std::uint32_t stage_begin = base;

  __device__ void publish_count() {
    if (c.unpublished < 0) return;
    // Band 0 has cleared counters. Other bands must see this before they add to them.
    if (blockIdx.x == 0) __threadfence();
    atomicAdd(&counts[(sweep - 1) & 7],
              (1ull << kCountBits) + c.unpublished + (c.asked != 0 ? kStopBit : 0));
    // For the next sweep. A read over the bus takes a part of the time of a sweep, so most sweeps
    // do without.
    constexpr std::uint32_t kSweepsPerLook = 16;
    if (blockIdx.x == 0 && (sweep - base) % kSweepsPerLook == kSweepsPerLook - 1)
      c.asked = stop_word(band.a.end);
    c.unpublished = -1;
  }

  __device__ std::uint64_t wait_for_count(std::uint32_t which) const {
    std::uint64_t value;
    do {
      value = load_message(&counts[which & 7]);
    } while (value >> kCountBits != gridDim.x);
    return value;
  }

  /// Publishes the count of the previous sweep and reads that of the one before, which tells
  /// whether sweep `n` of the stage begins.
  __device__ void count_sweep(int n) {
    publish_count();
    c.begin(sweep, n == 0);
    if (static_cast<int>(sweep - base) >= 2) {
      const std::uint64_t value = wait_for_count(sweep - 2);
      const auto count = static_cast<std::uint32_t>(value);
      if (n >= 2 && count == 0) atomicExch(&band.stop(), kStageEnds);
      if ((value & kStopBit) != 0) c.stopping = true;
      // A stage that ended has already added this count.
      if (c.next == sweep - 2) c.add(count);
      if (blockIdx.x == 0) counts[(sweep + 4) & 7] = 0;
    }
    if (c.frame_ends(sweep)) atomicCAS(&band.stop(), 0, kFrameEnds);
  }

  /// Receives the flips of the neighbor's row up to the sweep `due`.
  __device__ void receive_until(std::uint32_t due, bool swaps) {
    while (static_cast<int>(due - had) > 0) {
      ++had;
      const bool two = static_cast<int>(had - stage_begin) >= 0 ? swaps : swapped;
      receive_flips(band, seen, had, two ? 2 : 1, sweep);
    }
  }

  /// Each warp does its task before the rows of class `p` are updated: `rows` rows from `first` on.
  /// `begun`: a class has been updated in this sweep.
  __device__ void exchange(const BandStage& stage, int n, int p, int first, int rows, bool begun) {
    ++band.turn;
    const int flipped = sent_step != 0 ? band.listed(band.now) : 0;
    if (band.warp > kCounter && sent_step != 0)
      send_flips(band, sent_first, sent_step, sent_rows, sent_swap, flipped != 0, flipped > kListed,
                 begun ? sweep : sweep - 1);
    if (flipped <= kListed) apply_list(band, band.list(), flipped, band.tid, kBandThreads);
    if (band.tid == 0) band.listed(band.now ^ 1) = 0;
    if (receives) {
      const int last = first + (rows - 1) * stage.spacing;
      const bool sees =
          band.warp < band.a.reach ? first - seen <= band.a.reach : seen - last <= band.a.reach;
      if (sees) receive_until(seen_class < p ? sweep : sweep - 1, stage.swap);
    } else if (counter && !begun) {
      count_sweep(n);
    }
    sent_step = 0;
  }

  /// Applies the flips that the receiving warps have left to all warps.
  __device__ void apply_left() {
    const int left_over = min(band.left(), band.left_end());
    const bool crowd = band.crowded() != 0;
    if (left_over == 0 && !crowd) return;
    apply_list(band, band.left_list(), left_over, band.tid, kBandThreads);
    if (crowd) {
      __syncthreads();
      apply_many(band);
    }
    __syncthreads();
    if (crowd) clear_many(band);
    if (band.tid == 0) {
      band.left() = 0;
      band.left_end() = kListed;
    }
  }

  __device__ void update(const BandStage& stage, int first, int rows, int since, unsigned inverse) {
    band.now ^= 1;
    if (stage.swap) {
      update_rows<R + 2, true>(band, first, rows, since, inverse);
    } else if (stage.spacing == R + 1) {
      update_rows<R + 1, false>(band, first, rows, since, inverse);
    } else {
      update_rows<R + 2, false>(band, first, rows, since, inverse);
    }
    sent_first = first;
    sent_step = stage.spacing;
    sent_rows = rows;
    sent_swap = stage.swap;
  }

  /// Makes the sweeps of a stage. Returns how many were made before the stage ended by itself, and
  /// `stopped` if a further one was not to begin.
  __device__ int run_stage(const BandStage& stage, bool& stopped) {
    const int spacing = stage.spacing;
    const int begin_class = band.begin % spacing;
    seen_class = seen % spacing;
    // Each class has `whole` rows; the first `over` classes have one more.
    const int whole = (band.end - band.begin) / spacing;
    const int over = (band.end - band.begin) % spacing;
    const int turns = whole > 0 ? spacing : over;  // turns of one sweep
    const unsigned inverse = inverse_of_pieces(band, spacing, stage.swap);
    stage_begin = sweep;
    stopped = false;
    int n = 0;
    for (; n < stage.max_sweeps; ++n) {
      bool begun = false;
      for (int p = 0; p < spacing; ++p) {
        const int offset = p - begin_class + (p < begin_class ? spacing : 0);
        const int rows = whole + (offset < over ? 1 : 0);
        if (rows == 0) continue;
        const int first = band.begin + offset;
        exchange(stage, n, p, first, rows, begun);
        __syncthreads();
        if (!begun && band.stop() != 0) {
          stopped = true;
          return n;
        }
        begun = true;
        apply_left();
        // The first sweep of a stage visits all cells, because cells that no update changes may
        // still be swapped.
        update(stage, first, rows, n == 0 ? -1 : band.turn - turns, inverse);
        __syncthreads();
      }
      if (counter) {
        c.unpublished = static_cast<int>(band.count());
        band.count() = 0;
      }
      ++sweep;
    }
    return n;
  }

  /// The skipped sweep becomes the first sweep of the next stage.
  __device__ void skip_sweep() {
    if (static_cast<int>(had - (sweep - 1)) > 0) had = sweep - 1;
    __syncthreads();
    if (band.tid == 0) band.stop() = 0;
    __syncthreads();
  }

  /// Sends the last flips. `swaps_last`: the last sweep swapped.
  __device__ void exchange_last(bool swaps_last) {
    if (band.warp > kCounter && sent_step != 0)
      send_flips(band, sent_first, sent_step, sent_rows, sent_swap, true, false, sweep - 1);
    if (counter) publish_count();
    // Swaps of the band above change cells of this band.
    if (swaps_last && receives) receive_until(sweep - 1, true);
  }

  /// By the thread `counter`: adds the totals of the run and ends the frame. `cut`: the frame ended
  /// before the stages, `cut_in_last`: in sweeps of the last stage.
  __device__ void finish(bool cut, bool cut_in_last) {
    if (blockIdx.x == 0) {
      while (c.next != sweep) c.add(static_cast<std::uint32_t>(wait_for_count(c.next)));
      // A stage whose last sweep changed nothing has ended by itself.
      const bool finished = !cut || (cut_in_last && c.converged);
      add_totals(band.a.end, {c.sweeps, c.changed, c.converged ? 1u : 0u, 0, finished ? 1u : 0u,
                              cut && c.stopping ? 1u : 0u});
    }
    __threadfence();
    if (atomicInc(&band.a.shared->ended, gridDim.x - 1) == gridDim.x - 1) {
      band.a.shared->sweep = sweep;
      for (int i = 0; i < 8; ++i) counts[i] = 0;
    }
    if (band.a.end.last)
      finish_frame(band.a.end.state, band.a.end.outcome, band.a.end.frames, gridDim.x);
  }
};

/// Runs all stages of a run, from the outputs in `cells` to the outputs that it writes.
template <int R, StatePlace kPlace>
__device__ void run_stages(Band<R, kPlace>& band) {
  begin_states(band);
  BandSweeps<R, kPlace> sweeps{band};
  if (sweeps.counter) sweeps.c = {.left = sweeps_left(band.a.end), .next = sweeps.base};
  bool swaps_last = false;
  bool cut = false;
  bool cut_in_last = false;
  for (int s = 0; s < band.a.stage_count; ++s) {
    const BandStage stage = band.a.stage[s];
    const bool last = s == band.a.stage_count - 1;
    bool stopped = false;
    const int n = sweeps.run_stage(stage, stopped);
    cut = stopped && band.stop() == kFrameEnds;
    if (cut || last) {
      swaps_last = n > 0 ? stage.swap : sweeps.swapped;
    } else {
      sweeps.swapped = stage.swap;
    }
    if (cut) {
      cut_in_last = last && n > 0;
      break;
    }
    if (stopped) sweeps.skip_sweep();
  }
  sweeps.exchange_last(swaps_last);
  __syncthreads();
  write_outputs(band);
  __syncthreads();
  if (sweeps.counter) sweeps.finish(cut, cut_in_last);
}

template <int R, StatePlace kPlace>
__global__ void __launch_bounds__(kBandThreads, 1)
    run_band(const __grid_constant__ BandArguments arguments) {
  OCELLUS_DYNAMIC_SHARED(uint4, memory);
  Band<R, kPlace> band(arguments, reinterpret_cast<char*>(memory));
  run_stages(band);
}

template <StatePlace kPlace>
Kernel<BandArguments> band_kernel_for(int radius) noexcept {
  switch (radius) {
    case 1:
      return run_band<1, kPlace>;
    case 2:
      return run_band<2, kPlace>;
    case 3:
      return run_band<3, kPlace>;
    default:
      return run_band<4, kPlace>;
  }
}

}  // namespace
}  // namespace ocellus::cuda
