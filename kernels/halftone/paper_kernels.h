// The kernels of the paper's schedules and the plain data that they take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/halftone/kernels.h"
#include "kernels/halftone/paper_cellular_network.h"

namespace ocellus::paper {

using cuda::CellEnd;
using cuda::Kernel;

/// States and outputs, four bytes each as the paper's; outputs have dummy cells around them, and
/// point to cell (0, 0).
struct PaperCells {
  std::int32_t* states;
  std::int32_t* outputs;
  std::int64_t pitch;  ///< cells, of both
  int width;
  int height;
};

struct UpdateArguments {
  PaperCells cells;
  const std::int32_t* bias;  ///< B u + T
  std::int64_t bias_pitch;
  std::int32_t a[9];
  /// What is updated: a color, or rows that are `row` modulo 3; with kSharedXY the first two rows
  /// of each three (0) or the third (2).
  int column;
  int row;
};

struct ConvertArguments {
  PaperCells cells;
  std::uint8_t* k;
  std::int64_t pitch;
  CellEnd end;
};

inline constexpr int kPaperThreads = 256;
Kernel<UpdateArguments> update_kernel(const CellSchedule& schedule) noexcept;
/// Cells, or threads of a block along x.
int update_threads(int width) noexcept;
/// Blocks of a launch.
int update_blocks(const CellSchedule& schedule, const UpdateArguments& a) noexcept;
std::size_t update_shared_bytes(const CellSchedule& schedule, int width) noexcept;

/// From k to outputs, and the result from outputs; the latter ends the frame.
Kernel<ConvertArguments> begin_kernel() noexcept;
Kernel<ConvertArguments> end_kernel() noexcept;

}  // namespace ocellus::paper
