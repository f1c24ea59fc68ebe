// The recursion of a quadrant in overlapping tiles.
//
// The impulse response is shorter than the margin, so a tile may begin at rest one margin before
// its results: tiles need nothing of each other. A block computes one tile of one quadrant. A
// thread owns four columns and goes down, a row at each step. It is one row behind its left
// neighbor, and the first lane of a warp is kPhase rows behind the last lane of the previous warp.
// Warps therefore meet at a barrier only once in kPhase steps.
//
// At each step a thread reads the pixels and the results of its row in the columns to the left,
// from shared memory. It adds their products to the sums of m rows, which it keeps in registers:
// this row and the m - 1 rows below. A value is thus read once for all of its taps in a column.
#pragma once

#include <cuda_pipeline.h>

#include "kernels/core/shared_memory.cuh"
#include "kernels/restoration/kernels.h"

namespace ocellus::cuda::recursion {

/// Steps from barrier to barrier.
inline constexpr int kPhase = 2;
/// Rows by which a warp is behind the previous one.
inline constexpr int kWarpDelay = 31 + kPhase;
/// Supports up to this one keep their coefficients in registers.
inline constexpr int kLargestInRegisters = 5;
/// Supports up to this one have no loop over the columns of the coefficients. The code of larger
/// ones would not fit into the instruction cache.
inline constexpr int kLargestUnrolled = 15;

template <int kSupport>
struct Shape {
  static constexpr bool kUnrolled = kSupport <= kLargestUnrolled;
  /// Vectors that a thread reads to its left.
  static constexpr int kNeighbors = (kSupport + 2) / 4;
  /// Neighboring threads that read and write memory in the same row. Those of a group cover a
  /// whole line of the cache, so that a warp touches four lines at a step, not 32. Larger supports
  /// take so long for a step that this is no gain.
  static constexpr int kGroup = kNeighbors <= 2 ? 8 : 1;
  /// Steps by which pixels are read ahead, because memory takes longer than a step.
  static constexpr int kAhead = 3;
  /// A vector is read until `kNeighbors` steps later in its warp. In the next warp it is read up to
  /// kPhase - 1 + kNeighbors steps later, and up to kPhase steps more for the distance of two
  /// warps between barriers. The pixels of a row come up to kAhead + kGroup - 1 steps before.
  static constexpr int kRing = 16;
  static_assert(2 * kPhase + kNeighbors - 1 + kAhead + kGroup - 1 <= kRing);
  static_assert(kSupport <= kRecursionZeros);
};

__device__ inline float element(const float4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ inline float4 reversed(const float4& v) {
  return {v.w, v.z, v.y, v.x};
}

/// The coefficients of a quadrant, in shared memory or in registers.
template <int kSupport, bool kRegisters = (kSupport <= kLargestInRegisters)>
struct Coefficients {
  static constexpr int kVectors = (kSupport + 3) / 4;  ///< of a column
  const float4* a;
  const float4* b;

  __device__ explicit Coefficients(const float* table)
      : a(reinterpret_cast<const float4*>(table)), b(a + 4 * kVectors * kVectors) {}

  /// b(0, r2)
  __device__ float own_row(int r2) const { return b[r2 * kVectors].x; }
  /// Calls use(r1, a(r1, r2), b(r1, r2)) for all r1.
  template <typename Use>
  __device__ void column(int r2, const Use& use) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const float4 av = a[r2 * kVectors + k];
      const float4 bv = b[r2 * kVectors + k];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (4 * k + i < kSupport) use(4 * k + i, element(av, i), element(bv, i));
    }
  }
  /// Calls use(r1, b(r1, r2)) for all r1 but 0.
  template <typename Use>
  __device__ void rows_below(int r2, const Use& use) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const float4 bv = b[r2 * kVectors + k];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (4 * k + i > 0 && 4 * k + i < kSupport) use(4 * k + i, element(bv, i));
    }
  }
};

template <int kSupport>
struct Coefficients<kSupport, true> {
  static constexpr int kColumn = (kSupport + 3) / 4 * 4;
  float a[kSupport][kSupport];
  float b[kSupport][kSupport];

  __device__ explicit Coefficients(const float* table) {
#pragma unroll
    for (int c = 0; c < kSupport; ++c) {
#pragma unroll
      for (int r = 0; r < kSupport; ++r) {
        a[c][r] = table[c * kColumn + r];
        b[c][r] = table[(kColumn + c) * kColumn + r];
      }
    }
  }
  __device__ float own_row(int r2) const {
    return b[r2][0];
  }
  template <typename Use>
  __device__ void column(int r2, const Use& use) const {
#pragma unroll
    for (int r = 0; r < kSupport; ++r) use(r, a[r2][r], b[r2][r]);
  }
  template <typename Use>
  __device__ void rows_below(int r2, const Use& use) const {
#pragma unroll
    for (int r = 1; r < kSupport; ++r) use(r, b[r2][r]);
  }
};

/// The sums of a thread: this row and those below, of its four columns.
template <int kSupport>
struct Sums {
  float of[kRecursionColumns][kSupport];

  /// Makes the next row this row.
  __device__ void move_down() {
#pragma unroll
    for (int c = 0; c < kRecursionColumns; ++c) {
#pragma unroll
      for (int r = 0; r + 1 < kSupport; ++r) of[c][r] = of[c][r + 1];
      of[c][kSupport - 1] = 0.0f;
    }
  }

  /// Adds the products with the coefficients of a row and a column. x and y are the values that
  /// many columns to the left of the thread's own; y is known for the first `known` of them.
  __device__ void add(int r, float a, float b, const float4& x, const float4& y, int known) {
#pragma unroll
    for (int c = 0; c < kRecursionColumns; ++c) {
      of[c][r] = fmaf(a, element(x, c), of[c][r]);
      if (c < known) of[c][r] = fmaf(b, element(y, c), of[c][r]);
    }
  }

  /// Solves for the results of this row and adds their products to the sums of the rows below.
  __device__ float4 solve(const Coefficients<kSupport>& coefficients) {
    constexpr int kOwn = kSupport < kRecursionColumns ? kSupport : kRecursionColumns;
    float y[kRecursionColumns];
#pragma unroll
    for (int c = 0; c < kRecursionColumns; ++c) {
      y[c] = of[c][0];
      // The left neighbor comes last, because it is known last.
#pragma unroll
      for (int u = kOwn - 1; u > 0; --u)
        if (u <= c) y[c] = fmaf(coefficients.own_row(u), y[c - u], y[c]);
    }
#pragma unroll
    for (int u = 0; u < kOwn; ++u) {
      coefficients.rows_below(u, [&](int r, float b) {
#pragma unroll
        for (int c = u; c < kRecursionColumns; ++c) of[c][r] = fmaf(b, y[c - u], of[c][r]);
      });
    }
    return {y[0], y[1], y[2], y[3]};
  }
};

/// The rows of a tile in shared memory: row i is at i modulo kRing.
template <int kSupport>
struct Ring {
  using ShapeOf = Shape<kSupport>;
  float4* x;  ///< the thread's column of row 0; its left neighbors are before it
  float4* y;
  int row_vectors;

  __device__ int at(int row) const { return (row & (ShapeOf::kRing - 1)) * row_vectors; }
};

/// Adds what comes from the row's other columns: x from the thread's own columns and those to the
/// left, y from those to the left. `at` is the place of the row in the ring.
template <int kSupport>
__device__ inline void add_row(Sums<kSupport>& sums, const Coefficients<kSupport>& coefficients,
                               const Ring<kSupport>& ring, int at, const float4& own_x) {
  using ShapeOf = Shape<kSupport>;
  const float4* const x = ring.x + at;
  const float4* const y = ring.y + at;
  // The results of the thread's own columns are not known yet.
  float4 x_now = own_x;
  float4 y_now = {};
  if constexpr (ShapeOf::kUnrolled) {
    float4 x_left = {};
    float4 y_left = {};
#pragma unroll
    for (int r2 = 0; r2 < kSupport; ++r2) {
      if (r2 % 4 == 0 && r2 / 4 < ShapeOf::kNeighbors) {
        x_left = x[-(r2 / 4 + 1)];
        y_left = y[-(r2 / 4 + 1)];
      }
      coefficients.column(
          r2, [&](int r, float a, float b) { sums.add(r, a, b, x_now, y_now, r2 < 4 ? r2 : 4); });
      x_now = {element(x_left, 3 - r2 % 4), x_now.x, x_now.y, x_now.z};
      y_now = {element(y_left, 3 - r2 % 4), y_now.x, y_now.y, y_now.z};
    }
  } else {
    const float* const x_left = reinterpret_cast<const float*>(x) - 1;
    const float* const y_left = reinterpret_cast<const float*>(y) - 1;
#pragma unroll 1
    for (int r2 = 0; r2 < kSupport; ++r2) {
      const float next_x = x_left[-r2];
      const float next_y = y_left[-r2];
      coefficients.column(
          r2, [&](int r, float a, float b) { sums.add(r, a, b, x_now, y_now, kRecursionColumns); });
      x_now = {next_x, x_now.x, x_now.y, x_now.z};
      y_now = {next_y, y_now.x, y_now.y, y_now.z};
    }
  }
}

/// Where a thread reads and writes. Rows count from the top of the tile, in mirrored coordinates.
struct Place {
  const float* from;  ///< the pixels of row 0
  std::ptrdiff_t from_pitch;
  int from_rows;  ///< rows to read; 0: the columns are outside of the image
  float* to;      ///< the results of row 0, which may lie before the plane
  std::ptrdiff_t to_pitch;
  int to_begin;  ///< rows to write
  int to_end;
  bool mirrored;  ///< along x

  __device__ Place(const RecursionArguments& a, int column) {
    const int quadrant = static_cast<int>(blockIdx.z);
    const ContinuedImage& image = a.image;
    mirrored = (quadrant & 1) != 0;
    const bool upward = (quadrant & 2) != 0;
    const int x = static_cast<int>(blockIdx.x) * a.tile_width + column;
    const int y = static_cast<int>(blockIdx.y) * a.tile_height;
    const int image_x = mirrored ? image.width - kRecursionColumns - x : x;
    const int image_y = upward ? image.height - 1 - y : y;
    const int rows = min(image.margin_y + a.tile_height, image.height - y);
    const int end = min(rows, image.height - image.margin_y - y);

    from_rows = x < image.width ? rows : 0;
    from_pitch = upward ? -image.width : image.width;
    from = image.pixels + static_cast<std::ptrdiff_t>(image_y) * image.width + image_x;
    const bool writes = column >= image.margin_x && column < image.margin_x + a.tile_width &&
                        x < image.margin_x + a.plane_width;
    to_begin = image.margin_y;
    to_end = writes ? end : 0;
    to_pitch = upward ? -a.plane_width : a.plane_width;
    to = a.planes + static_cast<std::size_t>(quadrant) * a.plane_pixels +
         static_cast<std::ptrdiff_t>(image_y - image.margin_y) * a.plane_width +
         (image_x - image.margin_x);
  }

  /// Starts a copy to shared memory, in the order of the image.
  __device__ void read(int row, float4* to_shared) const {
    const bool inside = row >= 0 && row < from_rows;
    __pipeline_memcpy_async(to_shared, inside ? from + row * from_pitch : from, sizeof(float4),
                            inside ? 0 : sizeof(float4));
    __pipeline_commit();
  }
  __device__ void write(int row, const float4& v) const {
    if (row < to_begin || row >= to_end) return;
    *reinterpret_cast<float4*>(to + row * to_pitch) = mirrored ? reversed(v) : v;
  }
};

template <int kSupport>
__global__ void __launch_bounds__(kMaxRecursionThreads)
    run_tile(const __grid_constant__ RecursionArguments a) {
  using ShapeOf = Shape<kSupport>;
  OCELLUS_DYNAMIC_SHARED(float4, shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int row_vectors = kRecursionZeros / 4 + threads;
  const int ring_vectors = ShapeOf::kRing * row_vectors;
  float4* const table = shared + 2 * ring_vectors;
  constexpr int kTableVectors = recursion_table_floats(kSupport) / 4;
  const float4* const tables =
      reinterpret_cast<const float4*>(a.tables) + blockIdx.z * kTableVectors;
  for (int i = thread; i < kTableVectors; i += threads) table[i] = tables[i];
  for (int i = thread; i < 2 * ring_vectors; i += threads) shared[i] = float4{};
  __syncthreads();

  const Coefficients<kSupport> coefficients(reinterpret_cast<const float*>(table));
  const int own = kRecursionZeros / 4 + thread;
  const Ring<kSupport> ring = {shared + own, shared + ring_vectors + own, row_vectors};
  const Place place(a, thread * kRecursionColumns);
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int rows = min(a.image.margin_y + a.tile_height,
                       a.image.height - static_cast<int>(blockIdx.y) * a.tile_height);
  const int first_step = warp * kWarpDelay;
  const int steps = rows + 31 + ShapeOf::kGroup - 1 + (threads / 32 - 1) * kWarpDelay;

  Sums<kSupport> sums = {};
  const int place_in_group = lane % ShapeOf::kGroup;
  for (int row = -lane; row < place_in_group + ShapeOf::kAhead - lane; ++row)
    place.read(row, ring.x + ring.at(row));
  for (int step = 0; step < steps; ++step) {
    if (step >= first_step && step < first_step + rows + 31 + ShapeOf::kGroup - 1) {
      const int row = step - first_step - lane;
      const int at = ring.at(row);
      const int coming = row + place_in_group + ShapeOf::kAhead;
      place.read(coming, ring.x + ring.at(coming));
      __pipeline_wait_prior(ShapeOf::kAhead);
      float4 x = ring.x[at];
      if (place.mirrored) ring.x[at] = x = reversed(x);
      sums.move_down();
      add_row(sums, coefficients, ring, at, x);
      ring.y[at] = sums.solve(coefficients);
      const int leaving = row + place_in_group - (ShapeOf::kGroup - 1);
      place.write(leaving, ring.y[ring.at(leaving)]);
    }
    if (step % kPhase == kPhase - 1)
      __syncthreads();
    else
      __syncwarp();
  }
}

template <int kSupport>
RecursionVariant variant() noexcept {
  return {kSupport, run_tile<kSupport>, Shape<kSupport>::kRing};
}

}  // namespace ocellus::cuda::recursion
