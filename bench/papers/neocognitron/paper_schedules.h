// The kernels of PaperNeocognitron and the plain data that they take. Cells lie in the order
// [position][plane], weights in the order [tap][plane below][plane]. Rows of weights may be longer
// than the planes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/frame_params.h"
#include "neocognitron/geometry.h"

namespace ocellus::paper {

using cuda::Kernel;
using detail::WindowTap;

// ---- layers that all schedules share

/// Threads of a block of these kernels, and of T1 as in the paper.
inline constexpr int kCellThreads = 256;

struct ContrastLayerArguments {
  const float* u0;
  float* out;
  const WindowTap* taps;
  int tap_count;
  int first;  ///< CellWindow::first
  int side_in;
  int side_out;
  float threshold;
};
/// A thread for each position of UG.
extern const Kernel<ContrastLayerArguments> kContrastLayerKernel;

struct ComplexLayerArguments {
  const float* in;
  float* out;
  const WindowTap* taps;
  int tap_count;
  int first;
  int side_in;
  int side_out;
  int pitch;
  int planes;
};
/// A thread for each C-cell.
extern const Kernel<ComplexLayerArguments> kComplexLayerKernel;

struct ScoreArguments {
  const float* similarities;
  float* scores;
  const int* first;  ///< reference of each class, and the number of all references
  int positions;
  int references;
};
/// The largest similarity of each class. A block for each class.
extern const Kernel<ScoreArguments> kScoreKernel;

// ---- S-layers

struct SimpleLayerArguments {
  const float* in;
  float* out;
  float* v;  ///< T1: of each position
  const float* weights;
  const WindowTap* taps;
  int tap_count;
  int first;
  int side_in;
  int side_out;
  int in_planes;
  int planes;
  int stride;       ///< floats from row to row of weights, at least `planes`
  int first_row;    ///< T2: the row of positions of the launch
  bool similarity;  ///< stage 4: e / v takes the place of (2)
  float threshold;
  float bias;  ///< 1 / gain
};
/// T1. A thread for each position writes v.
extern const Kernel<SimpleLayerArguments> kStrengthKernel;
/// T1. A thread for each S-cell.
extern const Kernel<SimpleLayerArguments> kGatherCellsKernel;
/// T2 and T3. A block for each position, from row `first_row` on: a thread computes the planes
/// threadIdx.x, threadIdx.x + blockDim.x and so on.
extern const Kernel<SimpleLayerArguments> kColumnKernel;

inline constexpr int kMaxThreads = 1024;
/// Rows and columns of a window: radii are 6 or less.
inline constexpr int kMaxWindowSide = 13;
inline constexpr int kMaxSimpleSide = 68;
inline constexpr int kMaxSimpleWindowTaps = 112;

/// T5: the inputs of each position. Kernel arguments lie in constant memory.
struct InputTable {
  /// The rows of the window that lie in the layer below, of the cells at y.
  std::uint8_t first_row[kMaxSimpleSide];
  std::uint8_t end_row[kMaxSimpleSide];
  /// The columns of a row of the window that lie in the layer below, of the cells at x.
  std::uint8_t first_column[kMaxWindowSide][kMaxSimpleSide];
  std::uint8_t end_column[kMaxWindowSide][kMaxSimpleSide];
  /// The tap at column 0 of a row, if the row had it: its first tap less its first column.
  std::int16_t tap[kMaxWindowSide];
  float weight[kMaxSimpleWindowTaps];  ///< c of each tap
};

struct SharedInputsArguments {
  SimpleLayerArguments layer;
  // The rectangle around the taps.
  int left;  ///< smallest dx
  int top;   ///< smallest dy
  int width;
  int height;
  int chunk;  ///< planes of the layer below that are in shared memory at a time
};
struct TableArguments {
  SharedInputsArguments shared;
  InputTable table;
};
/// T4 and T5. A block of (planes, n) threads computes n neighboring positions of a row. Blocks:
/// (side_out / n, side_out). If there are more planes than threads, a thread computes some of them.
extern const Kernel<SharedInputsArguments> kSharedInputsKernel;
extern const Kernel<TableArguments> kInputTableKernel;

/// Cells of one plane that n neighboring positions read.
constexpr int shared_positions(const SharedInputsArguments& a, int n) noexcept {
  return a.height * (a.width + n - 1);
}
constexpr std::size_t shared_input_bytes(const SharedInputsArguments& a, int n) noexcept {
  return sizeof(float) * static_cast<std::size_t>(shared_positions(a, n)) *
         static_cast<std::size_t>(a.chunk);
}

}  // namespace ocellus::paper
