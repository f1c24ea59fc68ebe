// Images of five shapes, from which a small network learns in a second.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "ocellus/neocognitron_training.h"
#include "support/run.h"

namespace ocellus::test {

/// Strokes of one of five shapes with random positions, slants and sizes, 28x28.
inline LabeledImages shapes(std::size_t count, std::uint32_t seed) {
  LabeledImages images;
  images.width = images.height = 28;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint16_t>(i % 5);
    const double cx = 13.5 + 3.0 * unit(random);
    const double cy = 13.5 + 3.0 * unit(random);
    const double size = 7.0 + unit(random);
    const double turn = 0.15 * unit(random);
    const auto distance = [&](double x, double y) {
      const double u = ((x - cx) * std::cos(turn) + (y - cy) * std::sin(turn)) / size;
      const double v = ((y - cy) * std::cos(turn) - (x - cx) * std::sin(turn)) / size;
      const auto segment = [&](double ax, double ay, double bx, double by) {
        const double t = std::clamp(((u - ax) * (bx - ax) + (v - ay) * (by - ay)) /
                                        ((bx - ax) * (bx - ax) + (by - ay) * (by - ay)),
                                    0.0, 1.0);
        return std::hypot(u - ax - t * (bx - ax), v - ay - t * (by - ay)) * size;
      };
      switch (label) {
        case 0:
          return std::abs(std::hypot(u, v) - 1.0) * size;  // a ring
        case 1:
          return std::min(segment(-1, 0, 1, 0), segment(0, -1, 0, 1));  // a cross
        case 2:
          return std::min(segment(-1, -1, 1, -1), segment(0, -1, 0, 1));  // a T
        case 3:
          return std::min(segment(-1, -1, -1, 1), segment(-1, 1, 1, 1));  // an L
        default:
          return std::min(segment(-1, 1, 0, -1), segment(0, -1, 1, 1));  // a roof
      }
    };
    for (int y = 0; y < 28; ++y)
      for (int x = 0; x < 28; ++x)
        images.ink.push_back(
            static_cast<std::uint8_t>(255.0 * std::clamp(2.0 - distance(x, y), 0.0, 1.0)));
    images.labels.push_back(label);
  }
  return images;
}

inline NeocognitronTraining small_training() {
  NeocognitronTraining training;
  training.features[0].planes = 16;
  training.features[1].planes = 24;
  training.copies = 1;
  training.passes = 3;
  training.tuning = {2, 0.3f, 5.0f};  // the shapes differ much
  training.threads = 2;
  training.calibration_copies = 50;
  return training;
}

/// The images of which `keep(label)` is true.
template <typename Keep>
LabeledImages with_labels(const LabeledImages& images, const Keep& keep) {
  LabeledImages kept{images.width, images.height, {}, {}, images.names};
  const auto pixels = static_cast<std::ptrdiff_t>(images.width) * images.height;
  for (std::size_t i = 0; i < images.count(); ++i) {
    if (!keep(images.labels[i])) continue;
    const auto first = images.ink.begin() + static_cast<std::ptrdiff_t>(i) * pixels;
    kept.ink.insert(kept.ink.end(), first, first + pixels);
    kept.labels.push_back(images.labels[i]);
  }
  return kept;
}

}  // namespace ocellus::test
