// Two levels in colors: all stages of a run in one kernel.
//
// X of all cells stands in shared memory, or where that is too small in global memory, 16 bits
// each, and is kept up to date: a cell that flips adds its weights to its neighbors. What a row's
// turn changes depends on that row's X alone, so a warp decides a piece of a row in registers - a
// lane for each `spacing` cells, the lanes after it computed twice where pieces meet. The flips
// then go to the X around them, and by mail to the bands above and below. A band waits for those
// rows of its neighbors that its next rows see, and for nothing else; whether a sweep changed
// nothing is known two sweeps later, and those that ran in between have changed nothing either.
#pragma once

#include "kernels/halftone/band_layout.cuh"

namespace ocellus::cuda {
namespace {

using detail::kBinaryLimit;
using detail::kInputBits;
using detail::kInputOne;

template <int R, StatePlace kPlace>
struct Band {
  static constexpr int kSide = 2 * R + 1;

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
  const int top;     // row of the first row of bits
  const int x_rows;  // rows whose X is kept
  int now = 0;       // which count of the list
  int turn = 0;      // counts phases in which this band had rows

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

  // ---- places

  /// Written by one thread while others wait for mail that will not come.
  __device__ int& stop() { return reinterpret_cast<int*>(shared)[0]; }
  __device__ unsigned& count() { return reinterpret_cast<unsigned*>(shared)[1]; }
  __device__ int& listed(int which) { return reinterpret_cast<int*>(shared)[2 + which]; }
  __device__ int* stamps(int row) {
    return reinterpret_cast<int*>(shared + at.stamps) + (row - begin) * at.blocks;
  }
  /// Some flips wait in `many`.
  __device__ int& crowded() { return reinterpret_cast<int*>(shared)[4]; }
  /// A bit for each row of `many` that holds flips.
  __device__ unsigned* pending() { return reinterpret_cast<unsigned*>(shared + at.pending); }
  /// Flips of the band's own last turn, and those of neighbors that are left for all warps.
  __device__ std::uint32_t* list() { return reinterpret_cast<std::uint32_t*>(shared + at.list); }
  __device__ std::uint32_t* left_list() { return list() + kListed; }
  __device__ int& left() { return reinterpret_cast<int*>(shared)[5]; }
  /// Where the second list ends that has been asked for more than it holds.
  __device__ int& left_end() { return reinterpret_cast<int*>(shared)[6]; }
  /// Word 0 is the one before the image.
  __device__ std::uint32_t* outputs(int row) {
    return reinterpret_cast<std::uint32_t*>(shared + at.outputs) + (row - top) * at.word_stride;
  }
  /// Of this turn, in the band's rows and the one after.
  __device__ std::uint32_t* flips(int row) {
    return reinterpret_cast<std::uint32_t*>(shared + at.flips) + (row - begin) * at.word_stride;
  }
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
  /// Column 0; the group before it may be written to.
  __device__ std::uint32_t* states(int row) {
    const int in_row = (row - begin) * at.x_stride + kGroup / 2;
    if constexpr (kPlace == StatePlace::kShared) {
      return reinterpret_cast<std::uint32_t*>(shared + at.states) + in_row;
    } else {
      return a.states + (most_rows(a) + 1) * at.x_stride * static_cast<std::size_t>(blockIdx.x) +
             in_row;
    }
  }
  __device__ std::int16_t* inputs(int row) {  // from begin - R on; element 0 is column -4
    return reinterpret_cast<std::int16_t*>(shared + at.inputs) +
           (row - begin + R) * (a.columns + 2 * kGroup);
  }
  __device__ uint4* slices(int positive, int dy) {
    return reinterpret_cast<uint4*>(shared + at.slices) + (positive * kSide + dy + R) * kAround;
  }
  __device__ std::int32_t weight_a(int dx, int dy) const { return a.a[(dy + R) * kSide + dx + R]; }

  // ---- beginning

  __device__ void clear() {
    for (int i = tid; i < at.states / 4; i += kBandThreads) reinterpret_cast<int*>(shared)[i] = 0;
    if constexpr (kPlace == StatePlace::kGlobal) {
      for (int i = tid; i < at.many_words(); i += kBandThreads) many()[i] = 0;
      // Flips near the border add to the groups before and behind the image.
      for (int i = tid; i < x_rows * kGroup; i += kBandThreads) {
        const int word = i % kGroup - kGroup / 2;
        states(begin + i / kGroup)[word < 0 ? word : at.x_stride - kGroup + word] = 0;
      }
    }
  }

  /// What a flip adds to a group of cells: for each column around it, 8 weights.
  __device__ void make_slices() {
    for (int i = tid; i < 2 * kSide * kAround * kGroup / 2; i += kBandThreads) {
      const int c = i % (kGroup / 2) * 2;
      const int o = i / (kGroup / 2) % kAround;
      const int dy = i / (kGroup / 2 * kAround) % kSide;
      const int change = i / (kGroup / 2 * kAround * kSide) != 0 ? 2 : -2;
      const auto weight = [&](int dx) {
        return dx >= -R && dx <= R ? change * a.a[dy * kSide + dx + R] : 0;
      };
      const int dx = o - kMaxTemplateRadius - c;
      reinterpret_cast<std::uint32_t*>(slices(change > 0, dy - R) + o)[c / 2] =
          pack(weight(dx), weight(dx - 1));
    }
  }

  __device__ void load_outputs() {
    const int rows = end - begin + 2 * a.reach + 1;
    for (int i = tid; i < rows * words; i += kBandThreads) {
      const int row = top + i / words;
      const int word = i % words;
      if (row < 0 || row >= height) continue;
      const auto* from = reinterpret_cast<const uint4*>(a.cells.k + row * a.cells.pitch +
                                                        static_cast<std::int64_t>(word) * 32);
      std::uint32_t bits = 0;
      const uint4 low = from[0];
      const uint4 high = from[1];
      const std::uint32_t quads[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int q = 0; q < 8; ++q) bits |= ((quads[q] & 0x01010101u) * 0x10204080u >> 28) << (4 * q);
      // What is behind the image in the plane is nobody's.
      if (word == words - 1 && width % 32 != 0) bits &= (1u << width % 32) - 1;
      outputs(row)[word + 1] = bits;
    }
  }

  enum class Sum { kFused, kControl, kFeedback };

  __device__ static std::int32_t element(Sum sum, std::int32_t u, bool one) {
    const std::int32_t y = one ? 1 : -1;
    return sum == Sum::kFused ? u - kInputOne * y : sum == Sum::kControl ? u : y;
  }

  /// What is summed over: columns first - 4 to first + columns + 4 of all rows that the band sees.
  template <Sum kSum>
  __device__ void load_inputs(int first) {
    const int rows = x_rows + 2 * R;
    const int quads = (a.columns + kGroup) / 4;
    const bool bytes =
        kSum != Sum::kFeedback && a.u.k == nullptr && a.u.format == PixelFormat::kGray8;
    const char* image = nullptr;
    std::int64_t stride = 0;
    if (bytes) {
      image = static_cast<const char*>(a.u.frame->image);
      stride = a.u.frame->image_stride;
    }
    const bool aligned = (reinterpret_cast<std::uintptr_t>(image) | stride) % 4 == 0;
    // Several pixels on their way at a time.
    constexpr int kBatch = 6;
    int row = tid / quads;
    int quad = tid % quads;
    const int next_row = kBandThreads / quads;
    const int next_quad = kBandThreads % quads;
    while (row < rows) {
      std::uint32_t pixels[kBatch];
      int at_row[kBatch];
      int at_quad[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        at_row[i] = row;
        at_quad[i] = quad;
        pixels[i] = 0;
        const int y = begin - R + row;
        const int x = first - kMaxTemplateRadius + quad * 4;
        if (bytes && aligned && row < rows && y >= 0 && y < height && x >= 0 && x + 4 <= width)
          pixels[i] = *reinterpret_cast<const std::uint32_t*>(image + y * stride + x);
        row += next_row;
        quad += next_quad;
        if (quad >= quads) {
          quad -= quads;
          ++row;
        }
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (at_row[i] >= rows) break;
        const int y = begin - R + at_row[i];
        const int x = first - kMaxTemplateRadius + at_quad[i] * 4;
        const bool inside = y >= 0 && y < height;
        std::int32_t values[4] = {};
        const std::uint32_t bits =
            inside && x >= 0 && x < width ? outputs(y)[x / 32 + 1] >> x % 32 : 0;
        if (bytes && aligned && inside && x >= 0 && x + 4 <= width) {
#pragma unroll
          for (int c = 0; c < 4; ++c)
            values[c] = element(kSum, detail::input_of(a.u.gray, pixels[i] >> 8 * c & 0xff),
                                (bits >> c & 1) != 0);
        } else if (inside) {
          for (int c = 0; c < 4; ++c) {
            if (x + c < 0 || x + c >= width) continue;
            const std::int32_t u = kSum == Sum::kFeedback ? 0 : input_at(a.u, x + c, y);
            const std::int32_t value = element(kSum, u, (bits >> c & 1) != 0);
#pragma unroll
            for (int d = 0; d < 4; ++d)
              if (d == c) values[d] = value;
          }
        }
        *reinterpret_cast<uint2*>(inputs(y) + at_quad[i] * 4) = make_uint2(
            (values[0] & 0xffff) | values[1] << 16, (values[2] & 0xffff) | values[3] << 16);
      }
    }
  }

  template <Sum kSum>
  __device__ void convolve(int first) {
    const int groups = min(a.columns, padded(width) - first) / kGroup;
    for (int i = tid; i < x_rows * groups; i += kBandThreads) {
      const int row = begin + i / groups;
      const int column = i % groups * kGroup;
      std::int32_t sums[kGroup] = {};
      const std::int16_t* from = inputs(row - R) + column;
#pragma unroll
      for (int dy = 0; dy < kSide; ++dy, from += a.columns + 2 * kGroup) {
        std::int32_t values[kAround];
        const uint4 halves[2] = {reinterpret_cast<const uint4*>(from)[0],
                                 reinterpret_cast<const uint4*>(from)[1]};
        const std::uint32_t pairs[8] = {halves[0].x, halves[0].y, halves[0].z, halves[0].w,
                                        halves[1].x, halves[1].y, halves[1].z, halves[1].w};
#pragma unroll
        for (int c = 0; c < kAround / 2; ++c) {
          values[2 * c] = static_cast<std::int16_t>(pairs[c] & 0xffff);
          values[2 * c + 1] = static_cast<std::int32_t>(pairs[c]) >> 16;
        }
#pragma unroll
        for (int dx = 0; dx < kSide; ++dx) {
          const std::int32_t weight =
              kSum == Sum::kFeedback ? a.a[dy * kSide + dx] : a.b[dy * kSide + dx];
#pragma unroll
          for (int c = 0; c < kGroup; ++c)
            sums[c] += weight * values[kMaxTemplateRadius - R + dx + c];
        }
      }
      uint4* const to = reinterpret_cast<uint4*>(states(row) + (first + column) / 2);
      std::int32_t before[kGroup] = {};
      if constexpr (kSum == Sum::kFeedback) {
        const uint4 four = *to;
        const std::uint32_t pairs[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int c = 0; c < kGroup / 2; ++c) {
          before[2 * c] = low_of(pairs[c]);
          before[2 * c + 1] = high_of(pairs[c]);
        }
      }
#pragma unroll
      for (int c = 0; c < kGroup; ++c) {
        std::int32_t x = sums[c];
        const int at_x = first + column + c;
        if constexpr (kSum == Sum::kFeedback) {
          x += before[c];
        } else {
          if constexpr (kSum == Sum::kFused) {
            // The center's own part, which is not B's negative.
            const std::int32_t one = (outputs(row)[at_x / 32 + 1] >> at_x % 32 & 1) != 0 ? 1 : -1;
            x += (a.a[kSide * kSide / 2] + a.b[kSide * kSide / 2]) * kInputOne * one;
          }
          x = (x + (1 << (kInputBits - 1))) >> kInputBits;
          x += a.threshold;
          if (a.threshold_plane != nullptr && at_x < width)
            x += a.threshold_plane[row * a.cells.pitch + at_x];
          if constexpr (kSum == Sum::kControl) x = min(max(x, -kBinaryLimit), kBinaryLimit);
        }
        sums[c] = x;
      }
      *to = make_uint4(pack(sums[0], sums[1]), pack(sums[2], sums[3]), pack(sums[4], sums[5]),
                       pack(sums[6], sums[7]));
    }
  }

  template <Sum kSum>
  __device__ void sum_states() {
    for (int first = 0; first < padded(width); first += a.columns) {
      load_inputs<kSum>(first);
      __syncthreads();
      convolve<kSum>(first);
      __syncthreads();
    }
  }

  // ---- flips and X

  /// A flip adds its weights to the X around it, kPairs words in each row. A lane does so in one
  /// row.
  static constexpr int kPairs = R + 1;
  /// Words of `rows_of_weights`: for flips in even and odd columns, for each row kPairs of them.
  static constexpr int kPairStride = (kPairs + 3) / 4 * 4;

  __device__ std::uint32_t* row_weights(int odd, int dy) {
    return reinterpret_cast<std::uint32_t*>(shared + at.row_weights) +
           (odd * kSide + dy + R) * kPairStride;
  }

  __device__ void make_row_weights() {
    for (int i = tid; i < 2 * kSide * kPairs; i += kBandThreads) {
      const int odd = i / (kSide * kPairs);
      const int dy = i / kPairs % kSide - R;  // of the row that is changed, from the flip's
      // The first word holds the column R before the flip.
      const int dx = 2 * (i % kPairs) - R - ((R + odd) & 1);
      const auto weight = [&](int at_dx) {
        return at_dx >= -R && at_dx <= R ? 2 * a.a[(R - dy) * kSide + R - at_dx] : 0;
      };
      row_weights(odd, dy)[i % kPairs] = pack(weight(dx), weight(dx + 1));
    }
  }

  __device__ void apply(std::uint32_t flip, int dy) {
    const int x = static_cast<int>(flip & 0x7fff);
    const int row = static_cast<int>(flip >> 15 & 0xffff) + top + dy;
    if (row < begin || row >= begin + x_rows) return;
    const std::uint32_t* const weight = row_weights(x & 1, dy);
    std::uint32_t* const to = states(row) + ((x - R) >> 1);
#pragma unroll
    for (int p = 0; p < kPairs; ++p)
      atomicAdd(to + p, flip >> 31 != 0 ? weight[p] : 0u - weight[p]);
    int* const stamp = stamps(row);
    stamp[max(x - R, 0) / kStampColumns] = turn;
    stamp[min(x + R, width - 1) / kStampColumns] = turn;
  }

  /// Applies `count` flips of a list, the lanes of several warps from `index` on, `step` apart.
  __device__ void apply_list(const std::uint32_t* flipped, int count, int index, int step) {
#pragma unroll 2
    for (int i = index; i < count * kSide; i += step) apply(flipped[i / kSide], i % kSide - R);
  }

  __device__ static std::uint32_t flip_of(int x, int index, std::uint32_t one) {
    return static_cast<unsigned>(x) | static_cast<unsigned>(index) << 15 | one << 31;
  }

  /// Leaves flips for `apply_many`.
  __device__ void add_many(int row, int word, std::uint32_t bits, std::uint32_t ones) {
    std::uint32_t again = atomicOr(many(0, row) + word + 1, bits & ~ones) & bits & ~ones;
    again |= atomicOr(many(1, row) + word + 1, bits & ones) & bits & ones;
    // A cell that flips to and fro and comes to the same again.
    for (; again != 0; again &= again - 1) {
      const int bit = __ffs(static_cast<int>(again)) - 1;
      for (int dy = -R; dy <= R; ++dy)
        apply(flip_of(32 * word + bit, row - top, ones >> bit & 1), dy);
    }
    atomicOr(pending() + (row - top) / 32, 1u << (row - top) % 32);
    crowded() = 1;
  }

  __device__ void apply_many() {
    const int groups = padded(width) / kGroup;
    for (int item = warp; item < x_rows * at.blocks; item += kWarps) {
      const int row = begin + item / at.blocks;
      const int block = item % at.blocks;
      const int group = 32 * block + lane;
      const int index = row - R - top;
      unsigned rows =
          __funnelshift_r(pending()[index / 32], pending()[index / 32 + 1], index % 32) &
          ((1u << kSide) - 1);
      if (rows == 0) continue;
      bool changed = false;
      if (group < groups) {
        uint4 sums;
        uint4* const to = reinterpret_cast<uint4*>(states(row)) + group;
        // The bits from 4 columns before the group on.
        const int first = group * kGroup + 32 - kMaxTemplateRadius;
        for (; rows != 0; rows &= rows - 1) {
          const int dy = __ffs(static_cast<int>(rows)) - 1 - R;
#pragma unroll
          for (int to_one = 0; to_one < 2; ++to_one) {
            const std::uint32_t* const flipped = many(to_one, row + dy) + first / 32;
            constexpr unsigned kSeen = ((1u << (kGroup + 2 * R)) - 1) << (kMaxTemplateRadius - R);
            unsigned bits = __funnelshift_r(flipped[0], flipped[1], first % 32) & kSeen;
            if (bits == 0) continue;
            if (!changed) sums = *to;
            changed = true;
            for (; bits != 0; bits &= bits - 1) {
              const uint4 slice = slices(to_one, dy)[__ffs(static_cast<int>(bits)) - 1];
              sums.x += slice.x;
              sums.y += slice.y;
              sums.z += slice.z;
              sums.w += slice.w;
            }
          }
        }
        if (changed) *to = sums;
      }
      if (__any_sync(kFull, changed) && lane == 0) stamps(row)[block] = turn;
    }
  }

  /// Makes `many` empty again.
  __device__ void forget_many() {
    for (int i = tid; i < at.many_words(); i += kBandThreads) many()[i] = 0;
    if (tid < at.pending_words()) pending()[tid] = 0;
    if (tid == 0) crowded() = 0;
  }

  // ---- mail

  __device__ ulonglong2* mail(std::uint32_t sweep, int row, int part) {
    const unsigned slot = (sweep & 1) * static_cast<unsigned>(height) + static_cast<unsigned>(row);
    return reinterpret_cast<ulonglong2*>(a.mail) +
           (slot * 2 + static_cast<unsigned>(part)) * static_cast<unsigned>(mail_pairs(width));
  }

  /// Tells of `rows` rows that have had their turn: first, first + step ... Nothing is `fresh` when
  /// none of them has flipped.
  __device__ void send(int first, int step, int rows, bool swap, bool fresh, bool crowd,
                       std::uint32_t sweep) {
    const int shift = swap ? 1 : 0;
    for (int item = warp - kClerk - 1; item < rows << shift; item += kSenders) {
      const int part = swap ? item & 1 : 0;
      const int row = first + (item >> shift) * step;
      const bool near = row < begin + a.reach || row >= end - a.reach;
      if (!near && !fresh) continue;
      ulonglong2* const box = mail(sweep, row, part);
      std::uint32_t* const flipped = flips(row + part) + 1;
#pragma unroll 1
      for (int word = 2 * lane; word < words; word += 64) {
        std::uint32_t bits[2] = {0, 0};
        if (fresh) {
          bits[0] = flipped[word];
          bits[1] = flipped[word + 1];  // behind the image there is one more
        }
        if (near) send_mail(box + word / 2, sweep, bits[0], bits[1]);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (bits[i] == 0) continue;
          flipped[word + i] = 0;
          const std::uint32_t ones =
              atomicXor(outputs(row + part) + word + i + 1, bits[i]) ^ bits[i];
          if (crowd) add_many(row + part, word + i, bits[i], ones);
        }
      }
    }
  }

  /// Waits for the turn of a neighbor's row that precedes ours.
  __device__ void receive(int row, std::uint32_t sweep, int parts) {
    std::uint32_t* const heap =
        reinterpret_cast<std::uint32_t*>(shared + at.letters) + warp * kFewInRow;
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      const ulonglong2* const box = mail(sweep, row, part);
#pragma unroll 1
      for (int first = 0; first < words; first += 64) {
        const int word = first + 2 * lane;
        std::uint32_t bits[2] = {0, 0};
        if (word < words) {
          ulonglong2 letter = load_mail(box + word / 2);
          while (static_cast<std::uint32_t>(letter.x >> 32) != sweep ||
                 static_cast<std::uint32_t>(letter.y >> 32) != sweep) {
            // That sweep does not take place.
            if (atomicOr(&stop(), 0) != 0) break;
            letter = load_mail(box + word / 2);
          }
          if (static_cast<std::uint32_t>(letter.x >> 32) == sweep) {
            bits[0] = static_cast<std::uint32_t>(letter.x);
            bits[1] = static_cast<std::uint32_t>(letter.y);
          }
        }
        if (__any_sync(kFull, (bits[0] | bits[1]) != 0) == 0) continue;
        std::uint32_t ones[2] = {0, 0};
#pragma unroll
        for (int i = 0; i < 2; ++i)
          if (bits[i] != 0)
            ones[i] = atomicXor(outputs(row + part) + word + i + 1, bits[i]) ^ bits[i];
        // Where mine begin in a list of all lanes' flips.
        const int mine = __popc(bits[0]) + __popc(bits[1]);
        int before = mine;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
          const int left = __shfl_up_sync(kFull, before, d);
          if (lane >= d) before += left;
        }
        const int count = __shfl_sync(kFull, before, 31);
        before -= mine;
        std::uint32_t* to = heap;
        if (count > kFewInRow) {
          int begins = 0;
          if (lane == 0) begins = atomicAdd(&left(), count);
          begins = __shfl_sync(kFull, begins, 0);
          if (begins + count > kListed) {
            if (lane == 0) atomicMin(&left_end(), begins);
#pragma unroll
            for (int i = 0; i < 2; ++i)
              if (bits[i] != 0) add_many(row + part, word + i, bits[i], ones[i]);
            continue;
          }
          to = left_list() + begins;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          for (; bits[i] != 0; bits[i] &= bits[i] - 1) {
            const int bit = __ffs(static_cast<int>(bits[i])) - 1;
            to[before++] = flip_of(32 * (word + i) + bit, row + part - top, ones[i] >> bit & 1);
          }
        }
        if (to != heap) continue;
        __syncwarp();
        apply_list(heap, count, lane, 32);
        __syncwarp();
      }
    }
  }

  /// Whether an X of these columns, fewer than share a stamp, has changed since that turn.
  __device__ bool stale(int row, int x, int columns, int since) {
    const int* const stamp = stamps(row);
    const int first = min(x / kStampColumns, at.blocks - 1);
    const int last = min((x + columns - 1) / kStampColumns, at.blocks - 1);
    return max(stamp[first], stamp[last]) > since;
  }

  /// Notes the flips of a lane's cells; `ones`: what they were.
  __device__ void mark(int row, int x, std::uint32_t bits, std::uint32_t ones) {
    if (bits == 0) return;
    std::uint32_t* const to = flips(row) + x / 32 + 1;
    atomicXor(to, bits << x % 32);
    const std::uint32_t over = x % 32 == 0 ? 0 : bits >> (32 - x % 32);
    if (over != 0) atomicXor(to + 1, over);
    int at_entry = atomicAdd(&listed(now), __popc(bits));
    for (; bits != 0 && at_entry < kListed; bits &= bits - 1, ++at_entry) {
      const int bit = __ffs(static_cast<int>(bits)) - 1;
      list()[at_entry] = flip_of(x + bit, row - top, ~ones >> bit & 1);
    }
  }

  // ---- turns

  /// S: spacing. Flips travel one lane to the left for each color.
  template <int S>
  static constexpr int kUseful = 32 - (S - 1);

  /// X of S cells from column x on. Zeros where there are none; what is behind the image in its
  /// last group of cells is anything.
  template <int S>
  __device__ void load_states(int row, int x, std::int32_t (&state)[S]) {
    constexpr int kPieces = S / 2 + S % 2;
    const std::uint32_t* const from = states(row) + (x >> 1);
    std::int32_t both[2 * kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const std::uint32_t word = x + 2 * i < width + 1 ? from[i] : 0;
      both[2 * i] = low_of(word);
      both[2 * i + 1] = high_of(word);
    }
    const bool odd = S % 2 != 0 && (x & 1) != 0;
#pragma unroll
    for (int q = 0; q < S; ++q)
      state[q] = S % 2 != 0 && odd ? both[q + 1 < 2 * kPieces ? q + 1 : q] : both[q];
  }

  template <int S>
  __device__ void update(int row, int first) {
    const int x = first + lane * S;
    std::int32_t state[S];
    std::uint32_t bits = 0;
    std::uint32_t asked = 0;
    std::uint32_t valid = 0;
    if (x < width) {
      const std::uint32_t* const output = outputs(row) + x / 32 + 1;
      bits = __funnelshift_r(output[0], output[1], x % 32);
      valid = width - x >= S ? (1u << S) - 1 : (1u << (width - x)) - 1;
    }
    load_states<S>(row, x, state);
#pragma unroll
    for (int q = 0; q < S; ++q) asked |= (state[q] >= 0 ? 1u : 0u) << q;
    if (__any_sync(kFull, ((asked ^ bits) & valid) != 0) == 0) return;
    std::uint32_t flipped = 0;
#pragma unroll
    for (int q = 0; q < S; ++q) {
      const bool one = (bits >> q & 1) != 0;
      const bool flips_now = (valid >> q & 1) != 0 && (state[q] >= 0) != one;
      const std::int32_t change = flips_now ? (one ? -2 : 2) : 0;
      if (flips_now) flipped |= 1u << q;
#pragma unroll
      for (int t = q + 1; t < S; ++t)
        if (t - q <= R) state[t] += change * weight_a(q - t, 0);
      if (S + q - (S - 1) <= R) {
        const std::int32_t right = __shfl_down_sync(kFull, change, 1);
#pragma unroll
        for (int t = q + 1; t < S; ++t)
          if (S + q - t <= R) state[t] += right * weight_a(S + q - t, 0);
      }
    }
    if (lane >= kUseful<S>) flipped = 0;
    if (flipped != 0) {
      mark(row, x, flipped, bits);
      atomicAdd(&count(), static_cast<unsigned>(__popc(flipped)));
    }
  }

  template <int S>
  __device__ void swap(int row, int first) {
    const bool below = row + 1 < height;
    const int x = first + lane * S;
    std::int32_t upper[S];
    std::int32_t lower[S];
    std::uint32_t upper_bits = 0;
    std::uint32_t lower_bits = 0;
    if (x < width) {
      const std::uint32_t* const output = outputs(row) + x / 32 + 1;
      upper_bits = __funnelshift_r(output[0], output[1], x % 32);
      if (below)
        lower_bits = __funnelshift_r(output[at.word_stride], output[at.word_stride + 1], x % 32);
    }
    load_states<S>(row, x, upper);
    load_states<S>(below ? row + 1 : row, x, lower);
    // What the cells are before this lane changes them.
    std::uint32_t upper_before = upper_bits;
    const std::uint32_t lower_before = lower_bits;
    const std::int32_t center = 2 * weight_a(0, 0);
    const std::int32_t right_bonus = center - 2 * weight_a(1, 0);
    const std::int32_t below_bonus = center - 2 * weight_a(0, 1);
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
      if (x + q + 1 < width && right_one != one)
        right_gain = (one ? right_state - upper[q] : upper[q] - right_state) + right_bonus;
      if (below && x + q < width && below_one != one)
        below_gain = (one ? lower[q] - upper[q] : upper[q] - lower[q]) + below_bonus;
      int move = 0;
      if (right_gain > 0 && right_gain >= below_gain) {
        move = 1;
      } else if (below_gain > 0) {
        move = 2;
      }
      if (__any_sync(kFull, move != 0) == 0) continue;
      if (move != 0 && lane < kUseful<S>) ++swaps;
      // The change of this cell's output; the partner's is the opposite.
      const int change = move == 0 ? 0 : one ? -move : move;
      const int left_change = __shfl_up_sync(kFull, change, 1);
      const int right_change = __shfl_down_sync(kFull, change, 1);
      // X that is asked for later in this turn: of the cells to come, and of the first one, which
      // is the last one's neighbor in the lane before.
#pragma unroll
      for (int from_lane = -1; from_lane <= 1; ++from_lane) {
        int source = from_lane == 0 ? change : from_lane < 0 ? left_change : right_change;
        if (from_lane < 0 && lane == 0) source = 0;
        if (from_lane > 0 && lane == 31) source = 0;
        const bool to_right = source == 1 || source == -1;
        const std::int32_t amount = source == 0 ? 0 : source > 0 ? 2 : -2;
        const std::int32_t right = to_right ? amount : 0;
        const std::int32_t down = to_right ? 0 : amount;
#pragma unroll
        for (int t = 0; t < S; ++t) {
          const int d = t - (q + from_lane * S);
          const bool first_cell = t == 0 && q < S - 1;
          if (d < -R || d > R + 1 || !(t > q || first_cell)) continue;
          upper[t] += right * a.swap[0][0][d + R] + down * a.swap[1][0][d + R];
          if (t > q) lower[t] += right * a.swap[0][1][d + R] + down * a.swap[1][1][d + R];
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
      if (q == S - 1 && lane > 0 && (left_change == 1 || left_change == -1)) upper_bits ^= 1u;
    }
    if (lane < kUseful<S>) {
      mark(row, x, upper_flips, upper_before);
      if (below) mark(row + 1, x, lower_flips, lower_before);
      if (swaps != 0) atomicAdd(&count(), 2 * swaps);
    }
  }

  template <int S>
  __device__ int pieces_of() const {
    return (width + kUseful<S> * S - 1) / (kUseful<S> * S);
  }
  /// For divisions by the number of pieces of a row.
  __device__ unsigned inverse_of_pieces(int spacing, bool swaps) const {
    const int pieces = swaps || spacing != R + 1 ? pieces_of<R + 2>() : pieces_of<R + 1>();
    return kFull / static_cast<unsigned>(pieces) + 1;
  }

  /// The turns of `rows` rows, first, first + S ...: where an X has changed since the turn `since`,
  /// or, with a negative one, everywhere.
  template <int S, bool kSwaps>
  __device__ void take_turns(int first, int rows, int since, unsigned inverse) {
    constexpr int kCells = kUseful<S> * S;
    const int pieces = pieces_of<S>();
    // Each lane looks after a piece.
    for (int begins = 0; begins < rows * pieces; begins += 32 * kWarps) {
      const int item = begins + lane * kWarps + warp;
      const int index =
          pieces == 1 ? item : static_cast<int>(__umulhi(static_cast<unsigned>(item), inverse));
      const int row = first + index * S;
      const int column = (item - index * pieces) * kCells;
      bool asks = item < rows * pieces;
      if (asks && since >= 0)
        asks = stale(row, column, 32 * S + 1, since) ||
               (kSwaps && row + 1 < height && stale(row + 1, column, 32 * S, since));
      for (unsigned left = __ballot_sync(kFull, asks); left != 0; left &= left - 1) {
        const int from = __ffs(static_cast<int>(left)) - 1;
        const int its_row = __shfl_sync(kFull, row, from);
        const int its_column = __shfl_sync(kFull, column, from);
        if constexpr (kSwaps) {
          swap<S>(its_row, its_column);
        } else {
          update<S>(its_row, its_column);
        }
      }
    }
  }

  // ---- the end

  __device__ void write() {
    const int rows = end - begin;
    const bool bad = *static_cast<volatile unsigned*>(&a.end.state->bad) != 0;
    const bool bytes = a.end.last && a.end.format == PixelFormat::kGray8;
    char* const out = a.end.last ? static_cast<char*>(a.end.frame->out[0]) : nullptr;
    const std::int64_t stride = a.end.last ? a.end.frame->out_stride[0] : 0;
    const bool aligned = (reinterpret_cast<std::uintptr_t>(out) | stride) % 16 == 0;
    const int pieces = (width + 15) / 16;
    const std::uint32_t darkest = detail::gray_of_level(0, 2, a.end.range, 257, true);
    const std::uint32_t span = detail::gray_of_level(1, 2, a.end.range, 257, true) - darkest;
    for (int i = tid; i < rows * pieces; i += kBandThreads) {
      const int row = begin + i / pieces;
      const int x = i % pieces * 16;
      const std::uint32_t bits = outputs(row)[x / 32 + 1] >> x % 32;
      const auto four = [&](int quad) {
        return ((bits >> 4 * quad & 15) * 0x00204081u) & 0x01010101u;
      };
      const uint4 k = make_uint4(four(0), four(1), four(2), four(3));
      if (!a.end.last) *reinterpret_cast<uint4*>(a.to + row * a.cells.pitch + x) = k;
      if (a.end.keep != nullptr && !bad)
        *reinterpret_cast<uint4*>(a.end.keep + row * a.cells.pitch + x) = k;
      if (!a.end.last) continue;
      if (bytes && aligned && x + 16 <= width) {
        const std::uint32_t black = a.end.white_is_one ? 0 : 0x01010101u;
        const auto gray = [&](std::uint32_t quad) {
          return bad ? 0u : darkest * 0x01010101u + (quad ^ black) * span;
        };
        *reinterpret_cast<uint4*>(out + row * stride + x) =
            make_uint4(gray(k.x), gray(k.y), gray(k.z), gray(k.w));
      } else {
        for (int c = 0; c < 16 && x + c < width; ++c)
          write_gray(a.end, x + c, row, static_cast<int>(bits >> c & 1), bad);
      }
    }
  }

  __device__ void run();
};

/// Band 0 keeps account of what the sweeps changed: sweep by sweep, up to the first of a stage that
/// changed nothing.
struct Account {
  std::uint32_t sweeps = 0;
  std::uint32_t changed = 0;
  bool rested = false;  // this stage

  __device__ void note(std::uint32_t count, bool begins) {
    if (begins) rested = false;
    if (rested) return;
    ++sweeps;
    changed = count;
    rested = count == 0;
  }
};

template <int R, StatePlace kPlace>
__device__ void Band<R, kPlace>::run() {
  clear();
  __syncthreads();
  if (tid == 0) left_end() = kListed;
  make_slices();
  make_row_weights();
  load_outputs();
  __syncthreads();
  if (a.fused) {
    sum_states<Sum::kFused>();
  } else {
    sum_states<Sum::kControl>();
    sum_states<Sum::kFeedback>();
  }

  const std::uint32_t base = *static_cast<volatile std::uint32_t*>(&a.shared->sweep);
  std::uint32_t sweep = base;
  // The neighbor's row whose mail this warp reads, and the last sweep that it has read of.
  const int seen = warp < a.reach ? begin - a.reach + warp : end + warp - a.reach;
  const bool reads = warp < 2 * a.reach && seen >= 0 && seen < height;
  std::uint32_t had = base - 1;
  // What has been decided and not been sent.
  int sent_first = 0;
  int sent_step = 0;
  int sent_rows = 0;
  bool sent_swap = false;
  bool swapped = false;  // in the stage before
  bool swaps_last = false;
  std::uint32_t last_begin = base;  // of the last stage

  const bool clerk = tid == 32 * kClerk;
  unsigned long long* const counts = a.shared->counts;
  unsigned untold = 0;  // cells that changed in the last sweep
  bool telling = false;
  const auto tell = [&] {
    if (!telling) return;
    // What band 0 has cleared must be clear before others can come to it.
    if (blockIdx.x == 0) __threadfence();
    atomicAdd(&counts[(sweep - 1) & 7], (1ull << kCountBits) + untold);
    telling = false;
  };
  const auto counted = [&](std::uint32_t which) {
    std::uint64_t value;
    do {
      value = load_mail(&counts[which & 7]);
    } while (value >> kCountBits != gridDim.x);
    return static_cast<std::uint32_t>(value);
  };
  Account account;
  std::uint32_t noted = base;  // next sweep for the account
  unsigned begins = 0;         // bit: the sweep of that number, modulo 8, began a stage

  for (int s = 0; s < a.stage_count; ++s) {
    const BandStage stage = a.stage[s];
    const int spacing = stage.spacing;
    const std::uint32_t stage_begin = sweep;
    const int begin_class = begin % spacing;
    const int seen_class = seen % spacing;
    const int whole = (end - begin) / spacing;  // rows of each class, but for the first ones
    const int over = (end - begin) % spacing;
    const int turns = whole > 0 ? spacing : over;  // of a sweep
    const unsigned inverse = inverse_of_pieces(spacing, stage.swap);
    bool stopped = false;
    for (int n = 0; n < stage.max_sweeps; ++n) {
      begins = n == 0 ? begins | 1u << (sweep & 7) : begins & ~(1u << (sweep & 7));
      bool begun = false;
      for (int p = 0; p < spacing; ++p) {
        const int offset = p - begin_class + (p < begin_class ? spacing : 0);
        const int rows = whole + (offset < over ? 1 : 0);
        if (rows == 0) continue;
        const int first = begin + offset;
        ++turn;
        const int flipped = sent_step != 0 ? listed(now) : 0;
        if (warp > kClerk && sent_step != 0)
          send(sent_first, sent_step, sent_rows, sent_swap, flipped != 0, flipped > kListed,
               begun ? sweep : sweep - 1);
        if (flipped <= kListed) apply_list(list(), flipped, tid, kBandThreads);
        if (tid == 0) listed(now ^ 1) = 0;
        if (reads) {
          const int last = first + (rows - 1) * spacing;
          const bool sees = warp < a.reach ? first - seen <= a.reach : seen - last <= a.reach;
          if (sees) {
            const std::uint32_t due = seen_class < p ? sweep : sweep - 1;
            while (static_cast<int>(due - had) > 0) {
              ++had;
              const bool swaps = static_cast<int>(had - stage_begin) >= 0 ? stage.swap : swapped;
              receive(seen, had, swaps ? 2 : 1);
            }
          }
        } else if (clerk && !begun) {
          tell();
          if (static_cast<int>(sweep - base) >= 2) {
            const std::uint32_t count = counted(sweep - 2);
            if (n >= 2 && count == 0) atomicExch(&stop(), 1);
            if (blockIdx.x == 0) {
              account.note(count, (begins >> (noted & 7) & 1) != 0);
              ++noted;
              counts[(sweep + 4) & 7] = 0;
            }
          }
        }
        sent_step = 0;
        __syncthreads();
        if (!begun && stop() != 0) {
          stopped = true;
          break;
        }
        begun = true;
        const int left_over = min(left(), left_end());
        const bool crowd = crowded() != 0;
        if (left_over != 0 || crowd) {
          apply_list(left_list(), left_over, tid, kBandThreads);
          if (crowd) {
            __syncthreads();
            apply_many();
          }
          __syncthreads();
          if (crowd) forget_many();
          if (tid == 0) {
            left() = 0;
            left_end() = kListed;
          }
        }
        // Rest in one kind of moves is none in the other.
        const int since = n == 0 ? -1 : turn - turns;
        now ^= 1;
        if (stage.swap) {
          take_turns<R + 2, true>(first, rows, since, inverse);
        } else if (spacing == R + 1) {
          take_turns<R + 1, false>(first, rows, since, inverse);
        } else {
          take_turns<R + 2, false>(first, rows, since, inverse);
        }
        __syncthreads();
        sent_first = first;
        sent_step = spacing;
        sent_rows = rows;
        sent_swap = stage.swap;
      }
      if (stopped) break;
      if (clerk) {
        untold = count();
        count() = 0;
        telling = true;
      }
      ++sweep;
    }
    if (s == a.stage_count - 1) {
      swaps_last = stage.swap;
      last_begin = stage_begin;
    } else {
      swapped = stage.swap;
    }
    if (!stopped) continue;
    // The sweep that has not taken place is the next stage's first.
    if (static_cast<int>(had - (sweep - 1)) > 0) had = sweep - 1;
    __syncthreads();
    if (tid == 0) stop() = 0;
    __syncthreads();
  }
  if (warp > kClerk && sent_step != 0)
    send(sent_first, sent_step, sent_rows, sent_swap, true, false, sweep - 1);
  if (clerk) tell();
  // Swaps of the band above reach into ours.
  if (swaps_last && reads) {
    while (static_cast<int>(sweep - 1 - had) > 0) {
      ++had;
      receive(seen, had, static_cast<int>(had - last_begin) >= 0 || swapped ? 2 : 1);
    }
  }
  __syncthreads();
  write();
  __syncthreads();

  if (!clerk) return;
  if (blockIdx.x == 0) {
    for (; noted != sweep; ++noted) account.note(counted(noted), (begins >> (noted & 7) & 1) != 0);
    CellTotals& totals = *a.end.totals;
    totals.sweeps = account.sweeps + (a.end.first ? 0 : totals.sweeps);
    totals.changed = account.changed;
    totals.converged = account.rested ? 1 : 0;
    if (a.end.last) tell_record(a.end);
  }
  __threadfence();
  if (atomicInc(&a.shared->ended, gridDim.x - 1) == gridDim.x - 1) {
    a.shared->sweep = sweep;
    for (int i = 0; i < 8; ++i) counts[i] = 0;
  }
  if (a.end.last) finish_frame(a.end.state, a.end.outcome, a.end.frames, gridDim.x);
}

template <int R, StatePlace kPlace>
__global__ void __launch_bounds__(kBandThreads, 1)
    run_band(const __grid_constant__ BandArguments arguments) {
  extern __shared__ uint4 memory[];
  Band<R, kPlace> band(arguments, reinterpret_cast<char*>(memory));
  band.run();
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
