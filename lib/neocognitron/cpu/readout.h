// The cell of UC4 for a class: how similar the input is to the references of the class and to the
// segments between two of them (interpolating vectors).
//
// Source: Fukushima, "Training multi-layered neural network neocognitron", Neural Networks 40,
// 2013. For unit vectors i and j, whose product is g, and an input with the similarities si and sj,
// the largest similarity to a vector between them is
//
//   sqrt((si^2 + sj^2 - 2 si sj g) / (1 - g^2))   if si > sj g and sj > si g, else max(si, sj) (6)
#pragma once

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

}  // namespace ocellus::detail
