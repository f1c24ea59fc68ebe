// Distortions of U0, with which training shows an image in other shapes.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include "neocognitron/normalization.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::detail {

struct Distortion {
  /// Points of the grid along each axis, whose displacements bend U0.
  static constexpr std::size_t kGrid = 6;
  struct Shift {
    float x = 0.0f;
    float y = 0.0f;
  };

  // Linear, around the center.
  double xx = 1.0;
  double xy = 0.0;
  double yx = 0.0;
  double yy = 1.0;
  /// Pixels by which strokes become wider at each side; below 0, narrower.
  float stroke = 0.0f;
  bool bends = false;
  std::array<Shift, kGrid * kGrid> grid{};  // in pixels, row after row
};

/// Random numbers are drawn for the parts that `training` has, so that a part that is 0 does not
/// change the others.
Distortion random_distortion(const NeocognitronTraining& training, std::mt19937_64& random);

/// U0 of an image without ink is empty.
void write_u0(const InkImage& image, const PatchNormalization& normalization,
              const Distortion& distortion, std::vector<float>& u0);

}  // namespace ocellus::detail
