// The schedules of Nikonorov, Fursov and Yakimov (2012) for the recursion of a quadrant.
//
// A block of 32 threads computes one pixel: each thread adds some of the products of (4) and (5),
// and a reduction adds the sums of the threads. Either a step of the recursion adds both sums, or a
// kernel before it has written x1, the sum (4), to the pixels of the result. A step then reads this
// one value and those of y.
//
// Fixed allocation: a launch for each plane of the schedule, in order, with a block for each point.
//
// Flexible allocation (listing 3): one launch. A block takes the nearest column that is free and
// ready, computes its next pixel and releases the column. Column j is ready when column j - 1 has
// more rows than it. The listing shows only the idea; this code adds two things. A block tests
// again that the column is ready when it has the lock, because another block may have been faster.
// And memory is ordered: a block that reads `done` or takes a lock sees the pixels that were
// written before. For that the writer has a fence between its pixel and `done`, and the reader one
// after reading `done`.
//
// No block waits for ever, in whatever order and number the blocks are resident:
//
// 1. A block holds a lock only while it tests the column and computes one pixel. It waits for
//    nothing in this time, so every lock is released.
// 2. A block that has finished with its home column leaves it for its next one or ends. It stays
//    only while a column from 0 to its home column is not done.
// 3. Then the leftmost of these columns is ready, because all columns to its left are done. A
//    search that finds nothing is repeated from the home column, and then covers all columns from
//    there to the left that are not done. So either the block takes a column, or another block
//    holds the leftmost one. That block is resident and computes a pixel.
// 4. When a column proves not to be ready under the lock, another block has computed a pixel of it
//    since the search. There are finitely many pixels, so this happens finitely often.
//
// So as long as a block stays, pixels are computed, and there are finitely many. Blocks that are
// not resident are needed for nothing. The hardware must let every resident block run, which it
// does since compute capability 7.0.
#include "bench/papers/restoration/paper_kernels.h"
#include "kernels/core/shared_memory.cuh"

namespace ocellus::paper {
namespace {

constexpr unsigned kAll = 0xffffffffu;

/// A quadrant in its mirrored coordinates.
struct Quadrant {
  const float* x;
  float* y;
  // From row to row and from column to column.
  std::ptrdiff_t x_row;
  std::ptrdiff_t x_column;
  std::ptrdiff_t y_row;
  std::ptrdiff_t y_column;

  __device__ explicit Quadrant(const PaperRestorationArguments& a) {
    const int quadrant = static_cast<int>(blockIdx.y);
    const std::size_t pixels =
        static_cast<std::size_t>(a.image.width) * static_cast<std::size_t>(a.image.height);
    const bool mirrored = (quadrant & 1) != 0;
    const bool upward = (quadrant & 2) != 0;
    x_column = mirrored ? -1 : 1;
    x_row = upward ? -a.image.width : a.image.width;
    const std::size_t origin = (upward ? pixels - static_cast<std::size_t>(a.image.width) : 0) +
                               (mirrored ? static_cast<std::size_t>(a.image.width - 1) : 0);
    x = a.image.pixels + origin;
    if (a.by_planes) {
      y = a.planes + static_cast<std::ptrdiff_t>(quadrant) * a.image.width;
      y_row = static_cast<std::ptrdiff_t>(plane_values(a.image));
      y_column = y_row + 1;
    } else {
      y = a.planes + static_cast<std::size_t>(quadrant) * pixels + origin;
      y_row = x_row;
      y_column = x_column;
    }
  }
  __device__ float x_at(int i, int j) const { return x[i * x_row + j * x_column]; }
  __device__ float* y_at(int i, int j) const { return y + i * y_row + j * y_column; }
};

/// What a kernel adds up for a pixel. kFeedback begins with x1.
enum class Sums { kBoth, kFeedforward, kFeedback };

/// The neighborhood of the block's pixel in shared memory: m rows of x and of y, row i at i modulo
/// m. In a row, element k is k columns to the left.
template <Sums sums>
struct Neighborhood {
  float* x;
  float* y;
  int m;

  __device__ Neighborhood(float* memory, int support)
      : x(memory), y(sums == Sums::kBoth ? memory + support * support : memory), m(support) {}

  /// With kFeedback, element 0 of the newest row is x1 of the block's pixel.
  __device__ void read(const Quadrant& q, int i, int j, int k) const {
    const int at = (i < 0 ? (i + m) % m : i % m) * m + k;
    const bool inside = i >= 0 && j - k >= 0;
    if constexpr (sums != Sums::kFeedback) x[at] = inside ? q.x_at(i, j - k) : 0.0f;
    // Other blocks write y, so it must not come from the multiprocessor's own cache.
    if constexpr (sums != Sums::kFeedforward) y[at] = inside ? __ldcg(q.y_at(i, j - k)) : 0.0f;
  }
  __device__ void read_row(const Quadrant& q, int i, int j) const {
    for (int k = static_cast<int>(threadIdx.x); k < m; k += kBlockThreads) read(q, i, j, k);
  }
  __device__ void read_all(const Quadrant& q, int i, int j) const {
    for (int r = 0; r < m; ++r) read_row(q, i - r, j);
  }
  /// The same by planes of the schedule, in which the pixels of a plane are neighbors.
  __device__ void read_planes(const Quadrant& q, int i, int j) const {
    static_assert(kMaxFilterSupport <= kBlockThreads);
    for (int distance = 0; distance <= 2 * (m - 1); ++distance) {
      const int k = max(0, distance - m + 1) + static_cast<int>(threadIdx.x);
      if (k <= min(distance, m - 1)) read(q, i - (distance - k), j, k);
    }
  }

  /// The pixel of row i. Threads multiply and add some of the products and reduce their sums. All
  /// threads receive the result.
  __device__ float pixel(const float* taps, int i) const {
    const int count = m * m;
    const int newest = i % m;
    float sum = 0.0f;
    if (sums == Sums::kFeedback && threadIdx.x == 0) sum = y[newest * m];
    for (int n = static_cast<int>(threadIdx.x); n < count; n += kBlockThreads) {
      const int r = n / m;
      const int place = (newest - r + m) % m * m + n % m;
      if constexpr (sums != Sums::kFeedback) sum = fmaf(taps[n], x[place], sum);
      if (sums != Sums::kFeedforward && n > 0) sum = fmaf(taps[count + n], y[place], sum);
    }
    for (int distance = kBlockThreads / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(kAll, sum, distance);
    return sum;
  }
};

__device__ const float* taps_of(const PaperRestorationArguments& a) {
  return a.taps + static_cast<std::size_t>(blockIdx.y) * 2 * a.support * a.support;
}

__global__ void __launch_bounds__(kBlockThreads)
    feedforward(const __grid_constant__ PaperRestorationArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, memory);
  const Quadrant quadrant(a);
  const Neighborhood<Sums::kFeedforward> near(memory, a.support);
  const int j = static_cast<int>(blockIdx.x);
  for (int i = 0; i < a.image.height; ++i) {
    if (i == 0)
      near.read_all(quadrant, i, j);
    else
      near.read_row(quadrant, i, j);
    __syncwarp();
    const float value = near.pixel(taps_of(a), i);
    __syncwarp();
    if (threadIdx.x == 0) *quadrant.y_at(i, j) = value;
  }
}

template <Sums sums>
__global__ void __launch_bounds__(kBlockThreads)
    fixed_allocation(const __grid_constant__ PaperRestorationArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, memory);
  const int t = a.plane_of_schedule;
  const int i = (t < a.image.width ? 0 : t - a.image.width + 1) + static_cast<int>(blockIdx.x);
  const int j = t - i;
  const Quadrant quadrant(a);
  const Neighborhood<sums> near(memory, a.support);
  if (a.by_planes)
    near.read_planes(quadrant, i, j);
  else
    near.read_all(quadrant, i, j);
  __syncwarp();
  const float value = near.pixel(taps_of(a), i);
  if (threadIdx.x == 0) *quadrant.y_at(i, j) = value;
}

/// `done` and `locks` of a quadrant.
struct Columns {
  int* done;
  int* locks;
  int rows;
  StepCounts count{};  ///< of this block

  __device__ int done_of(int column) const {
    return *static_cast<volatile const int*>(done + column);
  }
  /// Rows that are done to the left of a column.
  __device__ int done_before(int column) const {
    return column == 0 ? rows + 1 : done_of(column - 1);
  }

  /// The nearest column that is free and ready, from `column` to the left; -1: none. Each thread
  /// looks at one of 32 columns.
  __device__ int find(int column) {
    for (int from = column; from >= 0; from -= kBlockThreads) {
      count.accesses += 3;
      const int mine = max(from - static_cast<int>(threadIdx.x), 0);
      const int finished = done_of(mine);
      const int before = done_before(mine);
      const int lock = *static_cast<volatile const int*>(locks + mine);
      const bool free = lock == 0 && finished < rows && before > finished;
      const unsigned found = __ballot_sync(kAll, free);
      if (found != 0) return max(from - (__ffs(static_cast<int>(found)) - 1), 0);
      // All columns to the left of one that is done are done.
      if (__any_sync(kAll, finished == rows)) return -1;
    }
    return -1;
  }

  /// Claims a column. Returns the row of its next pixel, or -1 when another block was faster.
  __device__ int claim(int column) {
    int row = -1;
    count.accesses += 3;
    if (threadIdx.x == 0 && atomicCAS(locks + column, 0, 1) == 0) {
      __threadfence();
      const int finished = done_of(column);
      const int before = done_before(column);
      if (finished < rows && before > finished)
        row = finished;
      else
        atomicExch(locks + column, 0);
      __threadfence();
    }
    return __shfl_sync(kAll, row, 0);
  }
};

/// Adds the count of a block.
__device__ void add_count(const StepCounts& block, StepCounts* all) {
  atomicAdd(&all->pixels, block.pixels);
  atomicAdd(&all->changes, block.changes);
  atomicAdd(&all->columns, block.columns);
  atomicAdd(&all->rows, block.rows);
  atomicAdd(&all->accesses, block.accesses);
}

template <Sums sums>
__global__ void __launch_bounds__(kBlockThreads)
    flexible_allocation(const __grid_constant__ PaperRestorationArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, memory);
  const Quadrant quadrant(a);
  const Neighborhood<sums> near(memory, a.support);
  const float* const taps = taps_of(a);
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(blockIdx.y) * a.image.width;
  Columns columns = {a.done + first, a.locks + first, a.image.height};
  int held_column = -1;  // the pixel whose neighborhood is in shared memory
  int held_row = -1;
  for (int home = static_cast<int>(blockIdx.x); home < a.image.width;
       home += static_cast<int>(gridDim.x)) {
    int column = home;
    for (;;) {
      column = columns.find(column);
      if (column < 0) {
        ++columns.count.accesses;
        // All threads must see the same number.
        if (__shfl_sync(kAll, columns.done_of(home), 0) == columns.rows) break;
        column = home;
        continue;
      }
      const int row = columns.claim(column);
      if (row < 0) continue;
      __syncwarp();  // orders the reads of all threads behind the claim
      const bool stays = column == held_column && row == held_row + 1;
      if (stays)
        near.read_row(quadrant, row, column);
      else
        near.read_all(quadrant, row, column);
      ++columns.count.pixels;
      columns.count.rows += stays ? 1 : near.m;
      columns.count.accesses += 2;
      if (column != held_column && held_column >= 0) {
        ++columns.count.changes;
        columns.count.columns += static_cast<unsigned long long>(
            column > held_column ? column - held_column : held_column - column);
      }
      __syncwarp();
      const float value = near.pixel(taps, row);
      __syncwarp();
      if (threadIdx.x == 0) {
        near.y[row % near.m * near.m] = value;
        *quadrant.y_at(row, column) = value;
        __threadfence();
        atomicExch(columns.done + column, row + 1);
        __threadfence();
        atomicExch(columns.locks + column, 0);
      }
      held_column = column;
      held_row = row;
      __syncwarp();
    }
  }
  if (a.counts != nullptr && threadIdx.x == 0) add_count(columns.count, a.counts);
}

}  // namespace

const Kernel<PaperRestorationArguments> kFeedforwardKernel = feedforward;

Kernel<PaperRestorationArguments> fixed_kernel(bool fused) noexcept {
  return fused ? fixed_allocation<Sums::kBoth> : fixed_allocation<Sums::kFeedback>;
}

Kernel<PaperRestorationArguments> flexible_kernel(bool fused) noexcept {
  return fused ? flexible_allocation<Sums::kBoth> : flexible_allocation<Sums::kFeedback>;
}

}  // namespace ocellus::paper
