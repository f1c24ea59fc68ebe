#include "identify/estimates.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
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

Eigen::Vector4d parameters_of(const PowerLaw& law) {
  return {law.log_power, law.exponent, law.curvature, law.skewness};
}

PowerLaw law_of(const Eigen::Vector4d& parameters) {
  return {parameters(0), parameters(1), parameters(2), parameters(3)};
}

// Standard deviations of the parameters: between photographs, and of a part of 128x128 pixels
// against its photograph. The power of a part is usually less than that of the photograph.
// Measured on the 14 photographs of PowerLaw's default, whose deviation of the skewness is 0.3: a
// smaller one restores better, because the skewness acts mostly where the blur left nothing.
const Eigen::Vector4d kBetween(1.7, 0.7, 0.4, 0.1);
const Eigen::Vector4d kWithin(2.1, 1.2, 0.4, 0.4);
constexpr double kPartLogPower = -1.0;
constexpr double kPartSide = 128.0;

}  // namespace

RadialSpectrum radial_spectrum(const Picture& picture, bool octaves) {
  // A Hann window in both directions, without the mean.
  const auto window = [&](int y, int x) {
    const auto hann = [](int k, int n) {
      return 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * (k + 0.5) / n);
    };
    return hann(y, picture.height) * hann(x, picture.width);
  };
  constexpr int kRings = 14;
  const double lowest = 1.5 / std::min(picture.width, picture.height);
  const double highest = octaves ? 0.5 : 0.72;
  struct Ring {
    double frequencies = 0.0;
    double power = 0.0;
    int count = 0;
  };
  std::array<Ring, kRings> rings;
  double weights = 0.0;
  double squares = 0.0;
  double weighted = 0.0;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const double w = window(y, x);
      weights += w;
      squares += w * w;
      weighted += w * picture.at(y, x);
    }
  }
  const double level = weighted / weights;
  Spectrum s(power_of_two(std::max(picture.width, picture.height)));
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) s.at(y, x) = window(y, x) * (picture.at(y, x) - level);
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
  const auto boundary = [&](std::size_t k) {
    const double position = static_cast<double>(k) / kRings;
    return octaves ? lowest * std::pow(highest / lowest, position)
                   : lowest + (highest - lowest) * position;
  };
  RadialSpectrum result;
  for (std::size_t k = 0; k < rings.size(); ++k) {
    const Ring& ring = rings[k];
    if (ring.count < 4) continue;
    result.begin.push_back(boundary(k));
    result.end.push_back(boundary(k + 1));
    result.log_frequency.push_back(ring.frequencies / ring.count);
    result.log_power.push_back(std::log(std::max(ring.power / ring.count, 1e-16)));
  }
  return result;
}

std::vector<double> interpolate(const RadialSpectrum& spectrum) {
  std::vector<double> result(static_cast<std::size_t>(kDesignSide) * kDesignSide);
  const auto& x = spectrum.log_frequency;
  const auto& y = spectrum.log_power;
  for (std::size_t w = 0; w < result.size(); ++w) {
    const double f = std::log(std::max(1e-9, design_frequency(w)));
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
    result[w] = std::exp(value);
  }
  return result;
}

double PowerLaw::at(double f) const {
  const double l = log_frequency(f);
  return std::exp(log_power - exponent * l - curvature * l * l - skewness * l * l * l);
}

PowerLaw fit_power_law(const RadialSpectrum& spectrum, const std::vector<double>& blur_power,
                       double noise_power) {
  constexpr double kScatter = 0.4;  // of the logarithm of the power in a ring
  constexpr int kIterations = 30;
  struct Sample {
    double l;  // variable of the power law
    double blur_power;
  };
  std::vector<std::vector<Sample>> rings(spectrum.log_power.size());
  for (std::size_t w = 0; w < blur_power.size(); ++w) {
    const double f = design_frequency(w);
    for (std::size_t k = 0; k < rings.size(); ++k) {
      if (f >= spectrum.begin[k] && f < spectrum.end[k])
        rings[k].push_back({log_frequency(f), blur_power[w]});
    }
  }
  for (std::size_t k = 0; k < rings.size(); ++k) {
    // A ring between two frequencies of the grid.
    if (rings[k].empty())
      rings[k].push_back({log_frequency(std::exp(spectrum.log_frequency[k])), blur_power[0]});
  }
  const Eigen::Vector4d mean_of_prior = parameters_of(PowerLaw{});
  Eigen::Vector4d precision = kBetween.cwiseAbs2().cwiseInverse();
  // The scale has a wide prior: only without data does it matter.
  precision(0) = 1e-6;
  // Gauss-Newton. A step is limited, because the power is exponential in the parameters.
  Eigen::Vector4d parameters = mean_of_prior;
  for (int i = 0; i < kIterations; ++i) {
    Eigen::Matrix4d normal = precision.asDiagonal();
    Eigen::Vector4d right = precision.cwiseProduct(mean_of_prior - parameters);
    for (std::size_t k = 0; k < rings.size(); ++k) {
      double power = noise_power;
      Eigen::Vector4d row = Eigen::Vector4d::Zero();
      for (const Sample& sample : rings[k]) {
        const Eigen::Vector4d derivative(1.0, -sample.l, -sample.l * sample.l,
                                         -sample.l * sample.l * sample.l);
        const double signal = sample.blur_power * std::exp(derivative.dot(parameters)) /
                              static_cast<double>(rings[k].size());
        power += signal;
        row += signal * derivative;
      }
      row /= power;
      normal += row * row.transpose() / (kScatter * kScatter);
      right += row * (spectrum.log_power[k] - std::log(power)) / (kScatter * kScatter);
    }
    Eigen::Vector4d step = normal.ldlt().solve(right);
    step *= std::min(1.0, 2.0 / std::max(1e-300, step.lpNorm<Eigen::Infinity>()));
    parameters += step;
    if (step.lpNorm<Eigen::Infinity>() < 1e-6) break;
  }
  return law_of(parameters);
}

PowerLaw law_of_picture(const PowerLaw& part, int shorter_side) {
  // A part of twice the side has four times the details, so half the deviation.
  const double scale = kPartSide / shorter_side;
  Eigen::Vector4d found = parameters_of(part);
  found(0) -= scale * kPartLogPower;
  const Eigen::Array4d prior = kBetween.array().square().inverse();
  const Eigen::Array4d data = (scale * kWithin).array().square().inverse();
  return law_of((prior * parameters_of(PowerLaw{}).array() + data * found.array()) /
                (prior + data));
}

}  // namespace ocellus::identify
