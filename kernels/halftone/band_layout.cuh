// Where a band's things lie in shared memory, how two X share a word, and mail between bands.
#pragma once

#include "kernels/halftone/cells.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWarps = kBandThreads / 32;
/// Between the turns of rows each warp has its own work: the first ones read the mail of one row of
/// a neighbor each, one counts, the others send.
constexpr int kReaders = 2 * (kMaxTemplateRadius + 1);
constexpr int kClerk = kReaders;
constexpr int kSenders = kWarps - kReaders - 1;
/// X of cells that a thread changes together: 16 bytes.
constexpr int kGroup = 8;
/// Columns around a group that can hold flips that it sees.
constexpr int kAround = kGroup + 2 * kMaxTemplateRadius;
/// Columns that share a stamp.
constexpr int kStampColumns = 32 * kGroup;
/// Flips that are applied one by one; if a phase has more, or a row of a neighbor, all cells are
/// asked for flips near them.
constexpr int kListed = 1024;
constexpr int kFewInRow = 8;
constexpr unsigned kFull = 0xffffffffu;
constexpr int kCountBits = 40;

__host__ __device__ constexpr int words_of(int width) {
  return (width + 31) / 32;
}
__host__ __device__ constexpr int mail_pairs(int width) {
  return (words_of(width) + 1) / 2;
}
__host__ __device__ constexpr int padded(int width) {
  return (width + kGroup - 1) / kGroup * kGroup;
}

// Two X lie in a word of 32 bits as a sum, low + 2^16 high: so that both can be added to at once
// without asking for what passes from the low half into the high one.
__device__ inline std::uint32_t pack(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint32_t>(low) + (static_cast<std::uint32_t>(high) << 16);
}
__device__ inline std::int32_t low_of(std::uint32_t word) {
  return static_cast<std::int16_t>(word & 0xffff);
}
__device__ inline std::int32_t high_of(std::uint32_t word) {
  return static_cast<std::int32_t>(word + 0x8000u) >> 16;
}

/// Where things lie in a band's shared memory, in bytes.
struct BandLayout {
  int x_stride;     ///< words of a row of X, with a group of cells before and behind the image
  int word_stride;  ///< words of a row of bits, with one before and one behind the image
  int window;       ///< rows of bits: the band's, `reach` above, `reach` + 1 below
  int blocks;       ///< stamps of a row
  int stamps, pending, list, letters, row_weights, slices, outputs, flips, many, states, inputs;
  int bytes;

  __host__ __device__ BandLayout(StatePlace place, int radius, int reach, int width, int rows,
                                 int columns) {
    x_stride = (padded(width) + 2 * kGroup) / 2;
    word_stride = words_of(width) + 2;
    window = rows + 2 * reach + 1;
    blocks = (width + kStampColumns - 1) / kStampColumns;
    int at = 16 * 4;  // counters
    const auto take = [&](int bytes) {
      const int here = at;
      at += (bytes + 15) / 16 * 16;
      return here;
    };
    stamps = take((rows + 1) * blocks * 4);
    pending = take(pending_words() * 4);
    list = take(2 * kListed * 4);
    letters = take(kReaders * kFewInRow * 4);
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

__device__ inline std::uint64_t load_mail(const unsigned long long* at) {
  std::uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline ulonglong2 load_mail(const ulonglong2* at) {
  ulonglong2 value;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.x), "=l"(value.y)
               : "l"(at)
               : "memory");
  return value;
}
__device__ inline void send_mail(ulonglong2* at, std::uint32_t sweep, std::uint32_t first,
                                 std::uint32_t second) {
  const std::uint64_t number = static_cast<std::uint64_t>(sweep) << 32;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(number | first),
               "l"(number | second)
               : "memory");
}

}  // namespace
}  // namespace ocellus::cuda
