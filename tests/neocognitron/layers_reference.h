// The layers of the neocognitron in double precision, by equations (1) to (5) of
// ocellus/neocognitron_model.h. All cells, all inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "ocellus/neocognitron_model.h"

namespace ocellus::test {

/// Cells of a layer in double precision. Cells outside of it are 0.
struct CellsD {
  int side = 0;
  int planes = 0;
  std::vector<double> values;

  CellsD(int side_, int planes_)
      : side(side_),
        planes(planes_),
        values(static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_) *
               static_cast<std::size_t>(planes_)) {}

  std::size_t index(int x, int y, int k) const {
    return (static_cast<std::size_t>(y) * static_cast<std::size_t>(side) +
            static_cast<std::size_t>(x)) *
               static_cast<std::size_t>(planes) +
           static_cast<std::size_t>(k);
  }
  double& at(int x, int y, int k) { return values[index(x, y, k)]; }
  double at(int x, int y, int k) const {
    if (x < 0 || y < 0 || x >= side || y >= side) return 0.0;
    return values[index(x, y, k)];
  }
};

/// An input of a window: a column and a row of the layer below, and its distance from the cell.
struct InputD {
  int x;
  int y;
  double distance;
};

/// All inputs nearer than `radius` of the cell at (x, y), also those outside of the layer. Both
/// layers have their centers at the same place.
inline std::vector<InputD> inputs_near(int in_side, int out_side, int pitch, int x, int y,
                                       double radius) {
  const double cx = pitch * (x - (out_side - 1) / 2.0) + (in_side - 1) / 2.0;
  const double cy = pitch * (y - (out_side - 1) / 2.0) + (in_side - 1) / 2.0;
  std::vector<InputD> inputs;
  for (int row = static_cast<int>(cy - radius) - 2; row <= static_cast<int>(cy + radius) + 2; ++row)
    for (int column = static_cast<int>(cx - radius) - 2;
         column <= static_cast<int>(cx + radius) + 2; ++column) {
      const double distance = std::hypot(column - cx, row - cy);
      if (distance < radius) inputs.push_back({column, row, distance});
    }
  return inputs;
}

inline double gaussian(double distance, double sigma) {
  return std::exp(-distance * distance / (2.0 * sigma * sigma));
}

/// (1)
inline CellsD contrast_reference(const CellsD& u0, const NeocognitronParameters& parameters) {
  CellsD out(71, kContrastPlanes);
  for (int y = 0; y < out.side; ++y)
    for (int x = 0; x < out.side; ++x) {
      const auto inputs =
          inputs_near(u0.side, out.side, 1, x, y, static_cast<double>(parameters.contrast_radius));
      double center = 0.0;
      double surround = 0.0;
      for (const InputD& input : inputs) {
        center += gaussian(input.distance, static_cast<double>(parameters.center_sigma));
        surround += gaussian(input.distance, static_cast<double>(parameters.surround_sigma));
      }
      double sum = 0.0;
      for (const InputD& input : inputs)
        sum +=
            u0.at(input.x, input.y, 0) *
            (gaussian(input.distance, static_cast<double>(parameters.center_sigma)) / center -
             gaussian(input.distance, static_cast<double>(parameters.surround_sigma)) / surround);
      const auto t = static_cast<double>(parameters.contrast_threshold);
      out.at(x, y, 0) = std::max(0.0, -sum - t);
      out.at(x, y, 1) = std::max(0.0, sum - t);
    }
  return out;
}

/// The weights a(v, kappa, k) / b(k) of an S-layer, with v in the order of inputs_near.
struct WeightsD {
  int in_planes = 0;
  int planes = 0;
  std::vector<double> values;
  double at(std::size_t v, int kappa, int k) const {
    return values[(v * static_cast<std::size_t>(in_planes) + static_cast<std::size_t>(kappa)) *
                      static_cast<std::size_t>(planes) +
                  static_cast<std::size_t>(k)];
  }
};

/// c(v), with the sum 1.
inline std::vector<double> decay_weights(const std::vector<InputD>& inputs, double decay) {
  std::vector<double> c;
  double sum = 0.0;
  for (const InputD& input : inputs) sum += std::pow(decay, input.distance);
  for (const InputD& input : inputs) c.push_back(std::pow(decay, input.distance) / sum);
  return c;
}

/// (3)
inline double inhibition(const CellsD& in, const std::vector<InputD>& inputs,
                         const std::vector<double>& c) {
  double sum = 0.0;
  for (std::size_t v = 0; v < inputs.size(); ++v)
    for (int kappa = 0; kappa < in.planes; ++kappa) {
      const double u = in.at(inputs[v].x, inputs[v].y, kappa);
      sum += c[v] * u * u;
    }
  return std::sqrt(sum);
}

/// e / b(k) of (2)
inline double excitation(const CellsD& in, const std::vector<InputD>& inputs,
                         const WeightsD& weights, int k) {
  double sum = 0.0;
  for (std::size_t v = 0; v < inputs.size(); ++v)
    for (int kappa = 0; kappa < in.planes; ++kappa)
      sum += weights.at(v, kappa, k) * in.at(inputs[v].x, inputs[v].y, kappa);
  return sum;
}

/// (2); a = gain * weights, and b(k) = gain.
inline CellsD simple_reference(const CellsD& in, int side, const NeocognitronParameters& parameters,
                               int stage, const WeightsD& weights) {
  const NeocognitronStage& constants = parameters.stages[static_cast<std::size_t>(stage)];
  const auto theta = static_cast<double>(constants.threshold);
  const auto gain = static_cast<double>(parameters.gain);
  CellsD out(side, weights.planes);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const auto inputs =
          inputs_near(in.side, side, 1, x, y, static_cast<double>(constants.s_radius));
      const auto c = decay_weights(inputs, static_cast<double>(constants.s_decay));
      const double v = inhibition(in, inputs, c);
      for (int k = 0; k < weights.planes; ++k) {
        const double e = gain * excitation(in, inputs, weights, k);
        out.at(x, y, k) =
            theta / (1.0 - theta) * std::max(0.0, (1.0 + e) / (1.0 + theta * gain * v) - 1.0);
      }
    }
  return out;
}

/// (5)
inline CellsD complex_reference(const CellsD& in, int side,
                                const NeocognitronParameters& parameters, int stage) {
  const NeocognitronStage& constants = parameters.stages[static_cast<std::size_t>(stage)];
  const auto radius = static_cast<double>(constants.c_radius);
  const auto surround = static_cast<double>(constants.surround);
  const double reach =
      surround > 0.0 ? std::max(radius, static_cast<double>(constants.surround_radius)) : radius;
  CellsD out(side, in.planes);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const auto inputs = inputs_near(in.side, side, 2, x, y, reach);
      double positive = 0.0;
      int negative = 0;
      for (const InputD& input : inputs) {
        if (input.distance < radius)
          positive += std::pow(static_cast<double>(constants.c_decay), input.distance);
        else
          ++negative;
      }
      for (int k = 0; k < in.planes; ++k) {
        double sum = 0.0;
        for (const InputD& input : inputs)
          sum += in.at(input.x, input.y, k) *
                 (input.distance < radius
                      ? std::pow(static_cast<double>(constants.c_decay), input.distance)
                      : -surround * positive / negative);
        out.at(x, y, k) = std::max(0.0, sum) / (1.0 + std::max(0.0, sum));
      }
    }
  return out;
}

/// The cosine of the angle between input and reference, with the weights c: e / (b v).
inline CellsD similarity_reference(const CellsD& in, const NeocognitronParameters& parameters,
                                   const WeightsD& weights) {
  const NeocognitronStage& constants = parameters.stages[3];
  CellsD out(parameters.reference_side, weights.planes);
  for (int y = 0; y < out.side; ++y)
    for (int x = 0; x < out.side; ++x) {
      const auto inputs =
          inputs_near(in.side, out.side, 1, x, y, static_cast<double>(constants.s_radius));
      const auto c = decay_weights(inputs, static_cast<double>(constants.s_decay));
      const double v = inhibition(in, inputs, c);
      for (int k = 0; k < weights.planes; ++k)
        out.at(x, y, k) = v > 0.0 ? excitation(in, inputs, weights, k) / v : 0.0;
    }
  return out;
}

}  // namespace ocellus::test
