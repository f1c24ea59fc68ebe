// Layers of tasks, as in section 9 of Nere, Franey, Hashmi and Lipasti (2012): each task needs
// results of the layer below. The schedules are those of the paper's cortical network
// (bench/papers/cortical_network/paper_device_network.h). Plain data; LayeredProgram runs them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "kernels/core/frame_params.h"

namespace ocellus::paper {

using cuda::Kernel;

enum class LayerSchedule : std::uint8_t {
  kLevels,     ///< a launch for each layer
  kPipelined,  ///< one launch computes all layers, each from the results of the launch before
  kQueue,      ///< work queue: resident blocks, which wait for the tasks below
};

inline constexpr int kMostLayers = 8;
inline constexpr int kLayerThreads = 256;  ///< of the block that computes a task

struct TaskLayer {
  int tasks;
  int results;  ///< floats that the tasks write
  /// Tasks that follow each other and that the layer above waits for together. If there are several
  /// groups, task i of the layer above needs group i. If there is one, all tasks need it.
  int group;
  int first;                ///< number of the first task, counted over all layers
  int first_group;          ///< as `first`
  std::int64_t results_at;  ///< in LayerArguments::results

  constexpr int groups() const noexcept { return (tasks + group - 1) / group; }
};

/// Base of the argument of the kernels of a program.
struct LayerArguments {
  std::array<TaskLayer, kMostLayers> layers;
  int layer_count;
  int tasks;  ///< of all layers
  const float* input;
  int inputs;
  std::array<float*, 2> results;  ///< launches of a pipeline write to both in turn
  unsigned* next;                 ///< WorkQueue, with `left` and `done`
  unsigned* left;
  unsigned* done;        ///< of each group
  int layer;             ///< kLevels: that is computed
  std::uint32_t run;     ///< kQueue: runs before this one
  std::uint64_t launch;  ///< kPipelined: number of the launch

  const TaskLayer& last() const noexcept {
    return layers[static_cast<std::size_t>(layer_count - 1)];
  }
  /// Appends a layer.
  void add(int layer_tasks, int layer_results, int group) noexcept {
    TaskLayer made{layer_tasks, layer_results, group, 0, 0, 0};
    if (layer_count > 0) {
      const TaskLayer& below = last();
      made.first = below.first + below.tasks;
      made.first_group = below.first_group + below.groups();
      made.results_at = below.results_at + below.results;
    }
    layers[static_cast<std::size_t>(layer_count++)] = made;
    tasks += layer_tasks;
  }
  /// Places the arrays on the device.
  void layout(detail::LayoutBuilder& device) noexcept {
    input = device.take<float>(static_cast<std::size_t>(inputs));
    const TaskLayer& top = last();
    for (float*& half : results)
      half = device.take<float>(static_cast<std::size_t>(top.results_at + top.results));
    next = device.take<unsigned>(1);
    left = device.take<unsigned>(1);
    done = device.take<unsigned>(static_cast<std::size_t>(top.first_group + top.groups()));
  }
};

/// The kernels of a program whose argument is derived from LayerArguments. Blocks have
/// kLayerThreads threads.
template <typename Arguments>
struct LayerKernels {
  Kernel<Arguments> layer;     ///< a block for each task of the layer
  Kernel<Arguments> pipeline;  ///< any number of blocks
  Kernel<Arguments> queue;     ///< any number of blocks
};

}  // namespace ocellus::paper
