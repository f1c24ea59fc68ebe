#include "bench/papers/core/paper_examples.h"

#include <algorithm>

#include "core/failure.h"

namespace ocellus::paper {

Expected<void> ReductionArguments::describe(const ReductionConfig& config) noexcept {
  constexpr int kMostElements = 1 << 28;
  constexpr int kLeastFanIn = 64;
  constexpr int kMostFanIn = 65536;
  if (config.elements < 2 || config.elements > kMostElements) {
    return detail::invalid_argument("%s: elements is %d; it must be 2 to %d", kName,
                                    config.elements, kMostElements);
  }
  if (config.fan_in < kLeastFanIn || config.fan_in > kMostFanIn) {
    return detail::invalid_argument("%s: fan_in is %d; it must be %d to %d", kName, config.fan_in,
                                    kLeastFanIn, kMostFanIn);
  }
  // 64^5 is more than the most elements.
  static_assert(kMostLayers >= 5);
  inputs = config.elements;
  fan_in = config.fan_in;
  int values = inputs;
  do {
    values = (values + fan_in - 1) / fan_in;
    add(values, values, fan_in);
  } while (values > 1);
  return {};
}

Expected<void> FeedForwardArguments::describe(const FeedForwardConfig& config) noexcept {
  constexpr int kMostNeurons = 16384;
  sizes = config.sizes;
  inputs = sizes[0];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > kMostNeurons) {
      return detail::invalid_argument("%s: sizes[%zu] is %d; it must be 1 to %d", kName, i,
                                      sizes[i], kMostNeurons);
    }
    if (i == 0) continue;
    const int blocks = (sizes[i] + kTaskNeurons - 1) / kTaskNeurons;
    add(blocks, sizes[i], blocks);
  }
  return {};
}

void FeedForwardArguments::layout(detail::LayoutBuilder& device) noexcept {
  LayerArguments::layout(device);
  for (std::size_t l = 0; l < weights.size(); ++l) {
    const auto neurons = static_cast<std::size_t>(sizes[l + 1]);
    weights[l] = device.take<float>(neurons * static_cast<std::size_t>(sizes[l]));
    bias[l] = device.take<float>(neurons);
  }
}

}  // namespace ocellus::paper
