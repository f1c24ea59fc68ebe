// The kernels of CellularNetwork on CUDA, and their arguments. Functions return kernels, which the
// host launches.
//
// Outputs are planes of bytes, k of each cell, whose rows begin on kCellAlignment. States and
// thresholds are planes of int32 of the same pitch. The stages of a plan form runs: a stage that
// starts anew begins a run, and the stages that keep its state follow. A run reads the outputs in
// `k`, and leaves the outputs of its last stage.
//
// Two levels updated in colors take the time of a halftone: one kernel computes the whole run
// (bands.cuh). Other runs use a general kernel, which updates one cell at a time.
#pragma once

#include <cstdint>

#include "halftone/plan.h"
#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

inline constexpr int kCellAlignment = 32;

/// The source of u.
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

/// Totals of a frame so far, in device memory.
struct CellTotals {
  std::uint32_t sweeps;
  std::uint32_t changed;
  std::uint32_t converged;
};

/// Results of a run.
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

// ---- the first outputs

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
  const std::uint8_t* kept;  ///< of the frame before, if there was one; null without
  const TemporalState* state;
};

inline constexpr int kStartThreads = 256;
/// Neighboring cells of a thread.
inline constexpr int kStartCells = 4;
Kernel<StartArguments> start_kernel() noexcept;

/// CellStart::kErrorDiffusion. Tiles of a block.
inline constexpr int kDiffusionTiles = 4;
inline constexpr int kDiffusionThreads = 512;
Kernel<StartArguments> diffusion_kernel() noexcept;

// ---- two levels in colors

/// A row of the network belongs to one block, and the rows of a block are neighbors: a band. Bands
/// send each other their changes as messages (band_messages.cuh). They wait for each other, so all
/// blocks must be resident at the same time.

/// The memory of a band's states, and of the bit planes of flips.
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
  /// Of the last sweeps: the number of changed cells, and from bit 40 on that of bands which have
  /// reported.
  unsigned long long counts[8];
};

struct BandArguments {
  CellSource u;
  CellPlane cells;   ///< the first outputs
  std::uint8_t* to;  ///< outputs at the end, unless this run is the last
  CellEnd end;
  const std::int32_t* threshold_plane;
  std::int32_t threshold;
  std::int32_t a[kMaxTemplateWeights];
  std::int32_t b[kMaxTemplateWeights];
  /// What a swap with the right or the lower neighbor adds to the states, for a change of 1 of the
  /// cell's output. The rows are the cell's and the next one, from `radius` columns before the cell
  /// to radius + 1 after.
  std::int32_t swap[2][2][2 * kMaxTemplateRadius + 2];
  /// One convolution computes both sums: B is -A except for the center, and B u + T never reaches
  /// its limit.
  bool fused;
  int reach;    ///< distance at which a row depends on another: radius, or radius + 1 with swaps
  int columns;  ///< convolved at once; a multiple of 8
  int stage_count;
  BandStage stage[kMaxBandStages];
  unsigned long long* messages;
  BandShared* shared;
  std::uint32_t* states;  ///< kGlobal: of all bands, large_band_words().states each
  std::uint32_t* many;    ///< kGlobal: large_band_words().many each
};

/// Fills in `swap` from `a`.
void make_swap_weights(int radius, BandArguments& arguments) noexcept;
/// Spacings for which there are kernels.
constexpr bool band_spacing(int radius, int spacing, bool swap) {
  return spacing == radius + 2 || (!swap && spacing == radius + 1);
}
Kernel<BandArguments> band_kernel(int radius) noexcept;
Kernel<BandArguments> large_band_kernel(int radius) noexcept;
std::size_t band_message_words(int width, int height) noexcept;
/// Shared memory of a band of `rows` rows that convolves `columns` columns at once.
std::size_t band_shared_bytes(StatePlace place, int radius, int reach, int width, int rows,
                              int columns) noexcept;
/// Global memory of a band of `rows` rows with StatePlace::kGlobal.
struct LargeBandWords {
  std::size_t states;
  std::size_t many;
};
LargeBandWords large_band_words(int radius, int reach, int width, int rows) noexcept;

// ---- other runs

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

/// One stage. Blocks synchronize, so all must be resident at the same time.
struct GeneralArguments {
  CellPlane cells;
  std::uint8_t* other;  ///< for the synchronous update
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
