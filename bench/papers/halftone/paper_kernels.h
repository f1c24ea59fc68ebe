// The kernels of the paper's schedules, and their arguments as plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/papers/halftone/paper_cellular_network.h"
#include "kernels/halftone/kernels.h"

namespace ocellus::paper {

using cuda::CellEnd;
using cuda::Kernel;

/// States and outputs of four bytes each, as in the paper. Outputs are surrounded by dummy cells;
/// the pointer is to cell (0, 0).
struct PaperCells {
  std::int32_t* states;
  std::int32_t* outputs;
  std::int64_t pitch;  ///< cells from row to row, for both planes
  int width;
  int height;
};

struct UpdateArguments {
  PaperCells cells;
  const std::int32_t* bias;  ///< B u + T
  std::int64_t bias_pitch;
  std::int32_t a[9];
  /// The cells to update: one color, or the rows whose index is `row` modulo 3. With kSharedXY, the
  /// first two rows of each three (0) or the third (2).
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
/// Number of threads of a block: one for each cell of a color in a row, rounded up to whole warps,
/// at most 1024.
int update_threads(int width) noexcept;
/// Number of blocks of a launch.
int update_blocks(const CellSchedule& schedule, const UpdateArguments& a) noexcept;
std::size_t update_shared_bytes(const CellSchedule& schedule, int width) noexcept;

/// kBeginKernel converts k to outputs. kEndKernel converts outputs to the result and ends the
/// frame.
extern const Kernel<ConvertArguments> kBeginKernel;
extern const Kernel<ConvertArguments> kEndKernel;

}  // namespace ocellus::paper
