// A band: its rows, its counters, the layout of its shared memory and the packed format of states.
//
// A band is a set of consecutive rows that one thread block updates. Its arrays are in shared
// memory. If shared memory is too small, the states and the bit planes of many flips are in global
// memory.
#pragma once

#include "kernels/halftone/cells.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWarps = kBandThreads / 32;
/// Before a row class is updated, each warp has its own task. Each of the first warps receives the
/// messages of one row of a neighboring band. One warp counts changes, and the other warps send.
constexpr int kReceivers = 2 * (kMaxTemplateRadius + 1);
constexpr int kCounter = kReceivers;
constexpr int kSenders = kWarps - kReceivers - 1;
/// Number of states that a thread changes together (16 bytes).
constexpr int kGroup = 8;
/// Number of columns around a group whose flips can affect the group.
constexpr int kAround = kGroup + 2 * kMaxTemplateRadius;
/// Number of columns that share a stamp.
constexpr int kStampColumns = 32 * kGroup;
/// Capacity of a list of the flips of a turn. If there are more flips, bit planes hold them.
constexpr int kListed = 1024;
/// Largest number of flips of 64 words that a receiving warp applies itself. If there are more, all
/// warps share them.
constexpr int kFewInRow = 8;
constexpr unsigned kFull = 0xffffffffu;
/// Counts of changed cells contain, from this bit on, the number of bands that have reported.
constexpr int kCountBits = 40;
constexpr unsigned long long kStopBit = 1ull << (kCountBits - 1);

/// Number of rows and columns of a template of radius R.
template <int R>
constexpr int kSide = 2 * R + 1;

__host__ __device__ constexpr int words_of(int width) {
  return (width + 31) / 32;
}
__host__ __device__ constexpr int message_pairs(int width) {
  return (words_of(width) + 1) / 2;
}
__host__ __device__ constexpr int padded(int width) {
  return (width + kGroup - 1) / kGroup * kGroup;
}

// A word of 32 bits holds two states as the sum low + 2^16 high. One addition changes both states.
// A carry out of the low half needs no special case.
__device__ inline std::uint32_t pack(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint32_t>(low) + (static_cast<std::uint32_t>(high) << 16);
}
__device__ inline std::int32_t low_of(std::uint32_t word) {
  return static_cast<std::int16_t>(word & 0xffff);
}
__device__ inline std::int32_t high_of(std::uint32_t word) {
  return static_cast<std::int32_t>(word + 0x8000u) >> 16;
}

/// Counts the sweeps of a run: those of each stage up to the first one that changed nothing.
struct SweepCounter {
  std::uint32_t left = 0;  ///< sweeps that the run may make
  std::uint32_t next = 0;  ///< the next sweep that is added to the totals
  int unpublished = -1;    ///< cells that changed in the last sweep; -1: the other bands know it
  std::uint32_t sweeps = 0;
  std::uint32_t changed = 0;
  std::uint32_t asked = 0;  ///< band 0: not 0 if the operator was stopped
  /// Bit i: the sweep whose number is i modulo 8 is the first of a stage.
  unsigned begins = 0;
  bool converged = false;  ///< the present stage
  bool stopping = false;   ///< all bands know that the operator was stopped

  __device__ void begin(std::uint32_t sweep, bool begins_stage) {
    const unsigned bit = 1u << (sweep & 7);
    begins = begins_stage ? begins | bit : begins & ~bit;
  }
  __device__ bool begins_stage(std::uint32_t sweep) const {
    return (begins >> (sweep & 7) & 1) != 0;
  }
  /// Adds the number of cells that changed in the sweep `next`.
  __device__ void add(std::uint32_t count) {
    if (begins_stage(next++)) converged = false;
    if (converged) return;
    ++sweeps;
    changed = count;
    converged = count == 0;
  }
  /// Whether no further sweep may begin. Of the sweep before `sweep`, the count is not known, but
  /// whether it belongs to the totals is.
  __device__ bool frame_ends(std::uint32_t sweep) const {
    const bool adds = next != sweep && (!converged || begins_stage(next));
    return stopping || sweeps + (adds ? 1 : 0) >= left;
  }
};

/// Offsets of the arrays in a band's shared memory, in bytes.
struct BandLayout {
  int x_stride;  ///< words of a row of states, including one group before and one after the image
  int word_stride;  ///< words of a row of bits, including one before and one after the image
  int window;       ///< rows of bits: those of the band, `reach` above and `reach` + 1 below
  int blocks;       ///< number of stamps of a row
  int sweep_counter;
  int stamps, pending, list, received, row_weights, slices, outputs, flips, many, states, inputs;
  int bytes;

  __host__ __device__ BandLayout(StatePlace place, int radius, int reach, int width, int rows,
                                 int columns) {
    x_stride = (padded(width) + 2 * kGroup) / 2;
    word_stride = words_of(width) + 2;
    window = rows + 2 * reach + 1;
    blocks = (width + kStampColumns - 1) / kStampColumns;
    int at = 8 * 4;  // counters
    const auto take = [&](int taken) {
      const int here = at;
      at += (taken + 15) / 16 * 16;
      return here;
    };
    sweep_counter = take(sizeof(SweepCounter));
    stamps = take((rows + 1) * blocks * 4);
    pending = take(pending_words() * 4);
    list = take(2 * kListed * 4);
    received = take(kReceivers * kFewInRow * 4);
    row_weights = take(2 * (2 * radius + 1) * 8 * 4);
    slices = take(2 * (2 * radius + 1) * kAround * kGroup * 2);
    outputs = take(window * word_stride * 4);
    flips = take((rows + 1) * word_stride * 4);
    const bool all = place == StatePlace::kShared;
    many = take(all ? many_words() * 4 : 0);
    states = take(all ? (rows + 1) * x_stride * 4 : 0);
    inputs = take((rows + 1 + 2 * radius) * (columns + 2 * kGroup) * 2);
    bytes = at;
  }
  __host__ __device__ int pending_words() const { return window / 32 + 2; }
  __host__ __device__ int many_words() const { return 2 * window * word_stride; }
};

template <int R, StatePlace kPlace>
struct Band {
  const BandArguments& a;
  const BandLayout at;
  char* const shared;
  const int tid = threadIdx.x;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int width;
  const int height;
  const int words;
  const int begin;  // first row
  const int end;
  const int top;     // first row whose outputs the band keeps as bits
  const int x_rows;  // number of rows whose states the band keeps
  int now = 0;       // index of the present counter in `listed`
  int turn = 0;      // number of row classes that the band has updated

  __device__ Band(const BandArguments& arguments, char* memory)
      : a(arguments),
        at(kPlace, R, arguments.reach, arguments.cells.width, most_rows(arguments),
           arguments.columns),
        shared(memory),
        width(arguments.cells.width),
        height(arguments.cells.height),
        words(words_of(arguments.cells.width)),
        begin(static_cast<int>(static_cast<std::int64_t>(height) * blockIdx.x / gridDim.x)),
        end(static_cast<int>(static_cast<std::int64_t>(height) * (blockIdx.x + 1) / gridDim.x)),
        top(begin - arguments.reach),
        x_rows(min(end + (arguments.reach > R ? 1 : 0), height) - begin) {}

  __device__ static int most_rows(const BandArguments& arguments) {
    return (arguments.cells.height + gridDim.x - 1) / gridDim.x;
  }

  // ---- counters

  /// Not 0 if the present sweep is skipped: kStageEnds or kFrameEnds. Warps then do not wait for
  /// its messages.
  __device__ int& stop() { return reinterpret_cast<int*>(shared)[0]; }
  /// Number of cells that changed in this sweep.
  __device__ unsigned& count() { return reinterpret_cast<unsigned*>(shared)[1]; }
  /// Number of flips in `list`, for even and odd turns.
  __device__ int& listed(int which) { return reinterpret_cast<int*>(shared)[2 + which]; }
  /// Not 0 if `many` contains flips.
  __device__ int& crowded() { return reinterpret_cast<int*>(shared)[4]; }
  /// Number of flips that warps have tried to add to `left_list`.
  __device__ int& left() { return reinterpret_cast<int*>(shared)[5]; }
  /// End of the entries in `left_list` if the list is too short for all flips.
  __device__ int& left_end() { return reinterpret_cast<int*>(shared)[6]; }
  __device__ SweepCounter& sweep_counter() {
    return *reinterpret_cast<SweepCounter*>(shared + at.sweep_counter);
  }

  // ---- arrays

  /// For each block of columns: the last turn that changed a state in it.
  __device__ int* stamps(int row) {
    return reinterpret_cast<int*>(shared + at.stamps) + (row - begin) * at.blocks;
  }
  /// One bit for each row of `many` that contains flips.
  __device__ unsigned* pending() { return reinterpret_cast<unsigned*>(shared + at.pending); }
  /// Flips of the band's own previous turn.
  __device__ std::uint32_t* list() { return reinterpret_cast<std::uint32_t*>(shared + at.list); }
  /// Flips of neighboring bands that all warps apply together.
  __device__ std::uint32_t* left_list() { return list() + kListed; }
  /// Outputs as bits. Word 0 is the word before the image.
  __device__ std::uint32_t* outputs(int row) {
    return reinterpret_cast<std::uint32_t*>(shared + at.outputs) + (row - top) * at.word_stride;
  }
  /// Flips of the present turn as bits, for the band's rows and the row after them.
  __device__ std::uint32_t* flips(int row) {
    return reinterpret_cast<std::uint32_t*>(shared + at.flips) + (row - begin) * at.word_stride;
  }
  /// Bit planes for flips that do not fit in a list.
  __device__ std::uint32_t* many() {
    if constexpr (kPlace == StatePlace::kShared) {
      return reinterpret_cast<std::uint32_t*>(shared + at.many);
    } else {
      return a.many + blockIdx.x * static_cast<std::size_t>(at.many_words());
    }
  }
  __device__ std::uint32_t* many(int to_one, int row) {
    return many() + (to_one * at.window + row - top) * at.word_stride;
  }
  /// States, starting at column 0. The group before column 0 is writable.
  __device__ std::uint32_t* states(int row) {
    const int in_row = (row - begin) * at.x_stride + kGroup / 2;
    if constexpr (kPlace == StatePlace::kShared) {
      return reinterpret_cast<std::uint32_t*>(shared + at.states) + in_row;
    } else {
      return a.states + (most_rows(a) + 1) * at.x_stride * static_cast<std::size_t>(blockIdx.x) +
             in_row;
    }
  }
  __device__ std::int32_t weight_a(int dx, int dy) const {
    return a.a[(dy + R) * kSide<R> + dx + R];
  }

  __device__ void clear() {
    for (int i = tid; i < at.states / 4; i += kBandThreads) reinterpret_cast<int*>(shared)[i] = 0;
    if constexpr (kPlace == StatePlace::kGlobal) {
      for (int i = tid; i < at.many_words(); i += kBandThreads) many()[i] = 0;
      // Flips near the border also write to the groups before and after the image.
      for (int i = tid; i < x_rows * kGroup; i += kBandThreads) {
        const int word = i % kGroup - kGroup / 2;
        states(begin + i / kGroup)[word < 0 ? word : at.x_stride - kGroup + word] = 0;
      }
    }
  }
};

}  // namespace
}  // namespace ocellus::cuda
