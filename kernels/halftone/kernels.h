// The kernels of CellularNetwork on CUDA and the plain data that they take. Functions return
// kernels, to be launched by the host side.
//
// Outputs lie in planes of bytes, k of each cell, whose rows begin on kCellAlignment; states and
// thresholds in planes of int32 of the same pitch. The stages of a plan fall into runs: those that
// keep their state follow the stage that begins with one. A run begins with the outputs in `k`, and
// ends with the outputs of its last stage.
//
// What takes the time of a halftone, two levels updated in colors, is one kernel for the whole
// run (bands); everything else goes a general way, one cell at a time.
#pragma once

#include <cstdint>

#include "halftone/plan.h"
#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

inline constexpr int kCellAlignment = 32;

/// What stands for u.
struct CellSource {
  const FrameParams* frame;  ///< its image, unless `k` is set
  const std::uint8_t* k;     ///< outputs of the stage before, of `levels` levels
  std::int64_t pitch;
  int levels;
  PixelFormat format;
  detail::GrayInput gray;
};

struct CellPlane {
  std::uint8_t* k;
  std::int64_t pitch;
  int width;
  int height;
};

/// How a frame went so far; in device memory.
struct CellTotals {
  std::uint32_t sweeps;
  std::uint32_t changed;
  std::uint32_t converged;
};

/// What a run leaves behind.
struct CellEnd {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  CellularNetworkRecord* record;  ///< of the host
  CellTotals* totals;
  std::uint8_t* keep;  ///< outputs for the next frame's warm start; null without
  bool first;          ///< run of the frame
  bool last;           ///< writes the result
  int frames;
  int levels;
  PixelFormat format;  ///< of the result
  detail::GrayLimits range;
  bool white_is_one;
};

// ---- the outputs to begin with

struct StartArguments {
  CellSource u;
  CellPlane to;
  CellStart start;
  int levels;
  std::int32_t start_xi;
  std::int32_t value;            ///< kConstant
  std::uint32_t seed;            ///< kNoise
  const std::int32_t* plane;     ///< kPlane: states
  const std::uint16_t* ranks;    ///< kBlueNoise
  const std::uint8_t* previous;  ///< kPrevious: outputs
  int previous_levels;
  const std::uint8_t* kept;  ///< of the frame before, where there was one; null without
  const TemporalState* state;
};

inline constexpr int kStartThreads = 256;
/// Cells of a thread, side by side.
inline constexpr int kStartCells = 4;
Kernel<StartArguments> start_kernel() noexcept;

/// CellStart::kErrorDiffusion. Tiles of a block.
inline constexpr int kDiffusionTiles = 4;
inline constexpr int kDiffusionThreads = 512;
Kernel<StartArguments> diffusion_kernel() noexcept;

// ---- two levels in colors

/// A row of the network belongs to one block, and a block's rows are neighbors: a band. Bands tell
/// each other what they changed through mail: for each row and for even and odd sweeps the flipped
/// cells as bits, 32 in a word of 64 whose other half is the number of the sweep, so that a word
/// that has come is known to be the right one. They wait for each other, so all must run at once.

/// Where the states of a band are, and the flips that wait to be applied to all of them.
enum class StatePlace : unsigned char { kShared, kGlobal };

inline constexpr int kBandThreads = 512;
inline constexpr int kMaxBandStages = kMaxCellStages;

struct BandStage {
  bool swap;
  int spacing;
  int max_sweeps;
};

/// In device memory, kept from frame to frame.
struct BandShared {
  std::uint32_t sweep;  ///< number of the next sweep
  std::uint32_t ended;
  /// Of the last sweeps: cells that changed, and bands that have said so from bit 40 on.
  unsigned long long counts[8];
};

struct BandArguments {
  CellSource u;
  CellPlane cells;   ///< to begin with
  std::uint8_t* to;  ///< outputs at the end, unless this run is the last
  CellEnd end;
  const std::int32_t* threshold_plane;
  std::int32_t threshold;
  std::int32_t a[kMaxTemplateWeights];
  std::int32_t b[kMaxTemplateWeights];
  /// What a swap with the right or the lower neighbor adds to X, for each change of 1 of the
  /// cell's output: in its row and in the next, from `radius` columns before the cell to radius + 1
  /// after.
  std::int32_t swap[2][2][2 * kMaxTemplateRadius + 2];
  /// B is -A but for the center, and the limit of B u + T cannot be reached: both sums in one.
  bool fused;
  int reach;    ///< rows that rows see at most: radius, or radius + 1 with swaps
  int columns;  ///< that are convolved at once; a multiple of 8
  int stage_count;
  BandStage stage[kMaxBandStages];
  unsigned long long* mail;
  BandShared* shared;
  std::uint32_t* states;  ///< kGlobal: of all bands, large_band_words().states each
  std::uint32_t* many;    ///< kGlobal: large_band_words().many each
};

/// Fills in `swap` from `a`.
void make_swap_weights(int radius, BandArguments& arguments) noexcept;
/// Spacings that there are kernels for.
constexpr bool band_spacing(int radius, int spacing, bool swap) {
  return spacing == radius + 2 || (!swap && spacing == radius + 1);
}
Kernel<BandArguments> band_kernel(int radius) noexcept;
Kernel<BandArguments> large_band_kernel(int radius) noexcept;
std::size_t band_mail_words(int width, int height) noexcept;
/// Shared memory of a band of `rows` rows that convolves `columns` columns at once.
std::size_t band_shared_bytes(StatePlace place, int radius, int reach, int width, int rows,
                              int columns) noexcept;
/// Global memory of a band of `rows` rows whose states are there.
struct LargeBandWords {
  std::size_t states;
  std::size_t many;
};
LargeBandWords large_band_words(int radius, int reach, int width, int rows) noexcept;

// ---- everything else

struct BiasArguments {
  CellSource u;
  int width;
  int height;
  std::int64_t pitch;
  std::int32_t* bias;
  const std::int32_t* threshold_plane;
  detail::CellStagePlan stage;
};
inline constexpr int kBiasThreads = 256;
Kernel<BiasArguments> bias_kernel() noexcept;

/// One stage. Blocks meet, so all must run at once.
struct GeneralArguments {
  CellPlane cells;
  std::uint8_t* other;  ///< of the synchronous update
  const std::int32_t* bias;
  std::uint32_t* counts;  ///< three, in turn: cells that changed in a sweep
  std::uint8_t* marks;    ///< of each row, kMarkColumns columns each
  detail::CellStagePlan stage;
  CellEnd end;
};
inline constexpr int kGeneralThreads = 256;
/// Columns of a row that share a mark.
inline constexpr int kMarkColumns = 64;
static_assert(16384 / kMarkColumns <= kGeneralThreads, "a row's marks are read at once");
Kernel<GeneralArguments> general_kernel() noexcept;

}  // namespace ocellus::cuda
