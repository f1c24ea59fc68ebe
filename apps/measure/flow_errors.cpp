#include "apps/measure/flow_errors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace ocellus::app {

FlowErrors flow_errors(const FlowField& result, const FlowField& truth,
                       const ErrorSelection& selection) {
  FlowErrors errors;
  std::vector<std::size_t> pixels;
  const std::size_t width = static_cast<std::size_t>(truth.size.width);
  for (int y = selection.border; y < truth.size.height - selection.border; ++y) {
    for (int x = selection.border; x < truth.size.width - selection.border; ++x) {
      const std::size_t i = static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x);
      if (!std::isfinite(truth.u[i]) || !std::isfinite(truth.v[i])) continue;
      if (selection.mask != nullptr && (*selection.mask)[i] == 0) continue;
      ++errors.counted;
      if (std::isfinite(result.u[i]) && std::isfinite(result.v[i])) {
        pixels.push_back(i);
      } else {
        ++errors.invalid;
      }
    }
  }
  if (selection.confidence != nullptr && selection.density < 100.0) {
    const auto keep = static_cast<std::size_t>(
        std::llround(selection.density / 100.0 * static_cast<double>(errors.counted)));
    const std::vector<float>& confidence = *selection.confidence;
    const auto rank = [&](std::size_t i) {
      return std::isfinite(confidence[i]) ? confidence[i] : -1.0f;
    };
    if (keep < pixels.size()) {
      // With equal confidence, the earlier pixel is kept, so that the result does not depend on the
      // sort.
      std::nth_element(pixels.begin(), pixels.begin() + static_cast<std::ptrdiff_t>(keep),
                       pixels.end(), [&](std::size_t a, std::size_t b) {
                         return rank(a) != rank(b) ? rank(a) > rank(b) : a < b;
                       });
      pixels.resize(keep);
    }
  }
  errors.compared = static_cast<std::int64_t>(pixels.size());
  if (pixels.empty()) return errors;

  std::vector<double> distances;
  std::vector<double> angles;
  for (const std::size_t i : pixels) {
    const double u = result.u[i];
    const double v = result.v[i];
    const double tu = truth.u[i];
    const double tv = truth.v[i];
    distances.push_back(std::hypot(u - tu, v - tv));
    // The angle is atan2 of the cross and the dot product. acos would lose all precision for nearly
    // parallel vectors.
    const double cross = std::hypot(std::hypot(v - tv, tu - u), u * tv - v * tu);
    angles.push_back(std::atan2(cross, u * tu + v * tv + 1.0) * 180.0 / std::numbers::pi);
  }
  const double count = static_cast<double>(pixels.size());
  const auto mean_of = [count](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / count;
  };
  const auto deviation_of = [count](const std::vector<double>& values, double mean) {
    double sum = 0.0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    return std::sqrt(sum / count);
  };
  const auto above = [&](double limit) {
    return static_cast<double>(std::count_if(distances.begin(), distances.end(),
                                             [limit](double d) { return d > limit; })) /
           count;
  };
  errors.mean = mean_of(distances);
  errors.deviation = deviation_of(distances, errors.mean);
  errors.above_half = above(0.5);
  errors.above_one = above(1.0);
  errors.above_three = above(3.0);
  errors.angle_mean = mean_of(angles);
  errors.angle_deviation = deviation_of(angles, errors.angle_mean);
  const std::size_t middle = distances.size() / 2;
  std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(middle),
                   distances.end());
  errors.median = distances[middle];
  if (distances.size() % 2 == 0) {
    errors.median =
        0.5 * (errors.median +
               *std::max_element(distances.begin(),
                                 distances.begin() + static_cast<std::ptrdiff_t>(middle)));
  }
  return errors;
}

}  // namespace ocellus::app
