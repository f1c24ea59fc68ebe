// One band: its rows, its counters, and the addresses of its arrays.
//
// A band is a set of neighboring rows that one thread block updates. Its arrays lie in shared
// memory. The states, and the bit planes of many flips, lie in global memory if shared memory is
// too small for them.
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
  const int begin;  // rows
  const int end;
  const int top;     // the first row of bits
  const int x_rows;  // rows whose states the band keeps
  int now = 0;       // index of the list's current count
  int turn = 0;      // counts the row classes that this band has updated

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

  /// Not 0 if the current sweep is skipped. Warps then stop waiting for its messages.
  __device__ int& stop() { return reinterpret_cast<int*>(shared)[0]; }
  /// Cells that changed in this sweep.
  __device__ unsigned& count() { return reinterpret_cast<unsigned*>(shared)[1]; }
  /// Flips in `list`, for even and odd turns.
  __device__ int& listed(int which) { return reinterpret_cast<int*>(shared)[2 + which]; }
  /// Not 0 if `many` holds flips.
  __device__ int& crowded() { return reinterpret_cast<int*>(shared)[4]; }
  /// Flips that warps tried to add to `left_list`.
  __device__ int& left() { return reinterpret_cast<int*>(shared)[5]; }
  /// The end of the entries in `left_list` if it is too short for all.
  __device__ int& left_end() { return reinterpret_cast<int*>(shared)[6]; }

  // ---- arrays

  /// For each block of columns the last turn that changed a state in it.
  __device__ int* stamps(int row) {
    return reinterpret_cast<int*>(shared + at.stamps) + (row - begin) * at.blocks;
  }
  /// A bit for each row of `many` that holds flips.
  __device__ unsigned* pending() { return reinterpret_cast<unsigned*>(shared + at.pending); }
  /// Flips of the band's own last turn.
  __device__ std::uint32_t* list() { return reinterpret_cast<std::uint32_t*>(shared + at.list); }
  /// Flips of neighbor bands that all warps apply together.
  __device__ std::uint32_t* left_list() { return list() + kListed; }
  /// Outputs as bits. Word 0 is the word before the image.
  __device__ std::uint32_t* outputs(int row) {
    return reinterpret_cast<std::uint32_t*>(shared + at.outputs) + (row - top) * at.word_stride;
  }
  /// Flips of this turn as bits, in the band's rows and the row after.
  __device__ std::uint32_t* flips(int row) {
    return reinterpret_cast<std::uint32_t*>(shared + at.flips) + (row - begin) * at.word_stride;
  }
  /// Bit planes of flips that are too many for a list.
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
  /// States from column 0 on. The group before column 0 may be written to.
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
      // Flips near the border add to the groups before and after the image.
      for (int i = tid; i < x_rows * kGroup; i += kBandThreads) {
        const int word = i % kGroup - kGroup / 2;
        states(begin + i / kGroup)[word < 0 ? word : at.x_stride - kGroup + word] = 0;
      }
    }
  }
};

}  // namespace
}  // namespace ocellus::cuda
