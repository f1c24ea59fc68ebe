// The kernels of CellularNetwork on CUDA, and their arguments. Functions choose between kernels,
// which the host launches.
//
// Outputs are planes of bytes that contain k of each cell. Their rows are aligned to
// kCellAlignment. States and thresholds are planes of int32 with the same pitch. The stages of a
// plan form runs: a run is a stage that starts anew, with the following stages that continue with
// its states. A run reads the initial outputs from `k` and writes the outputs of its last stage.
//
// Halftones use two levels, updated in colors. For such runs, one kernel computes the whole run
// (bands.cuh). Other runs use a general kernel, which updates one cell at a time. A group of stages
// is a run of its own; one kernel computes all its passes.
#pragma once

#include <cstdint>

#include "halftone/plan.h"
#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

inline constexpr int kCellAlignment = 32;

/// Source of the input u.
struct CellSource {
  const FrameParams* frame;  ///< provides the image, unless `k` is set
  const std::uint8_t* k;     ///< outputs of the previous stage, which has `levels` levels
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

/// Totals of a frame up to the present stage, in device memory.
struct CellTotals {
  std::uint32_t sweeps;
  std::uint32_t changed;
  std::uint32_t converged;
  std::uint32_t passes;
  std::uint32_t finished;  ///< 0 if the limit of the frame's sweeps ended a stage or a group
  std::uint32_t stopped;   ///< not 0 if the operator was stopped, and the frame ended early
};

/// Destinations and parameters of the results of a run.
struct CellEnd {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  CellularNetworkRecord* record;  ///< in host memory
  CellTotals* totals;
  const std::uint32_t* stop;  ///< CudaOperator::stop_flag
  int max_sweeps;             ///< of the frame
  std::uint8_t* keep;  ///< outputs for the warm start of the next frame; null without warm starts
  bool first;          ///< true for the first run of the frame
  bool last;           ///< true if the run writes the result
  int frames;
  int levels;
  PixelFormat format;  ///< format of the result
  detail::GrayLimits range;
  bool white_is_one;
};

// ---- initial outputs

struct StartArguments {
  CellSource u;
  CellPlane to;
  CellStart start;
  int levels;
  std::int32_t start_xi;
  std::int32_t value;            ///< for kConstant
  std::uint32_t seed;            ///< for kNoise
  const std::int32_t* plane;     ///< states, for kPlane
  const std::uint16_t* ranks;    ///< for kBlueNoise
  const std::uint8_t* previous;  ///< outputs, for kPrevious
  int previous_levels;
  /// Outputs of the previous frame, used if there was one; null without warm starts.
  const std::uint8_t* kept;
  const TemporalState* state;
};

inline constexpr int kStartThreads = 256;
/// Number of neighboring cells that a thread computes.
inline constexpr int kStartCells = 4;
extern const Kernel<StartArguments> kStartKernel;

/// For CellStart::kErrorDiffusion: number of tiles that a block computes.
inline constexpr int kDiffusionTiles = 4;
inline constexpr int kDiffusionThreads = 512;
extern const Kernel<StartArguments> kDiffusionKernel;

// ---- two levels in colors

/// Each block updates a band, which is a set of consecutive rows. Bands send each other their
/// changes as messages (band_messages.cuh). They wait for each other, so all blocks must be
/// resident at the same time.

/// The memory that holds a band's states and the bit planes of flips.
enum class StatePlace : unsigned char { kShared, kGlobal };

inline constexpr int kBandThreads = 512;
inline constexpr int kMaxBandStages = kMaxCellStages;

struct BandStage {
  bool swap;
  int spacing;
  int max_sweeps;
};

/// State of all bands in device memory, kept from frame to frame.
struct BandShared {
  std::uint32_t sweep;  ///< number of the next sweep
  std::uint32_t ended;
  /// For each of the last sweeps: the number of changed cells; bit 39, which band 0 sets if the
  /// operator was stopped; and, from bit 40 on, the number of bands that have reported.
  unsigned long long counts[8];
};

struct BandArguments {
  CellSource u;
  CellPlane cells;   ///< initial outputs
  std::uint8_t* to;  ///< final outputs, unless this is the last run
  CellEnd end;
  const std::int32_t* threshold_plane;
  std::int32_t threshold;
  std::int32_t a[kMaxTemplateWeights];
  std::int32_t b[kMaxTemplateWeights];
  /// The effect on the states of a swap with the right [0] or the lower [1] neighbor, if the cell's
  /// output changes by 1. For the row of the cell and the next row, from `radius` columns before
  /// the cell to radius + 1 columns after it.
  std::int32_t swap[2][2][2 * kMaxTemplateRadius + 2];
  /// If true, one convolution computes both sums: B is -A except at the center, and B u + T never
  /// reaches its limit.
  bool fused;
  int reach;    ///< distance at which rows depend on each other: radius, or radius + 1 with swaps
  int columns;  ///< number of columns that are convolved at once, a multiple of 8
  int stage_count;
  BandStage stage[kMaxBandStages];
  unsigned long long* messages;
  BandShared* shared;
  std::uint32_t* states;  ///< for kGlobal: large_band_words().states words for each band
  std::uint32_t* many;    ///< for kGlobal: large_band_words().many words for each band
};

/// Computes `swap` from `a`.
void make_swap_weights(int radius, BandArguments& arguments) noexcept;
/// True for spacings that the band kernels support.
constexpr bool band_spacing(int radius, int spacing, bool swap) {
  return spacing == radius + 2 || (!swap && spacing == radius + 1);
}
Kernel<BandArguments> band_kernel(int radius) noexcept;
Kernel<BandArguments> large_band_kernel(int radius) noexcept;
std::size_t band_message_words(int width, int height) noexcept;
/// Shared memory of a band of `rows` rows that convolves `columns` columns at once, in bytes.
std::size_t band_shared_bytes(StatePlace place, int radius, int reach, int width, int rows,
                              int columns) noexcept;
/// Global memory of a band of `rows` rows with StatePlace::kGlobal, in words.
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
extern const Kernel<BiasArguments> kBiasKernel;

/// Arguments of one stage. Blocks synchronize, so all blocks must be resident at the same time.
struct GeneralArguments {
  CellPlane cells;
  std::uint8_t* other;  ///< for the synchronous update
  const std::int32_t* bias;
  std::uint32_t* counts;  ///< three counters, used in turn: cells that changed in a sweep
  std::uint8_t* marks;    ///< marks of each row, one for each kMarkColumns columns
  detail::CellStagePlan stage;
  CellEnd end;
};
inline constexpr int kGeneralThreads = 256;
/// Number of columns of a row that share a mark.
inline constexpr int kMarkColumns = 64;
static_assert(16384 / kMarkColumns <= kGeneralThreads, "a row's marks are read at once");
extern const Kernel<GeneralArguments> kGeneralKernel;

// ---- groups of stages

/// A stage of a group, in device memory.
struct GroupStage {
  detail::CellStagePlan plan;
  const std::int32_t* threshold_plane;
  const std::int32_t* start_plane;
};

/// Arguments of a group. Blocks synchronize, so all blocks must be resident at the same time.
struct GroupArguments {
  CellSource frame;  ///< the frame as input
  const GroupStage* stages;
  int stage_count;
  int max_passes;
  CellInput again_input;  ///< of the first stage, from the second pass on
  CellStart again_start;
  /// Planes for outputs. `before` is the index of the outputs of the stage before the group, or -1;
  /// `to` that of the result.
  std::uint8_t* k[3];
  int before;
  int before_levels;
  int to;
  std::uint8_t* pass;  ///< outputs of the previous pass
  std::int64_t pitch;
  int width;
  int height;
  std::int32_t* bias;
  std::uint32_t* counts;  ///< six counters: three of sweeps, three of passes
  std::uint8_t* marks;
  const std::uint16_t* ranks;
  CellEnd end;
};
extern const Kernel<GroupArguments> kGroupKernel;

}  // namespace ocellus::cuda
