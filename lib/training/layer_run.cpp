#include "training/layer_run.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

std::size_t squared(int side) {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

}  // namespace

void StoredCells::store(const ActiveCells& cells) {
  side = cells.side;
  planes = cells.planes;
  const std::uint32_t count = cells.count();
  begin.assign(cells.begin, cells.begin + squared(side) + 1);
  plane.assign(cells.plane, cells.plane + count);
  value.assign(cells.value, cells.value + count);
}

CellsRoom::CellsRoom(int side, int planes)
    : begin(squared(side) + 1),
      plane(squared(side) * static_cast<std::size_t>(planes)),
      value(plane.size()),
      cells{side, planes, begin.data(), plane.data(), value.data()} {}

Stage::Stage(const NeocognitronParameters& parameters, int stage, int in_planes, int planes,
             const std::vector<float>& weights)
    : simple_window_(simple_window(parameters, stage)) {
  if (stage < kNeocognitronStages - 1) complex_window_ = complex_window(parameters, stage);
  const auto rows =
      static_cast<std::size_t>(simple_window_.taps) * static_cast<std::size_t>(in_planes);
  const auto stride = static_cast<std::size_t>(padded_planes(planes));
  weights_ = AlignedFloats(rows * stride);
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(weights.data() + row * static_cast<std::size_t>(planes), planes,
                weights_.get() + row * stride);
  }
  layer_ = {&simple_window_, in_planes,
            planes,          parameters.stages[static_cast<std::size_t>(stage)].threshold,
            parameters.gain, weights_.get()};
}

Stage::Room::Room(const Stage& stage)
    : inputs(static_cast<std::size_t>(stage.simple_window_.taps) *
             static_cast<std::size_t>(stage.layer_.in_planes)),
      cells(squared(stage.simple_window_.sides.out) *
            static_cast<std::size_t>(stage.layer_.stride())),
      any(squared(stage.simple_window_.sides.out)),
      sums(static_cast<std::size_t>(stage.layer_.stride())),
      out(stage.complex_window_.sides.out, stage.layer_.planes) {}

void Stage::run(const ActiveCells& in, Room& room) const {
  simple_cells(layer_, in, room.inputs.data(), room.cells.get(), room.any.data());
  complex_cells(complex_window_, room.cells.get(), room.any.data(), room.sums.get(),
                room.out.cells);
}

}  // namespace ocellus::detail
