// A cortical network on CUDA: what is on the device, and the kernels. The equations are those of
// ocellus/cortical_network.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "cortex/hypercolumn.h"
#include "kernels/core/frame_params.h"
#include "kernels/cortex/grid_level.h"

namespace ocellus::cuda {

/// A level with its places in the arrays, as detail::LevelLayout has them.
struct NetworkLevel : GridLevel {
  int pitch;
  int words;
  std::int64_t minicolumns_at;
  std::int64_t weights_at;
  std::int64_t strong_at;
};

/// What changes from step to step; on the device.
struct NetworkStep {
  std::uint64_t number;  ///< of the learning step
  int learn;             ///< not 0: the step learns
};

/// What all schedules have.
struct NetworkBase {
  std::array<NetworkLevel, kMaxCorticalLevels> levels;
  int level_count;
  int hypercolumns;  ///< of all levels
  NetworkStep* step;
  std::uint8_t* image;  ///< rows without gaps
  int width;
  int height;
  std::uint8_t* wins;
  std::int32_t* winners;
  LgnTransform lgn;
  int lgn_threshold;
  std::int32_t threshold;
  std::int32_t potentiation;
  std::int32_t depression;
  std::int32_t initial_weight;
  int stable_wins;
  std::array<std::uint32_t, detail::kMaxStableWins + 1> firing;
  std::uint64_t seed;

  /// Places the arrays.
  void layout(const detail::NetworkPlan& plan, detail::LayoutBuilder& device) noexcept;
  /// Sets everything but the arrays.
  void describe(const detail::NetworkPlan& plan) noexcept;
};

/// The arrays of detail::NetworkArrays.
struct NetworkArguments : NetworkBase {
  std::uint16_t* weights;
  std::uint32_t* strong;
  detail::Minicolumn* minicolumns;
  std::int64_t* winner_responses;

  void layout(const detail::NetworkPlan& plan, detail::LayoutBuilder& device) noexcept;
};

/// Level of the arguments that a launch computes.
template <typename Arguments>
struct OfLevel {
  Arguments network;
  int level;
};
static_assert(sizeof(OfLevel<NetworkArguments>) <= 4000, "kernel arguments have 4 KB");

inline constexpr int kNetworkThreads = 256;
/// Weights, and the state before the first step. Blocks: hypercolumns of all levels.
Kernel<NetworkArguments> network_start_kernel() noexcept;
/// A level; its inputs are complete. A warp computes a hypercolumn. Blocks: hypercolumns /
/// kBlockHypercolumns.
inline constexpr int kBlockHypercolumns = kNetworkThreads / 32;
Kernel<OfLevel<NetworkArguments>> network_level_kernel() noexcept;
/// Levels [level, end), where each hypercolumn above the first of them has a window of its own: the
/// next window_width hypercolumns of a row.
struct SubtreeArguments {
  NetworkArguments network;
  int level;
  int end;
  int each;  ///< hypercolumns of `level` for a block: those of whole subtrees
};
inline constexpr int kSubtreeThreads = 512;
Kernel<SubtreeArguments> network_subtree_kernel() noexcept;
/// The last levels, `level` and those above it, one after another, and the end of the step. One
/// block of kTopThreads.
inline constexpr int kTopThreads = 1024;
Kernel<OfLevel<NetworkArguments>> network_top_kernel() noexcept;

}  // namespace ocellus::cuda
