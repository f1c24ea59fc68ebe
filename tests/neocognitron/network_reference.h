// A whole neocognitron in double precision, from U0 to the classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "layers_reference.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::test {

class NetworkReference {
 public:
  explicit NetworkReference(const TrainedNeocognitron& network) : network_(network) {
    int below = kContrastPlanes;
    for (std::size_t l = 0; l < weights_.size(); ++l) {
      weights_[l] = {below, network.planes[l], {}};
      weights_[l].values.assign(network.weights[l].begin(), network.weights[l].end());
      below = network.planes[l];
    }
    // The products of references, sum of a a / c.
    const auto inputs = inputs_near(13, 1, 1, 0, 0, static_cast<double>(stage(3).s_radius));
    const auto c = decay_weights(inputs, static_cast<double>(stage(3).s_decay));
    const std::size_t n = network.labels.size();
    products_.assign(n * n, 0.0);
    const WeightsD& a = weights_[3];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (network.labels[i] != network.labels[j]) continue;
        for (std::size_t v = 0; v < inputs.size(); ++v)
          for (int kappa = 0; kappa < a.in_planes; ++kappa)
            products_[i * n + j] +=
                a.at(v, kappa, static_cast<int>(i)) * a.at(v, kappa, static_cast<int>(j)) / c[v];
        products_[j * n + i] = products_[i * n + j];
      }
  }

  /// The similarity to each class.
  std::vector<double> scores(std::span<const float> u0) const {
    CellsD input(kNeocognitronSide, 1);
    input.values.assign(u0.begin(), u0.end());
    CellsD cells = contrast_reference(input, network_.parameters);
    constexpr int kSimple[] = {68, 38, 22};
    constexpr int kComplex[] = {37, 21, 13};
    for (int l = 0; l < 3; ++l) {
      const CellsD simple = simple_reference(cells, kSimple[l], network_.parameters, l,
                                             weights_[static_cast<std::size_t>(l)]);
      cells = complex_reference(simple, kComplex[l], network_.parameters, l);
    }
    const CellsD s = similarity_reference(cells, network_.parameters, weights_[3]);
    std::vector<double> best(network_.names.size());
    const std::size_t n = network_.labels.size();
    for (int p = 0; p < s.side * s.side; ++p)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          if (network_.labels[i] != network_.labels[j]) continue;
          double& own = best[network_.labels[i]];
          own = std::max(own, segment(s.at(p % s.side, p / s.side, static_cast<int>(i)),
                                      s.at(p % s.side, p / s.side, static_cast<int>(j)),
                                      i == j ? 1.0 : products_[i * n + j]));
        }
    return best;
  }

 private:
  /// (6) of neocognitron/references.h. Vectors that are almost equal are not interpolated.
  double segment(double si, double sj, double g) const {
    if (!network_.parameters.interpolate) return std::max(si, sj);
    const double rest = 1.0 - g * g;
    if (rest <= 1e-3 || si <= sj * g || sj <= si * g) return std::max(si, sj);
    return std::sqrt((si * si + sj * sj - 2.0 * si * sj * g) / rest);
  }
  const NeocognitronStage& stage(std::size_t l) const { return network_.parameters.stages[l]; }

  const TrainedNeocognitron& network_;
  std::array<WeightsD, kNeocognitronStages> weights_;
  std::vector<double> products_;
};

}  // namespace ocellus::test
