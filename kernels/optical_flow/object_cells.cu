#include "kernels/image/pixels.cuh"
#include "kernels/optical_flow/kernels.h"

namespace ocellus::cuda {
namespace {

__global__ void __launch_bounds__(kObjectCellThreads)
    sample_object_cells(const __grid_constant__ ObjectCellArguments a) {
  const detail::CellGrid& grid = a.grid;
  const int cell =
      static_cast<int>(blockIdx.x) * kObjectCellThreads + static_cast<int>(threadIdx.x);
  if (cell >= grid.columns * grid.rows) return;
  const int x = grid.sample_x(cell % grid.columns);
  const int y = grid.sample_y(cell / grid.columns);
  const auto value = [&](int plane) {
    return row_at(out_plane<const float>(*a.frame, plane), a.frame->out_stride[0], y)[x];
  };
  a.samples.u[cell] = value(0);
  a.samples.v[cell] = value(1);
  if (a.deviation != nullptr)
    a.samples.deviation[cell] = a.frame->out[3] == nullptr ? a.deviation[cell] : value(3);
}

}  // namespace

Kernel<ObjectCellArguments> object_cells_kernel() noexcept {
  return sample_object_cells;
}

}  // namespace ocellus::cuda
