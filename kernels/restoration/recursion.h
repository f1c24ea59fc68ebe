// Restoration by recursion: the instance, its base, its tiles and its table.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "core/failure.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/restoration/kernels.h"

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

/// What the instances of Restoration by recursion share: the continued image and the sum of the
/// quadrants. The schedules of the paper use it, too.
class RecursionOperator : public CudaOperator {
 protected:
  RecursionOperator(const detail::RestorationPlan& plan, const OperatorInfo& info) noexcept
      : CudaOperator(info), plan_(plan) {
    image_.margin_x = round_up_to_columns(plan.padding);
    image_.margin_y = plan.padding;
    image_.width = round_up_to_columns(plan.size.width) + 2 * image_.margin_x;
    image_.height = plan.size.height + 2 * image_.margin_y;
  }

  std::size_t image_pixels() const noexcept {
    return static_cast<std::size_t>(image_.width) * static_cast<std::size_t>(image_.height);
  }
  void place_image(LayoutBuilder& device) noexcept {
    image_.pixels = device.take<float>(image_pixels());
  }
  Expected<void> load_image_kernels(Scope& cuda) noexcept {
    OCELLUS_TRY(load_check_kernel(cuda));
    OCELLUS_TRY(load_kernel(cuda, continue_kernel(plan_.format), 0));
    return load_kernel(cuda, add_quadrants_kernel(plan_.format), 0);
  }
  /// The first kernels of a frame.
  Expected<void> launch_continue(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    const ContinueArguments arguments{params(slot), plan_.size, plan_.border, image_};
    return launch(cuda, stream, continue_kernel(plan_.format),
                  dim3(static_cast<unsigned>(image_.height)), dim3(kContinueThreads), 0, arguments);
  }
  /// The last kernel of a frame.
  Expected<void> launch_add(Scope& cuda, int slot, cudaStream_t stream, const float* planes,
                            std::size_t plane_pixels, int pitch) noexcept {
    const AddQuadrantsArguments arguments{params(slot), state(),      outcome(slot), plan_.size,
                                          planes,       plane_pixels, pitch};
    return launch(cuda, stream, add_quadrants_kernel(plan_.format),
                  dim3(static_cast<unsigned>(plan_.size.height)), dim3(kAddThreads), 0, arguments);
  }

  detail::RestorationPlan plan_;
  ContinuedImage image_{};
};

}  // namespace ocellus::cuda
