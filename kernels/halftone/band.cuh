// A band: its rows, its counters and the addresses of its arrays.
//
// A band is a set of consecutive rows that one thread block updates. Its arrays are in shared
// memory. If shared memory is too small, the states and the bit planes of many flips are in global
// memory.
#pragma once

#include "kernels/halftone/band_layout.cuh"

namespace ocellus::cuda {
namespace {

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
