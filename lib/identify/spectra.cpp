#include "identify/spectra.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "identify/fft.h"
#include "identify/filter_design.h"

namespace ocellus::identify {
namespace {

constexpr double kCorner = 0.01;  // cycles per pixel

/// The variable of the power law: 0 at a frequency of 0.1.
double log_frequency(double f) {
  return std::log(10.0 * std::hypot(f, kCorner));
}

}  // namespace

RadialSpectrum radial_spectrum(const std::vector<Picture>& pictures, bool octaves) {
  // A Hann window in both directions, without the mean.
  const auto window = [](int k, int n) {
    return 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * (k + 0.5) / n);
  };
  constexpr int kRings = 14;
  int shortest = std::numeric_limits<int>::max();
  for (const Picture& picture : pictures) {
    shortest = std::min({shortest, picture.width, picture.height});
  }
  const double lowest = 1.5 / shortest;
  const double highest = octaves ? 0.5 : 0.72;
  struct Ring {
    double frequencies = 0.0;
    double power = 0.0;
    int count = 0;
  };
  std::array<Ring, kRings> rings;
  for (const Picture& picture : pictures) {
    double weights = 0.0;
    double squares = 0.0;
    double weighted = 0.0;
    for (int y = 0; y < picture.height; ++y) {
      for (int x = 0; x < picture.width; ++x) {
        const double w = window(y, picture.height) * window(x, picture.width);
        weights += w;
        squares += w * w;
        weighted += w * picture.at(y, x);
      }
    }
    const double level = weighted / weights;
    Spectrum s(power_of_two(std::max(picture.width, picture.height)));
    for (int y = 0; y < picture.height; ++y) {
      for (int x = 0; x < picture.width; ++x) {
        s.at(y, x) =
            window(y, picture.height) * window(x, picture.width) * (picture.at(y, x) - level);
      }
    }
    fourier_transform(s);
    for (int i = 0; i < s.side; ++i) {
      for (int j = 0; j < s.side; ++j) {
        const double f = std::hypot(frequency(i, s.side), frequency(j, s.side));
        const double position = octaves ? std::log(f / lowest) / std::log(highest / lowest)
                                        : (f - lowest) / (highest - lowest);
        if (!(position >= 0.0) || position >= 1.0) continue;
        Ring& ring = rings[static_cast<std::size_t>(position * kRings)];
        ring.frequencies += std::log(f);
        ring.power += std::norm(s.at(i, j)) / squares;
        ++ring.count;
      }
    }
  }
  RadialSpectrum result;
  for (const Ring& ring : rings) {
    if (ring.count < 4) continue;
    result.log_frequency.push_back(ring.frequencies / ring.count);
    result.log_power.push_back(std::log(std::max(ring.power / ring.count, 1e-16)));
  }
  return result;
}

std::vector<double> interpolate(const RadialSpectrum& spectrum) {
  std::vector<double> result(static_cast<std::size_t>(kDesignSide) * kDesignSide);
  const auto& x = spectrum.log_frequency;
  const auto& y = spectrum.log_power;
  for (int i = 0; i < kDesignSide; ++i) {
    for (int j = 0; j < kDesignSide; ++j) {
      const double f = std::log(
          std::max(1e-9, std::hypot(frequency(i, kDesignSide), frequency(j, kDesignSide))));
      const auto above =
          static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), f) - x.begin());
      double value = 0.0;
      if (above == 0) {
        value = y.front();
      } else if (above == x.size()) {
        value = y.back();
      } else {
        const double t = (f - x[above - 1]) / (x[above] - x[above - 1]);
        value = y[above - 1] + t * (y[above] - y[above - 1]);
      }
      result[static_cast<std::size_t>(i * kDesignSide + j)] = std::exp(value);
    }
  }
  return result;
}

double PowerLaw::at(double f) const {
  const double l = log_frequency(f);
  return std::exp(log_power - exponent * l - curvature * l * l);
}

PowerLaw fit_power_law(const RadialSpectrum& spectrum) {
  const PowerLaw prior;
  constexpr double kScatter = 0.4;  // of the logarithm of the power in a ring
  constexpr double kDeviation = 0.3;
  Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  for (std::size_t k = 0; k < spectrum.log_power.size(); ++k) {
    const double l = log_frequency(std::exp(spectrum.log_frequency[k]));
    const Eigen::Vector3d row(1.0, -l, -l * l);
    normal += row * row.transpose() / (kScatter * kScatter);
    right += row * spectrum.log_power[k] / (kScatter * kScatter);
  }
  const Eigen::Vector3d mean_of_prior(prior.log_power, prior.exponent, prior.curvature);
  // The scale has a wide prior: only without data does it matter.
  const Eigen::Vector3d precision(1e-6, 1.0 / (kDeviation * kDeviation),
                                  1.0 / (kDeviation * kDeviation));
  normal.diagonal() += precision;
  right += precision.cwiseProduct(mean_of_prior);
  const Eigen::Vector3d solution = normal.ldlt().solve(right);
  PowerLaw law;
  law.log_power = solution(0);
  law.exponent = solution(1);
  law.curvature = solution(2);
  return law;
}

}  // namespace ocellus::identify
