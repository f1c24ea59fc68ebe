#include "neocognitron/cpu/network.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

std::size_t squared(int side) noexcept {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

}  // namespace

void CpuNetwork::layout(const ModelPlan& plan, float max_active, LayoutBuilder& memory) noexcept {
  plan_ = &plan;
  max_active_ = max_active;
  const NeocognitronTable& table = plan.table;
  contrast_ = contrast_window(table.parameters);
  for (int stage = 0; stage < kNeocognitronStages; ++stage) {
    const auto i = static_cast<std::size_t>(stage);
    simple_windows_[i] = simple_window(table.parameters, stage);
    if (i < complex_windows_.size()) complex_windows_[i] = complex_window(table.parameters, stage);
    layers_[i] = {&simple_windows_[i], planes_below(table, stage), table.planes[i],
                  table.parameters.stages[i].threshold, table.parameters.gain};
    weights_[i] = memory.take<std::uint16_t>(layers_[i].weight_count());
    layers_[i].weights = weights_[i];
  }
  classes_.layout(table, memory);
}

void CpuNetwork::layout(Scratch& scratch, LayoutBuilder& memory) const noexcept {
  std::size_t positions = 0;
  std::size_t simple = 0;
  std::size_t row_sums = 0;
  std::size_t active = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const int side = kSimpleSides[i].in;
    const std::uint32_t most = active_capacity(plan_->table, static_cast<int>(i), max_active_);
    scratch.cells[i] = {side,
                        layers_[i].in_planes,
                        memory.take<std::uint32_t>(squared(side) + 1),
                        memory.take<std::uint16_t>(most),
                        memory.take<float>(most),
                        memory.take<float>(squared(side)),
                        most};
    const auto stride = static_cast<std::size_t>(layers_[i].stride());
    const bool last = i + 1 == layers_.size();
    positions = std::max(positions, squared(kSimpleSides[i].out));
    if (last) continue;
    simple = std::max(simple, squared(kSimpleSides[i].out) * stride);
    row_sums = std::max(row_sums, complex_row_sums(complex_windows_[i], layers_[i].planes));
    active = std::max(active, squared(kSimpleSides[i].out + 1));
  }
  scratch.v = memory.take<float>(positions);
  scratch.complex = {memory.take<float>(row_sums), memory.take<std::uint8_t>(active)};
  scratch.simple_cells = memory.take<float>(simple);
  scratch.any = memory.take<std::uint8_t>(positions);
  // The read-out reads whole vectors from the first reference of a class on.
  scratch.similarities = memory.take<float>(
      kReferencePositions * static_cast<std::size_t>(layers_[3].stride()) + kPlaneAlignment);
}

Expected<void> CpuNetwork::prepare() noexcept {
  ModelArrays arrays;
  OCELLUS_TRY(arrays.read_arrays(*plan_));
  for (std::size_t i = 0; i < layers_.size(); ++i)
    place_weights(layers_[i], arrays.weights(static_cast<int>(i)), weights_[i]);
  const std::size_t bytes = ReferenceClasses::work_floats(plan_->table) * sizeof(float);
  const std::unique_ptr<float, void (*)(void*)> work(
      static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), std::free);
  if (work == nullptr)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory to read the model"));
  classes_.prepare(plan_->table, arrays.weights(3), work.get());
  return {};
}

bool CpuNetwork::recognize(const float* u0, const Scratch& scratch, float* scores) const noexcept {
  bool complete =
      contrast_cells(contrast_, plan_->table.parameters.contrast_threshold, u0, scratch.cells[0]);
  for (std::size_t i = 0; i < complex_windows_.size(); ++i) {
    simple_cells(layers_[i], scratch.cells[i], scratch.v, scratch.simple_cells, scratch.any);
    complete = complex_cells(complex_windows_[i], scratch.simple_cells, scratch.any,
                             scratch.complex, scratch.cells[i + 1]) &&
               complete;
  }
  reference_similarities(layers_[3], scratch.cells[3], scratch.v, scratch.similarities);
  classes_.score(scratch.similarities, layers_[3].stride(), scores);
  return complete;
}

}  // namespace ocellus::detail
