// Helpers for tests of cellular networks: configurations, views of results, one frame.
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

/// Outputs in 8 bits, without padding.
using CellBytes = std::vector<std::uint8_t>;

inline ImageView view_of(CellBytes& out, ImageSize size) {
  ImageView view;
  view.data = out.data();
  view.size = size;
  view.stride = size.width;
  return view;
}

/// The result of one frame.
inline CellBytes cells_of(OperatorHandle& network, const Frame& frame,
                          CellularNetworkRecord* record = nullptr) {
  CellBytes bytes(static_cast<std::size_t>(frame.size.width) *
                  static_cast<std::size_t>(frame.size.height));
  OperatorOutput out;
  out.planes[0] = view_of(bytes, frame.size);
  out.record = record;
  const Ticket ticket = must(network.submit(frame, out));
  must(network.wait(ticket, Deadline::after(std::chrono::seconds(120))));
  return bytes;
}

}  // namespace ocellus::test
