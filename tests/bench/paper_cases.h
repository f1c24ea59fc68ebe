// Networks and characters for tests of the paper's schedules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bench/papers/neocognitron/paper_character.h"
#include "neocognitron/digit_scene.h"
#include "neocognitron/geometry.h"
#include "neocognitron/half.h"
#include "support/run.h"

namespace ocellus::test {

struct PaperCase {
  std::string name;
  TrainedNeocognitron network;
};

/// Random weights with b(k) = 1 in binary16. `planes`: of stages 2 and 3, and references of each
/// class.
inline TrainedNeocognitron random_paper_network(const NeocognitronParameters& parameters,
                                                const std::array<int, 3>& planes, int classes,
                                                std::uint32_t seed) {
  TrainedNeocognitron network;
  network.parameters = parameters;
  network.planes = {kEdgePlanes, planes[0], planes[1], planes[2] * classes};
  for (int c = 0; c < classes; ++c) {
    network.names.push_back("c" + std::to_string(c));
    network.labels.insert(network.labels.end(), static_cast<std::size_t>(planes[2]),
                          static_cast<std::uint16_t>(c));
  }
  network.lengths.assign(network.labels.size(), 1.0f);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (std::size_t i = 0; i < network.weights.size(); ++i) {
    const detail::CellWindow window = detail::simple_window(parameters, static_cast<int>(i));
    const auto below = static_cast<std::size_t>(i == 0 ? kContrastPlanes : network.planes[i - 1]);
    const auto own = static_cast<std::size_t>(network.planes[i]);
    std::vector<double> weights(static_cast<std::size_t>(window.taps) * below * own);
    for (double& weight : weights) weight = std::pow(uniform(random), 3.0);
    for (std::size_t k = 0; k < own; ++k) {
      double square = 0.0;  // b^2 of (4)
      for (std::size_t at = k; at < weights.size(); at += own)
        square +=
            weights[at] * weights[at] / static_cast<double>(window.tap[at / own / below].weight);
      for (std::size_t at = k; at < weights.size(); at += own) weights[at] /= std::sqrt(square);
    }
    for (const double weight : weights)
      network.weights[i].push_back(
          detail::float_from_half(detail::half_from_float(static_cast<float>(weight))));
  }
  return network;
}

/// Numbers of planes that are no multiples of 16 or 32, among them those of the paper; windows of
/// other radii.
inline std::vector<PaperCase> paper_cases() {
  TrainedNeocognitron digits = must(read_neocognitron("digits-small"));
  std::vector<PaperCase> cases;
  cases.push_back({"odd", must(paper::with_planes(digits, {33, 45, 13}))});
  // The others have all positions of US4, as in the paper.
  digits.parameters.reference_side = 5;
  cases.push_back({"paper", must(paper::with_planes(digits, {26, 78, 70}))});
  cases.push_back({"paper windows", paper::with_paper_windows(cases.back().network)});
  NeocognitronParameters parameters;
  parameters.reference_side = 5;
  for (NeocognitronStage& stage : parameters.stages) stage.threshold = 0.4f;
  cases.push_back({"tiny", random_paper_network(parameters, {1, 1, 1}, 1, 3)});
  cases.push_back({"random", random_paper_network(parameters, {19, 35, 7}, 3, 4)});
  // More references than a block has threads, and more inputs than its shared memory holds.
  NeocognitronParameters narrow = parameters;
  narrow.stages[1].s_radius = narrow.stages[3].s_radius = 1.0f;
  cases.push_back({"wide", random_paper_network(narrow, {400, 3, 400}, 3, 7)});
  parameters.stages[0].s_radius = 2.7f;
  parameters.stages[1].s_radius = 6.0f;
  parameters.stages[2].s_radius = 1.0f;
  parameters.stages[3].s_radius = 6.0f;
  parameters.stages[1].c_radius = 6.0f;
  parameters.stages[1].surround_radius = 10.0f;
  parameters.stages[0].surround = 0.0f;
  parameters.contrast_radius = 1.5f;
  parameters.gain = 50.0f;
  cases.push_back({"windows", random_paper_network(parameters, {5, 18, 3}, 4, 5)});
  return cases;
}

/// Inputs of all cells of a plane of an S-layer that lie in the layer below, in all planes of it.
inline std::uint64_t layer_inputs(const TrainedNeocognitron& network, int stage) {
  const detail::CellWindow window = detail::simple_window(network.parameters, stage);
  std::uint64_t inputs = 0;
  for (int y = 0; y < window.sides.out; ++y) {
    for (int x = 0; x < window.sides.out; ++x) {
      for (const detail::WindowTap& tap : window.all()) {
        const int column = window.first + x + tap.dx;
        const int row = window.first + y + tap.dy;
        inputs += column >= 0 && row >= 0 && column < window.sides.in && row < window.sides.in;
      }
    }
  }
  return inputs *
         static_cast<std::uint64_t>(
             stage == 0 ? kContrastPlanes : network.planes[static_cast<std::size_t>(stage) - 1]);
}

/// Images of 65x65: digits, one of them at a border, noise, and an empty one.
inline std::vector<std::vector<float>> paper_characters() {
  std::vector<std::vector<float>> characters;
  const auto add_digit = [&](int value, double x, double y, double height) {
    Scene scene(kNeocognitronSide, kNeocognitronSide, 0.0, 255.0);
    scene.digit(value, x, y, height, 4.0, 6.0);
    std::vector<float>& u0 = characters.emplace_back();
    for (const std::uint8_t pixel : scene.pixels())
      u0.push_back(static_cast<float>(pixel) / 255.0f);
  };
  add_digit(8, 22.0, 14.0, 36.0);
  add_digit(2, 0.0, 0.0, 64.0);
  std::mt19937 random(6);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  std::vector<float> noise(characters.front().size());
  for (float& pixel : noise) pixel = uniform(random);
  characters.push_back(noise);
  characters.emplace_back(noise.size(), 0.0f);
  return characters;
}

/// The largest similarity to a reference of each class.
inline std::vector<float> largest_similarities(const TrainedNeocognitron& network,
                                               const paper::PlaneCells& similarities) {
  std::vector<float> scores(network.names.size(), 0.0f);
  for (int k = 0; k < similarities.planes; ++k)
    for (std::size_t p = 0; p < similarities.plane_cells(); ++p) {
      float& score = scores[network.labels[static_cast<std::size_t>(k)]];
      score = std::max(score, similarities.row(k, 0)[p]);
    }
  return scores;
}

/// The largest difference of two layers; NaN if one of them has it.
inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace ocellus::test
