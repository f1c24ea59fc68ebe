#include "training/layer_run.h"

#include <algorithm>

#include "neocognitron/half.h"

namespace ocellus::detail {

void StoredCells::store(const ActiveCells& cells) {
  side = cells.side;
  planes = cells.planes;
  const std::uint32_t count = cells.count();
  begin.assign(cells.begin, cells.begin + squared(side) + 1);
  key.assign(cells.key, cells.key + count);
  value.assign(cells.value, cells.value + count);
  energy.assign(cells.energy, cells.energy + squared(side));
}

CellsRoom::CellsRoom(int side, int planes)
    : begin(squared(side) + 1),
      key(squared(side) * static_cast<std::size_t>(planes)),
      value(key.size()),
      energy(squared(side)),
      cells{side,
            planes,
            begin.data(),
            key.data(),
            value.data(),
            energy.data(),
            static_cast<std::uint32_t>(value.size())} {}

Stage::Stage(const NeocognitronParameters& parameters, int stage, int in_planes, int planes,
             const std::vector<float>& weights)
    : simple_window_(simple_window(parameters, stage)) {
  if (stage < kNeocognitronStages - 1) complex_window_ = complex_window(parameters, stage);
  layer_ = {&simple_window_, in_planes, planes,
            parameters.stages[static_cast<std::size_t>(stage)].threshold, parameters.gain};
  std::vector<std::uint16_t> halves(weights.size());
  std::transform(weights.begin(), weights.end(), halves.begin(), half_from_float);
  weights_ = AlignedHalves(layer_.weight_count());
  place_weights(layer_, halves.data(), weights_.get());
  layer_.weights = weights_.get();
}

Stage::Room::Room(const Stage& stage)
    : v(squared(stage.simple_window_.sides.out)),
      cells(squared(stage.simple_window_.sides.out) *
            static_cast<std::size_t>(stage.layer_.stride())),
      any(squared(stage.simple_window_.sides.out)),
      row_sums(complex_row_sums(stage.complex_window_, stage.layer_.planes)),
      active(squared(stage.simple_window_.sides.out + 1)),
      out(stage.complex_window_.sides.out, stage.layer_.planes) {}

void Stage::run(const ActiveCells& in, Room& room) const {
  simple_cells(layer_, in, room.v.data(), room.cells.get(), room.any.data());
  complex_cells(complex_window_, room.cells.get(), room.any.data(),
                {room.row_sums.get(), room.active.data()}, room.out.cells);
}

}  // namespace ocellus::detail
