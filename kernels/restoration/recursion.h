// Restoration by recursion: the instance, its tiles and its table.
#pragma once

#include <array>
#include <memory>

#include "core/operator_instance.h"
#include "kernels/restoration/recursion_kernels.h"

namespace ocellus::cuda {

/// An instance without memory; null when the system has none.
std::unique_ptr<detail::OperatorInstance> make_recursion(
    const detail::RestorationPlan& plan) noexcept;

/// Writes the tables of the four quadrants for a kernel's support, which is at least the filter's.
void write_recursion_table(const RestorationFilter& filter, int support, float* table) noexcept;

/// What decides the best tiles.
struct RecursionTask {
  int plane_width;
  int height;
  int margin_x;
  int margin_y;
  int support;  ///< of the kernel
  int multiprocessors;
};

struct RecursionTiles {
  int threads = 0;  ///< of a block; 0: there are no tiles
  int width = 0;    ///< without the margin
  int height = 0;
  int across = 0;  ///< number of tiles
  int down = 0;
};

/// Blocks that fit on a multiprocessor at once; element i is for 32 * (i + 1) threads.
using ResidentBlocks = std::array<int, kMaxRecursionThreads / 32>;

/// Lower tiles would repeat more of their neighbors than they add.
inline constexpr int kLeastTileHeight = 8;

/// The tiles with the least estimated time.
RecursionTiles choose_recursion_tiles(const RecursionTask& task,
                                      const ResidentBlocks& resident) noexcept;

}  // namespace ocellus::cuda
