// CpuNetwork: a neocognitron in the memory of an engine. It recognizes one character at a time.
#pragma once

#include <array>
#include <cstdint>

#include "core/layout_builder.h"
#include "neocognitron/cpu/layers.h"
#include "neocognitron/model_source.h"
#include "neocognitron/references.h"

namespace ocellus::detail {

class CpuNetwork {
 public:
  /// Memory of a worker.
  struct Scratch {
    std::array<ActiveCells, kNeocognitronStages> cells;  ///< UG, UC1 to UC3
    float* v = nullptr;
    ComplexScratch complex;
    float* simple_cells = nullptr;
    std::uint8_t* any = nullptr;
    float* similarities = nullptr;
  };

  /// Takes the memory. `max_active`: share of the cells of UG and of the C-layers that may be
  /// active. `plan` must outlive the object.
  void layout(const ModelPlan& plan, float max_active, LayoutBuilder& memory) noexcept;
  void layout(Scratch& scratch, LayoutBuilder& memory) const noexcept;

  /// Reads the model. Errors: those of ModelArrays::read_arrays, OutOfMemory.
  Expected<void> prepare() noexcept;

  /// Writes the cells of UC4, `classes` similarities from 0 to 1. `u0` has 65x65 floats. False if
  /// more cells than allowed were active: those beyond counted as 0.
  bool recognize(const float* u0, const Scratch& scratch, float* scores) const noexcept;

 private:
  const ModelPlan* plan_ = nullptr;
  float max_active_ = 1.0f;
  CellWindow contrast_;
  std::array<CellWindow, kNeocognitronStages> simple_windows_;
  std::array<CellWindow, kNeocognitronStages - 1> complex_windows_;
  std::array<SimpleLayer, kNeocognitronStages> layers_;
  std::array<std::uint16_t*, kNeocognitronStages> weights_{};
  ReferenceClasses classes_;
};

}  // namespace ocellus::detail
