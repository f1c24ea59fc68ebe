// A cortical network on CUDA: what is on the device, and the kernels. The equations are those of
// ocellus/cortical_network.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "cortical_network/hypercolumn.h"
#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

/// What changes from step to step; on the device. The host writes it.
struct NetworkStep {
  std::uint64_t number;  ///< of the learning step
  int learn;             ///< not 0: the step learns
};

/// Bytes of device memory that a step touches: each sector of 32 bytes once where it is read and
/// once where it is written, and the bytes of results that neighbors write together.
struct StepBytes {
  unsigned long long read;
  unsigned long long written;
};

/// What all schedules have.
struct NetworkBase {
  std::array<detail::LevelPlan, kMaxCorticalLevels> levels;
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
  /// Weights that another win can change: from `moving_from` on, `moving_count` of them.
  unsigned moving_from;
  unsigned moving_count;
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
  /// Strong bits of the lowest level in the order of the weights: [hypercolumn][minicolumn][padded
  /// input]. Of a candidate, they tell in one read whether all active inputs have strong weights.
  /// Null where no kernel of subtrees runs.
  std::uint8_t* patterns;
  detail::Minicolumn* minicolumns;
  std::int64_t* winner_responses;
  StepBytes* bytes;   ///< of the steps that were counted
  unsigned* arrived;  ///< counters of network_subtree_kernel(), 0 between the steps

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
extern const Kernel<NetworkArguments> kNetworkStartKernel;
/// Hypercolumns [begin, end) of a level. A device that has only a part of a level shifts
/// `weights_at`, `strong_at` and `minicolumns_at` of the level, so that its arrays begin with the
/// first hypercolumn of that part. The numbers of hypercolumns, and with them the random numbers
/// and the places in `winners` and `winner_responses`, remain those of the whole network.
struct LevelRange {
  NetworkArguments network;
  int level;
  int begin;
  int end;
};
/// As kNetworkStartKernel for a range. Blocks: hypercolumns of the range.
extern const Kernel<LevelRange> kNetworkStartRangeKernel;
/// A range whose inputs are complete. A warp computes a hypercolumn. Blocks: hypercolumns /
/// kBlockHypercolumns.
inline constexpr int kBlockHypercolumns = kNetworkThreads / 32;
extern const Kernel<LevelRange> kNetworkLevelKernel;
/// Levels that a block computes in one pass, from hypercolumns that are neighbors up to the roots
/// of their subtrees. Each hypercolumn above the lowest level of the launch has a window of its
/// own: the next window_width hypercolumns of a row.
struct SubtreeTier {
  int level;
  int end_level;
  // Of the tiers but the first:
  int below;       ///< subtrees of the tier below for a subtree
  int roots;       ///< of the tier below
  int arrived_at;  ///< counter of the first subtree
};
/// The hypercolumns of a level that a launch computes.
struct SubtreeLevel {
  int begin;
  int end;
  int each;          ///< of a subtree, at most kSubtreeHypercolumns
  unsigned inverse;  ///< of the width of a window: 2^16 / width, rounded up

  /// number / width, for numbers below 2^16 / width.
  constexpr int divide(int number) const noexcept {
    return static_cast<int>(static_cast<unsigned>(number) * inverse >> 16);
  }
};
inline constexpr int kMostTiers = 4;
/// Tiers, one above the other. A block computes a subtree of the first tier. If it is the last one
/// of those that a subtree of the next tier reads, the block goes on with that one, so that no
/// block waits.
struct SubtreeArguments {
  NetworkArguments network;
  int tier_count;
  std::array<SubtreeTier, kMostTiers> tiers;
  std::array<SubtreeLevel, kMaxCorticalLevels> levels;
};
static_assert(sizeof(SubtreeArguments) <= 4000, "kernel arguments have 4 KB");
inline constexpr int kSubtreeHypercolumns = 64;
inline constexpr int kSubtreeThreads = 256;
/// At most 256 inputs. `words`: of a row of strong bits of the lowest level, 1, 2 or 4. `counts`:
/// adds the bytes to NetworkArguments::bytes, which takes longer.
Kernel<SubtreeArguments> network_subtree_kernel(int words, bool counts = false) noexcept;
/// The last levels, `level` and those above it, one after another. One block of kTopThreads.
inline constexpr int kTopThreads = 1024;
extern const Kernel<OfLevel<NetworkArguments>> kNetworkTopKernel;

}  // namespace ocellus::cuda
