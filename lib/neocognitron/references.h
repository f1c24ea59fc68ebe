// What the read-out needs of the references of each class, beside their weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "neocognitron/cpu/readout.h"
#include "neocognitron/model_file.h"

namespace ocellus::detail {

/// The references of the classes of a model. References are sorted by class.
class ReferenceClasses {
 public:
  /// Takes the memory, 64-byte aligned.
  void layout(const NeocognitronTable& table, LayoutBuilder& memory) noexcept;
  /// Computes the products. `weights`: those of stage 4 in binary16, [v][kappa][k]. `work` has room
  /// for work_floats(table), 64-byte aligned.
  void prepare(const NeocognitronTable& table, const std::uint16_t* weights, float* work) noexcept;
  static std::size_t work_floats(const NeocognitronTable& table) noexcept;

  /// The cells of UC4: writes the similarity to each class. `similarities`:
  /// [position * stride + reference], and kPlaneAlignment floats behind it.
  void score(const float* similarities, int stride, float* scores) const noexcept;

  int count() const noexcept { return count_; }
  const ClassReferences& references(int index) const noexcept {
    return classes_[static_cast<std::size_t>(index)].references;
  }
  /// The first reference of a class.
  int first(int index) const noexcept { return classes_[static_cast<std::size_t>(index)].first; }

 private:
  struct Class {
    ClassReferences references;
    int first = 0;
    float* products = nullptr;
    float* scales = nullptr;
    float* smallest = nullptr;
  };
  int count_ = 0;
  std::array<Class, kMaxCharacterClasses> classes_{};
};

}  // namespace ocellus::detail
