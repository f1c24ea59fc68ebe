// The schedules of Ikeda, Miyamoto, Ino and Hagihara (2011) for the S-layers (section 5), and a
// kernel for each of the other layers.
#include "bench/papers/neocognitron/paper_schedules.h"
#include "kernels/core/shared_memory.cuh"

namespace ocellus::paper {
namespace {

// ---- layers that all schedules share

__global__ void __launch_bounds__(kCellThreads)
    contrast_layer(const __grid_constant__ ContrastLayerArguments a) {
  const int position = static_cast<int>(blockIdx.x) * kCellThreads + static_cast<int>(threadIdx.x);
  if (position >= a.side_out * a.side_out) return;
  const int x = a.first + position % a.side_out;
  const int y = a.first + position / a.side_out;
  float sum = 0.0f;
  for (int t = 0; t < a.tap_count; ++t) {
    const WindowTap tap = a.taps[t];
    const int column = x + tap.dx;
    const int row = y + tap.dy;
    if (column < 0 || row < 0 || column >= a.side_in || row >= a.side_in) continue;
    sum = fmaf(tap.weight, a.u0[row * a.side_in + column], sum);
  }
  a.out[kContrastPlanes * position] = fmaxf(-sum - a.threshold, 0.0f);
  a.out[kContrastPlanes * position + 1] = fmaxf(sum - a.threshold, 0.0f);
}

__global__ void __launch_bounds__(kCellThreads)
    complex_layer(const __grid_constant__ ComplexLayerArguments a) {
  const int cell = static_cast<int>(blockIdx.x) * kCellThreads + static_cast<int>(threadIdx.x);
  if (cell >= a.side_out * a.side_out * a.planes) return;
  const int position = cell / a.planes;
  const int k = cell % a.planes;
  const int x = a.first + a.pitch * (position % a.side_out);
  const int y = a.first + a.pitch * (position / a.side_out);
  float sum = 0.0f;
  for (int t = 0; t < a.tap_count; ++t) {
    const WindowTap tap = a.taps[t];
    const int column = x + tap.dx;
    const int row = y + tap.dy;
    if (column < 0 || row < 0 || column >= a.side_in || row >= a.side_in) continue;
    sum = fmaf(tap.weight, a.in[(row * a.side_in + column) * a.planes + k], sum);
  }
  a.out[cell] = sum > 0.0f ? sum / (1.0f + sum) : 0.0f;
}

__global__ void __launch_bounds__(kCellThreads)
    class_scores(const __grid_constant__ ScoreArguments a) {
  __shared__ float largest[kCellThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int first = a.first[blockIdx.x];
  const int count = a.first[blockIdx.x + 1] - first;
  float own = 0.0f;
  for (int i = thread; i < count * a.positions; i += kCellThreads)
    own = fmaxf(own, a.similarities[i / count * a.references + first + i % count]);
  largest[thread] = own;
  for (int distance = kCellThreads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (thread < distance) largest[thread] = fmaxf(largest[thread], largest[thread + distance]);
  }
  if (thread == 0) a.scores[blockIdx.x] = largest[0];
}

// ---- S-layers

/// (2), or in stage 4 the similarity.
__device__ float respond(const SimpleLayerArguments& a, float e, float v) {
  if (a.similarity) return v > 0.0f ? e / v : 0.0f;
  return fmaxf((a.bias + e) / (a.bias + a.threshold * v) - 1.0f, 0.0f) * a.threshold /
         (1.0f - a.threshold);
}

/// The planes of the input that a tap of the cells at (x, y) reads; null if it is outside of the
/// layer below.
__device__ const float* input_of(const SimpleLayerArguments& a, const WindowTap& tap, int x,
                                 int y) {
  const int column = a.first + x + tap.dx;
  const int row = a.first + y + tap.dy;
  if (column < 0 || row < 0 || column >= a.side_in || row >= a.side_in) return nullptr;
  return a.in + (row * a.side_in + column) * a.in_planes;
}

// T1

__global__ void __launch_bounds__(kCellThreads)
    write_strengths(const __grid_constant__ SimpleLayerArguments a) {
  const int position = static_cast<int>(blockIdx.x) * kCellThreads + static_cast<int>(threadIdx.x);
  if (position >= a.side_out * a.side_out) return;
  float energy = 0.0f;
  for (int t = 0; t < a.tap_count; ++t) {
    const WindowTap tap = a.taps[t];
    const float* const in = input_of(a, tap, position % a.side_out, position / a.side_out);
    if (in == nullptr) continue;
    for (int kappa = 0; kappa < a.in_planes; ++kappa)
      energy = fmaf(tap.weight * in[kappa], in[kappa], energy);
  }
  a.v[position] = sqrtf(energy);
}

__global__ void __launch_bounds__(kCellThreads)
    gather_cells(const __grid_constant__ SimpleLayerArguments a) {
  const int cell = static_cast<int>(blockIdx.x) * kCellThreads + static_cast<int>(threadIdx.x);
  if (cell >= a.side_out * a.side_out * a.planes) return;
  const int position = cell / a.planes;
  const int k = cell % a.planes;
  float e = 0.0f;
  for (int t = 0; t < a.tap_count; ++t) {
    const float* const in = input_of(a, a.taps[t], position % a.side_out, position / a.side_out);
    if (in == nullptr) continue;
    const float* const weights =
        a.weights + static_cast<std::size_t>(t) * a.in_planes * a.stride + k;
    for (int kappa = 0; kappa < a.in_planes; ++kappa)
      e = fmaf(in[kappa], weights[kappa * a.stride], e);
  }
  a.out[cell] = respond(a, e, a.v[position]);
}

/// e and v^2 of a cell.
struct CellSums {
  float e = 0.0f;
  float energy = 0.0f;

  /// Adds the planes of an input. `weight` is c, and `weights` are those of the cell's plane.
  __device__ void add(const float* in, int count, const float* weights, int stride, float weight) {
    for (int kappa = 0; kappa < count; ++kappa) {
      const float u = in[kappa];
      e = fmaf(u, weights[kappa * stride], e);
      energy = fmaf(weight * u, u, energy);
    }
  }
};

// T2 and T3: all threads of a block read the same inputs, so that each of them computes v for
// itself while it computes the numerator of (2).
__global__ void __launch_bounds__(kMaxThreads)
    write_column(const __grid_constant__ SimpleLayerArguments a) {
  const int position = a.first_row * a.side_out + static_cast<int>(blockIdx.x);
  for (int k = static_cast<int>(threadIdx.x); k < a.planes; k += static_cast<int>(blockDim.x)) {
    CellSums sums;
    for (int t = 0; t < a.tap_count; ++t) {
      const WindowTap tap = a.taps[t];
      const float* const in = input_of(a, tap, position % a.side_out, position / a.side_out);
      if (in == nullptr) continue;
      sums.add(in, a.in_planes,
               a.weights + static_cast<std::size_t>(t) * a.in_planes * a.stride + k, a.stride,
               tap.weight);
    }
    a.out[static_cast<std::size_t>(position) * a.planes + k] =
        respond(a, sums.e, sqrtf(sums.energy));
  }
}

// T4 and T5

/// What a thread adds up: the planes from `kappa` on of the inputs in shared memory.
struct SharedChunk {
  const float* inputs;  ///< [row][column][plane], of the block
  int columns;
  int kappa;
  int count;

  __device__ const float* at(int row, int column) const {
    return inputs + (row * columns + column) * count;
  }
  __device__ const float* weights(const SimpleLayerArguments& a, int tap, int k) const {
    return a.weights + (static_cast<std::size_t>(tap) * a.in_planes + kappa) * a.stride + k;
  }
};

/// T4: each thread computes which inputs are in the layer below.
struct ComputedInputs {
  const SharedInputsArguments& a;

  __device__ void add_to(CellSums& sums, const SharedChunk& chunk, int x, int y, int k) const {
    for (int t = 0; t < a.layer.tap_count; ++t) {
      const WindowTap tap = a.layer.taps[t];
      if (input_of(a.layer, tap, x, y) == nullptr) continue;
      sums.add(chunk.at(tap.dy - a.top, static_cast<int>(threadIdx.y) + tap.dx - a.left),
               chunk.count, chunk.weights(a.layer, t, k), a.layer.stride, tap.weight);
    }
  }
};

/// T5: a table has them.
struct TabulatedInputs {
  const SharedInputsArguments& a;
  const InputTable& table;

  __device__ void add_to(CellSums& sums, const SharedChunk& chunk, int x, int y, int k) const {
    for (int row = table.first_row[y]; row < table.end_row[y]; ++row) {
      for (int column = table.first_column[row][x]; column < table.end_column[row][x]; ++column) {
        const int t = table.tap[row] + column;
        sums.add(chunk.at(row, static_cast<int>(threadIdx.y) + column), chunk.count,
                 chunk.weights(a.layer, t, k), a.layer.stride, table.weight[t]);
      }
    }
  }
};

template <typename Inputs>
__device__ void write_neighbors(const SharedInputsArguments& a, const Inputs& inputs) {
  OCELLUS_DYNAMIC_SHARED(float, memory);
  const SimpleLayerArguments& layer = a.layer;
  const int neighbors = static_cast<int>(blockDim.y);
  const int threads = static_cast<int>(blockDim.x) * neighbors;
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int first_x = static_cast<int>(blockIdx.x) * neighbors;
  const int x = first_x + static_cast<int>(threadIdx.y);
  const int y = static_cast<int>(blockIdx.y);
  const int columns = a.width + neighbors - 1;
  for (int first = 0; first < layer.planes; first += static_cast<int>(blockDim.x)) {
    const int k = first + static_cast<int>(threadIdx.x);
    const bool present = k < layer.planes && x < layer.side_out;
    CellSums sums;
    for (int kappa = 0; kappa < layer.in_planes; kappa += a.chunk) {
      const int count = min(a.chunk, layer.in_planes - kappa);
      if (first == 0 || layer.in_planes > a.chunk) {
        // Threads may still read what was there.
        __syncthreads();
        for (int i = thread; i < a.height * columns * count; i += threads) {
          const int column = layer.first + first_x + a.left + i / count % columns;
          const int row = layer.first + y + a.top + i / count / columns;
          // The sums leave out the other cells.
          if (column >= 0 && row >= 0 && column < layer.side_in && row < layer.side_in)
            memory[i] =
                layer.in[(row * layer.side_in + column) * layer.in_planes + kappa + i % count];
        }
        __syncthreads();
      }
      if (present) inputs.add_to(sums, {memory, columns, kappa, count}, x, y, k);
    }
    if (present)
      layer.out[(static_cast<std::size_t>(y) * layer.side_out + x) * layer.planes + k] =
          respond(layer, sums.e, sqrtf(sums.energy));
  }
}

__global__ void __launch_bounds__(kMaxThreads)
    shared_inputs(const __grid_constant__ SharedInputsArguments a) {
  write_neighbors(a, ComputedInputs{a});
}

__global__ void __launch_bounds__(kMaxThreads)
    tabulated_inputs(const __grid_constant__ TableArguments a) {
  write_neighbors(a.shared, TabulatedInputs{a.shared, a.table});
}

}  // namespace

const Kernel<ContrastLayerArguments> kContrastLayerKernel = contrast_layer;
const Kernel<ComplexLayerArguments> kComplexLayerKernel = complex_layer;
const Kernel<ScoreArguments> kScoreKernel = class_scores;
const Kernel<SimpleLayerArguments> kStrengthKernel = write_strengths;
const Kernel<SimpleLayerArguments> kGatherCellsKernel = gather_cells;
const Kernel<SimpleLayerArguments> kColumnKernel = write_column;
const Kernel<SharedInputsArguments> kSharedInputsKernel = shared_inputs;
const Kernel<TableArguments> kInputTableKernel = tabulated_inputs;

}  // namespace ocellus::paper
