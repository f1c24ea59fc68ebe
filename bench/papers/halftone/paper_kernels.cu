#include "bench/papers/halftone/paper_kernels.h"
#include "kernels/halftone/cells.cuh"

namespace ocellus::paper {
namespace {

using cuda::finish_frame;
using cuda::write_gray;

constexpr int kColors = 3;  // along x and along y
constexpr int kMostThreads = 1024;

/// The state of a cell. `output` points to the cell's output, among those of its neighbors.
__device__ std::int32_t state_of(const UpdateArguments& a, const std::int32_t* output,
                                 std::int64_t pitch, std::int32_t bias) {
  std::int32_t sum = bias;
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx) sum += a.a[(dy + 1) * 3 + dx + 1] * output[dy * pitch + dx];
  return sum;
}

__device__ std::int32_t output_of(std::int32_t state) {
  return state >= 0 ? 1 : -1;
}

/// Updates one color directly in global memory.
template <int kRows>
__global__ void __launch_bounds__(kMostThreads)
    update_global(const __grid_constant__ UpdateArguments a) {
  for (int r = 0; r < kRows; ++r) {
    const int y = a.row + kColors * (static_cast<int>(blockIdx.x) * kRows + r);
    if (y >= a.cells.height) return;
    for (int x = a.column + kColors * static_cast<int>(threadIdx.x); x < a.cells.width;
         x += kColors * static_cast<int>(blockDim.x)) {
      std::int32_t* const output = a.cells.outputs + y * a.cells.pitch + x;
      const std::int32_t state = state_of(a, output, a.cells.pitch, a.bias[y * a.bias_pitch + x]);
      a.cells.states[y * a.cells.pitch + x] = state;
      *output = output_of(state);
    }
  }
}

/// Rows of outputs with a dummy cell at both ends, and rows of states, in shared memory.
struct Rows {
  std::int32_t* outputs;
  std::int32_t* states;
  int stride;

  __device__ std::int32_t* output(int row, int x) const { return outputs + row * stride + x + 1; }
  __device__ std::int32_t* state(int row, int x) const { return states + row * stride + x; }
};

__device__ void load(const UpdateArguments& a, const Rows& rows, int from, int count) {
  for (int row = 0; row < count; ++row) {
    const int y = from + row;
    if (y > a.cells.height) return;  // row `height` consists of dummy cells
    for (int x = static_cast<int>(threadIdx.x) - 1; x <= a.cells.width;
         x += static_cast<int>(blockDim.x))
      *rows.output(row, x) = a.cells.outputs[y * a.cells.pitch + x];
  }
}

/// Updates the three colors of a row, one after the other. `row` is the index of the outputs,
/// `state` that of the states.
__device__ void update_row(const UpdateArguments& a, const Rows& rows, int row, int state, int y) {
  for (int color = 0; color < kColors; ++color) {
    if (y < a.cells.height) {
      for (int x = color + kColors * static_cast<int>(threadIdx.x); x < a.cells.width;
           x += kColors * static_cast<int>(blockDim.x)) {
        const std::int32_t sum =
            state_of(a, rows.output(row, x), rows.stride, *rows.state(state, x));
        *rows.state(state, x) = sum;
        *rows.output(row, x) = output_of(sum);
      }
    }
    __syncthreads();
  }
}

__device__ void load_states(const UpdateArguments& a, const Rows& rows, int row, int y) {
  if (y >= a.cells.height) return;
  for (int x = threadIdx.x; x < a.cells.width; x += static_cast<int>(blockDim.x))
    *rows.state(row, x) = a.bias[y * a.bias_pitch + x];
}

__device__ void store(const UpdateArguments& a, const Rows& rows, int row, int state, int y) {
  if (y >= a.cells.height) return;
  for (int x = threadIdx.x; x < a.cells.width; x += static_cast<int>(blockDim.x)) {
    a.cells.states[y * a.cells.pitch + x] = *rows.state(state, x);
    a.cells.outputs[y * a.cells.pitch + x] = *rows.output(row, x);
  }
}

/// Updates one row of each three: its three colors between one read and one write.
template <int kRows>
__global__ void __launch_bounds__(kMostThreads)
    update_x(const __grid_constant__ UpdateArguments a) {
  extern __shared__ std::int32_t memory[];
  const int stride = a.cells.width + 2;
  for (int r = 0; r < kRows; ++r) {
    const int y = a.row + kColors * (static_cast<int>(blockIdx.x) * kRows + r);
    if (y >= a.cells.height) return;
    const Rows rows = {memory + r * 4 * stride, memory + (r * 4 + 3) * stride, stride};
    load(a, rows, y - 1, 3);
    load_states(a, rows, 0, y);
    __syncthreads();
    update_row(a, rows, 1, 0, y);
    store(a, rows, 1, 0, y);
  }
}

/// Updates two rows of each three (from four rows) in the first step, and the third row (from three
/// rows) in the second step.
template <int kGroups>
__global__ void __launch_bounds__(kMostThreads)
    update_xy(const __grid_constant__ UpdateArguments a) {
  extern __shared__ std::int32_t memory[];
  const int stride = a.cells.width + 2;
  const int updated = a.row == 0 ? 2 : 1;
  for (int g = 0; g < kGroups; ++g) {
    const int y = a.row + kColors * (static_cast<int>(blockIdx.x) * kGroups + g);
    if (y >= a.cells.height) return;
    const Rows rows = {memory + g * 6 * stride, memory + (g * 6 + 4) * stride, stride};
    load(a, rows, y - 1, updated + 2);
    for (int i = 0; i < updated; ++i) load_states(a, rows, i, y + i);
    __syncthreads();
    for (int i = 0; i < updated; ++i) update_row(a, rows, 1 + i, i, y + i);
    for (int i = 0; i < updated; ++i) store(a, rows, 1 + i, i, y + i);
  }
}

__global__ void __launch_bounds__(kPaperThreads) begin(const __grid_constant__ ConvertArguments a) {
  for (int y = blockIdx.x; y < a.cells.height; y += gridDim.x)
    for (int x = threadIdx.x; x < a.cells.width; x += kPaperThreads)
      a.cells.outputs[y * a.cells.pitch + x] = a.k[y * a.pitch + x] != 0 ? 1 : -1;
}

__global__ void __launch_bounds__(kPaperThreads) end(const __grid_constant__ ConvertArguments a) {
  const bool bad = *static_cast<volatile unsigned*>(&a.end.state->bad) != 0;
  for (int y = blockIdx.x; y < a.cells.height; y += gridDim.x)
    for (int x = threadIdx.x; x < a.cells.width; x += kPaperThreads)
      write_gray(a.end, x, y, a.cells.outputs[y * a.cells.pitch + x] > 0 ? 1 : 0, bad);
  __syncthreads();
  if (threadIdx.x == 0) finish_frame(a.end.state, a.end.outcome, a.end.frames, gridDim.x);
}

}  // namespace

Kernel<UpdateArguments> update_kernel(const CellSchedule& schedule) noexcept {
  const bool two = schedule.rows == 2;
  switch (schedule.memory) {
    case CellMemory::kGlobal:
      return two ? update_global<2> : update_global<1>;
    case CellMemory::kSharedX:
      return two ? update_x<2> : update_x<1>;
    default:
      return two ? update_xy<2> : update_xy<1>;
  }
}

int update_threads(int width) noexcept {
  const int cells = (width + kColors - 1) / kColors;
  const int warps = (cells + 31) / 32;
  return warps * 32 < kMostThreads ? warps * 32 : kMostThreads;
}

int update_blocks(const CellSchedule& schedule, const UpdateArguments& a) noexcept {
  const int rows = (a.cells.height - a.row + kColors - 1) / kColors;
  return (rows + schedule.rows - 1) / schedule.rows;
}

std::size_t update_shared_bytes(const CellSchedule& schedule, int width) noexcept {
  const int rows = schedule.memory == CellMemory::kGlobal    ? 0
                   : schedule.memory == CellMemory::kSharedX ? 4
                                                             : 6;
  return static_cast<std::size_t>(schedule.rows * rows) * static_cast<std::size_t>(width + 2) *
         sizeof(std::int32_t);
}

const Kernel<ConvertArguments> kBeginKernel = begin;
const Kernel<ConvertArguments> kEndKernel = end;

}  // namespace ocellus::paper
