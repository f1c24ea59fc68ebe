// Which kernels compute a step of a cortical network, or of a part of it.
#pragma once

#include "kernels/cortical_network/network.h"

namespace ocellus::cuda {

class DeviceWork;
class Scope;

/// Levels [level, end_level), in order, from hypercolumns [begin, end) of `level` on. A part of a
/// level must be subtrees: in each level above `level`, a hypercolumn has a window of its own, the
/// next window_width hypercolumns of a row, and the part consists of whole windows. The last part
/// of a level may have hypercolumns that no window reads.
struct NetworkPart {
  int level;
  int end_level;
  int begin;
  int end;
};

/// All levels of a network.
inline NetworkPart whole(const NetworkBase& network) noexcept {
  return {0, network.level_count, 0, network.levels[0].hypercolumns};
}

/// Does each hypercolumn of the level have a window of its own, the next ones of a row?
bool is_tree(const detail::LevelPlan& level) noexcept;

/// Can network_subtree_kernel() compute the level?
bool fits_subtrees(const detail::LevelPlan& level) noexcept;
/// The tiers of subtrees from `part.level` on, which fits. They end below the first level that does
/// not.
SubtreeArguments plan_subtrees(const NetworkArguments& network, const NetworkPart& part) noexcept;

constexpr unsigned blocks_of(int items, int each) noexcept {
  return static_cast<unsigned>((items + each - 1) / each);
}

/// Levels with at most this number of hypercolumns are computed by one block.
inline constexpr int kTopHypercolumns = kTopThreads / 32;

/// Calls launch(kernel, blocks, threads, argument) for the kernels that compute a part, in order,
/// until one fails. `counts`: as in network_subtree_kernel(); other kernels do not count.
template <typename Launch>
Expected<void> for_each_kernel(const NetworkArguments& network, NetworkPart part,
                               const Launch& launch, bool counts = false) noexcept {
  while (part.level < part.end_level) {
    const detail::LevelPlan& l = network.levels[static_cast<std::size_t>(part.level)];
    const int count = part.end - part.begin;
    Expected<void> done;
    int end_level = part.level + 1;
    if (fits_subtrees(l)) {
      const SubtreeArguments a = plan_subtrees(network, part);
      end_level = a.tiers[static_cast<std::size_t>(a.tier_count - 1)].end_level;
      done = launch(network_subtree_kernel(l.words, counts),
                    blocks_of(count, a.levels[static_cast<std::size_t>(part.level)].each),
                    kSubtreeThreads, a);
    } else if (l.hypercolumns <= kTopHypercolumns && part.end_level == network.level_count) {
      end_level = part.end_level;
      done = launch(kNetworkTopKernel, 1U, kTopThreads,
                    OfLevel<NetworkArguments>{network, part.level});
    } else {
      done = launch(kNetworkLevelKernel, blocks_of(count, kBlockHypercolumns), kNetworkThreads,
                    LevelRange{network, part.level, part.begin, part.end});
    }
    if (!done) return done;
    while (part.level < end_level) {
      if (++part.level == part.end_level) break;
      const detail::LevelPlan& next = network.levels[static_cast<std::size_t>(part.level)];
      const bool subtrees = is_tree(next);
      part.begin = subtrees ? part.begin / next.window_width : 0;
      part.end = subtrees ? part.end / next.window_width : next.hypercolumns;
    }
  }
  return {};
}

/// Queues the kernels that compute a part. `network.step` and, for level 0, `network.image` must be
/// written before; for others, the winners below. For arrays of a part of a level see LevelRange.
/// Two parts that use the same `network.arrived` must not run at the same time. Errors: those of
/// CUDA. `counts`: as in for_each_kernel().
Expected<void> launch_part(DeviceWork& work, Scope& cuda, const NetworkArguments& network,
                           const NetworkPart& part, bool counts = false) noexcept;

}  // namespace ocellus::cuda
