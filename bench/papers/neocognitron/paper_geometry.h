// The sizes and windows of a network, and the tables of the paper's schedules.
#pragma once

#include <array>
#include <cstddef>

#include "bench/papers/neocognitron/paper_schedules.h"
#include "neocognitron/geometry.h"
#include "ocellus/neocognitron_training.h"
#include "ocellus/status.h"

namespace ocellus::paper {

using detail::CellWindow;

inline constexpr std::size_t kStages = kNeocognitronStages;
inline constexpr std::size_t kComplexStages = kStages - 1;

constexpr std::size_t squared(int side) noexcept {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

/// What a schedule needs of the network, without its weights.
struct PaperGeometry {
  std::array<int, kStages> planes{};
  std::array<int, kStages> in_planes{};
  CellWindow contrast;
  std::array<CellWindow, kStages> simple;
  std::array<CellWindow, kComplexStages> complex;
  int classes = 0;

  explicit PaperGeometry(const TrainedNeocognitron& network) noexcept;

  std::size_t input_cells(std::size_t stage) const noexcept {
    return squared(simple[stage].sides.in) * static_cast<std::size_t>(in_planes[stage]);
  }
  std::size_t simple_cells(std::size_t stage) const noexcept {
    return squared(simple[stage].sides.out) * static_cast<std::size_t>(planes[stage]);
  }
  /// Planes, rounded up to whole warps.
  int padded_planes(std::size_t stage) const noexcept { return (planes[stage] + 31) / 32 * 32; }
  /// Inputs of all cells of a plane in a plane of the layer below.
  std::size_t plane_inputs(std::size_t stage) const noexcept;
  /// Of the weights: a row has a weight of each plane.
  std::size_t weight_rows(std::size_t stage) const noexcept {
    return static_cast<std::size_t>(simple[stage].taps) *
           static_cast<std::size_t>(in_planes[stage]);
  }
  std::size_t weights(std::size_t stage) const noexcept {
    return weight_rows(stage) * static_cast<std::size_t>(planes[stage]);
  }
};

/// Returns nothing if all parts of the network fit. Errors: InvalidArgument. `who` appears in their
/// texts.
Expected<void> check_paper_network(const TrainedNeocognitron& network, const char* who) noexcept;

/// Sets the rectangle around the taps of a window.
void set_rectangle(const CellWindow& window, SharedInputsArguments& a) noexcept;
/// `a` has the rectangle of the window.
InputTable make_table(const CellWindow& window, const SharedInputsArguments& a) noexcept;

}  // namespace ocellus::paper
