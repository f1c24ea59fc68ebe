// CorticalNetwork on CUDA: the arrays on the device, and the kernels. The equations are those of
// ocellus/cortical_network.h, the arrays those of lib/cortex/hypercolumn.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cortex/hypercolumn.h"
#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

/// A level, as detail::LevelPlan has it.
struct NetworkLevel {
  int hypercolumns;
  int first;  ///< number of the level's first hypercolumn, counted over all levels
  int columns;
  int stride_x;
  int stride_y;
  int window_width;
  int window_height;
  int below_first;  ///< -1: the pixels of the image are below
  int below_columns;
  int below_cells;
  int inputs;
  int minicolumns;
  int padded;
  std::int64_t weights_at;
  std::int64_t minicolumns_at;
};

/// What changes from step to step; on the device.
struct NetworkStep {
  std::uint64_t number;  ///< of the learning step
  int learn;             ///< not 0: the step learns
  // Work queue of the paper.
  unsigned next;
  unsigned left;
  unsigned run;  ///< steps that have ended
};

struct NetworkArguments {
  std::array<NetworkLevel, kMaxCorticalLevels> levels;
  int level_count;
  int hypercolumns;  ///< of all levels
  NetworkStep* step;
  const std::uint8_t* image;  ///< rows without gaps
  int width;
  int height;
  std::uint16_t* weights;
  std::int32_t* omega;
  std::uint8_t* wins;
  /// 1: each weight of the minicolumn is one that depression does not change, or one that
  /// potentiation does not change.
  std::uint8_t* settled;
  std::int64_t* responses;  ///< may be null
  std::int32_t* winners;    ///< two halves, for the schedules that compute all levels at once
  unsigned* done;           ///< work queue: steps that a hypercolumn has finished
  LgnTransform lgn;
  int lgn_threshold;
  std::int32_t threshold;
  std::int32_t potentiation;
  std::int32_t depression;
  std::int32_t initial_weight;
  int stable_wins;
  std::array<std::uint32_t, detail::kMaxStableWins> firing;
  std::uint64_t seed;
};
static_assert(sizeof(NetworkArguments) <= 4000, "kernel arguments have 4 KB");

/// Level of the arguments that a launch computes.
struct LevelArguments {
  NetworkArguments network;
  int level;
};

inline constexpr int kNetworkThreads = 256;
/// Padded minicolumns that a warp computes, at most.
inline constexpr int kWarpMinicolumns = 256;
/// Hypercolumns of a block if a warp computes one.
inline constexpr int kBlockWarps = kNetworkThreads / 32;

/// Weights, and the state before the first step. Blocks: hypercolumns of all levels.
Kernel<NetworkArguments> network_start_kernel() noexcept;
/// A level; its inputs are complete. A block computes a hypercolumn.
Kernel<LevelArguments> network_block_kernel() noexcept;
/// The same, but a warp computes a hypercolumn of at most kWarpMinicolumns padded minicolumns.
/// Blocks: hypercolumns / kBlockWarps.
Kernel<LevelArguments> network_warp_kernel() noexcept;
/// The last levels, `level` and those above it, one after another, and the end of the step. One
/// block of kTopThreads; a warp computes a hypercolumn.
inline constexpr int kTopThreads = 512;
Kernel<LevelArguments> network_top_kernel() noexcept;

}  // namespace ocellus::cuda
