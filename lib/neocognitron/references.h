// The cell of UC4 for a class: how similar the input is to the references of the class and to the
// segments between two of them (interpolating vectors).
//
// Source: Fukushima, "Training multi-layered neural network neocognitron", Neural Networks 40,
// 2013. For unit vectors i and j, whose product is g, and an input with the similarities si and sj,
// the largest similarity to a vector between them is
//
//   sqrt((si^2 + sj^2 - 2 si sj g) / (1 - g^2))   if si > sj g and sj > si g, else max(si, sj) (6)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "neocognitron/model_file.h"

namespace ocellus::detail {

/// The references of a class.
struct ClassReferences {
  int count = 0;
  int stride = 0;  ///< of the two matrices: a multiple of kPlaneAlignment, not less than `count`
  const float* products = nullptr;  ///< g at [i * stride + j]; 0 behind the last j
  /// 1 / sqrt(1 - g^2) at [i * stride + j]; 0 for i = j, for vectors that are almost equal, and
  /// behind the last j
  const float* scales = nullptr;
  /// The smallest g of each reference with another one, or less; 1 if there is no other one.
  const float* smallest = nullptr;
};

/// 1 / sqrt(1 - g^2), or 0: no interpolation.
float interpolation_scale(float product) noexcept;

/// The largest of `best` and of (6) over all pairs. Reads `stride` similarities; those behind the
/// last reference may have any finite value.
float class_similarity(const ClassReferences& references, const float* similarities,
                       float best) noexcept;

/// The references of the classes of a model, beside their weights. References are sorted by class.
class ReferenceClasses {
 public:
  /// Takes the memory, 64-byte aligned.
  void layout(const NeocognitronTable& table, LayoutBuilder& memory) noexcept;
  /// Computes the products. `weights`: those of stage 4 in binary16, [v][kappa][k]. False if the
  /// system has no memory for the work.
  bool prepare(const NeocognitronTable& table, const std::uint16_t* weights) noexcept;

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
  int positions_ = 0;  // of US4
  std::array<Class, kMaxCharacterClasses> classes_{};
};

}  // namespace ocellus::detail
