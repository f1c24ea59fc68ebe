// Cellular networks in tests: configurations, views of their results, a frame through one.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "ocellus/cellular_network.h"
#include "support/run.h"

namespace ocellus::test {

inline CellularNetworkConfig one_stage(ImageSize size, const CellStage& stage) {
  CellularNetworkConfig config;
  config.size = size;
  config.stage_count = 1;
  config.stages[0] = stage;
  return config;
}

/// Outputs in 8 bits, row by row without gaps.
using CellBytes = std::vector<std::uint8_t>;

inline CellView view_of(CellBytes& out, ImageSize size) {
  CellView view;
  view.data = out.data();
  view.size = size;
  view.stride = size.width;
  return view;
}

/// What a network makes of a frame. `info`: one CellInfo*, or none where the network gives none.
template <typename Network, typename... Info>
CellBytes cells_of(Network& network, const Frame& frame, Info*... info) {
  CellBytes out(static_cast<std::size_t>(frame.size.width) *
                static_cast<std::size_t>(frame.size.height));
  const Ticket ticket = must(network.submit(frame, view_of(out, frame.size)));
  must(network.wait(ticket, Deadline::after(std::chrono::seconds(120)), info...));
  return out;
}

}  // namespace ocellus::test
