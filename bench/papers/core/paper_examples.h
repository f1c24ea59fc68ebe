// The programs of section 9 of Nere, Franey, Hashmi and Lipasti (2012): a parallel reduction, and a
// feed-forward network of four layers. LayeredProgram<ReductionArguments> and
// LayeredProgram<FeedForwardArguments> run them.
#pragma once

#include <array>
#include <cstdint>

#include "bench/papers/core/paper_layers.h"
#include "ocellus/status.h"

namespace ocellus::paper {

/// The sum of an array by a tree: a task adds up `fan_in` values of the layer below.
struct ReductionConfig {
  int elements = 1 << 24;  ///< 2 to 2^28
  int fan_in = 1024;       ///< 64 to 65536
};

struct ReductionArguments : LayerArguments {
  using Config = ReductionConfig;
  static constexpr const char* kName = "the paper's reduction";

  int fan_in;

  /// Errors: InvalidArgument.
  Expected<void> describe(const ReductionConfig& config) noexcept;
};
LayerKernels<ReductionArguments> layer_kernels(const ReductionArguments& arguments) noexcept;

/// y_j = tanh(c_j + sum of w_ji x_i) in each layer, all inputs of which are connected. The text of
/// the paper does not give the sizes of its layers.
struct FeedForwardConfig {
  static constexpr int kLayers = 4;
  /// Inputs of the network, then neurons of each layer, 1 to 16384.
  std::array<int, kLayers + 1> sizes{784, 1024, 1024, 128, 10};
};

/// Of a block, one for each warp.
inline constexpr int kTaskNeurons = kLayerThreads / 32;

struct FeedForwardArguments : LayerArguments {
  using Config = FeedForwardConfig;
  static constexpr const char* kName = "the paper's feed-forward network";

  std::array<int, FeedForwardConfig::kLayers + 1> sizes;
  std::array<const float*, FeedForwardConfig::kLayers> weights;  ///< w, [neuron][input]
  std::array<const float*, FeedForwardConfig::kLayers> bias;     ///< c

  /// Errors: InvalidArgument.
  Expected<void> describe(const FeedForwardConfig& config) noexcept;
  void layout(detail::LayoutBuilder& device) noexcept;
};
LayerKernels<FeedForwardArguments> layer_kernels(const FeedForwardArguments& arguments) noexcept;

}  // namespace ocellus::paper
