#include "identify/estimates.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <vector>

#include "identify/fft.h"
#include "identify/filter_design.h"

namespace ocellus::identify {
namespace {

constexpr double kCorner = 0.01;  // cycles per pixel

/// The variable of the power law: 0 at a frequency of 0.1.
double log_frequency(double f) {
  return std::log(10.0 * std::hypot(f, kCorner));
}

using LawParameters = Eigen::Array<double, 6, 1>;

LawParameters parameters_of(const PowerLaw& law) {
  return {law.log_power, law.exponent, law.curvature, law.skewness, law.cosine, law.sine};
}

PowerLaw law_of(const LawParameters& p) {
  return {p(0), p(1), p(2), p(3), p(4), p(5)};
}

/// The derivatives of the logarithm of a power law: it is linear in the parameters.
LawParameters derivatives(double f, double angle) {
  const double l = log_frequency(f);
  return {1.0, -l, -l * l, -l * l * l, std::cos(2.0 * angle), std::sin(2.0 * angle)};
}

// The parameters of a part of 128x128 pixels against those of its photograph, measured on the
// photographs of PowerLawPrior.
constexpr double kPartSide = 128.0;
constexpr PowerLaw kPartMean{-1.2, 0.0, 0.0, 0.0, 0.0, 0.0};
constexpr PowerLaw kPartDeviation{1.9, 1.1, 0.3, 0.35, 0.75, 0.4};

}  // namespace

int RadialSpectrum::sector_of(double angle) const {
  const int nearest = static_cast<int>(std::lround(angle / std::numbers::pi * sectors));
  return (nearest + sectors) % sectors;
}

RadialSpectrum radial_spectrum(const Picture& picture, bool octaves) {
  RadialSpectrum result;
  result.sectors = octaves ? 4 : 1;
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
  struct Sum {
    double frequencies = 0.0;
    double power = 0.0;
    int count = 0;
  };
  std::vector<Sum> sums(static_cast<std::size_t>(kRings * result.sectors));
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
      const double fy = frequency(i, s.side);
      const double fx = frequency(j, s.side);
      const double f = std::hypot(fy, fx);
      const double position = octaves ? std::log(f / lowest) / std::log(highest / lowest)
                                      : (f - lowest) / (highest - lowest);
      if (!(position >= 0.0) || position >= 1.0) continue;
      const int ring = static_cast<int>(position * kRings);
      Sum& sum = sums[static_cast<std::size_t>(ring * result.sectors +
                                               result.sector_of(std::atan2(fy, fx)))];
      sum.frequencies += std::log(f);
      sum.power += std::norm(s.at(i, j)) / squares;
      ++sum.count;
    }
  }
  const auto boundary = [&](int k) {
    const double position = static_cast<double>(k) / kRings;
    return octaves ? lowest * std::pow(highest / lowest, position)
                   : lowest + (highest - lowest) * position;
  };
  for (int k = 0; k < kRings * result.sectors; ++k) {
    const Sum& sum = sums[static_cast<std::size_t>(k)];
    if (sum.count < 4) continue;
    const int ring = k / result.sectors;
    result.parts.push_back({sum.frequencies / sum.count,
                            std::log(std::max(sum.power / sum.count, 1e-16)), boundary(ring),
                            boundary(ring + 1), k % result.sectors});
  }
  return result;
}

std::vector<double> interpolate(const RadialSpectrum& spectrum) {
  std::vector<double> result(static_cast<std::size_t>(kDesignSide) * kDesignSide);
  const auto& parts = spectrum.parts;
  for (std::size_t w = 0; w < result.size(); ++w) {
    const double f = std::log(std::max(1e-9, design_frequency(w)));
    const auto above =
        std::find_if(parts.begin(), parts.end(),
                     [&](const RadialSpectrum::Part& part) { return part.log_frequency >= f; });
    double value = 0.0;
    if (above == parts.begin()) {
      value = parts.front().log_power;
    } else if (above == parts.end()) {
      value = parts.back().log_power;
    } else {
      const RadialSpectrum::Part& below = *std::prev(above);
      const double t = (f - below.log_frequency) / (above->log_frequency - below.log_frequency);
      value = below.log_power + t * (above->log_power - below.log_power);
    }
    result[w] = std::exp(value);
  }
  return result;
}

double PowerLaw::at(double f, double angle) const {
  return std::exp((parameters_of(*this) * derivatives(f, angle)).sum());
}

PowerLaw fit_power_law(const RadialSpectrum& spectrum, const std::vector<double>& blur_power,
                       double noise_power, const PowerLawPrior& prior) {
  constexpr double kScatter = 0.8;  // of the logarithm of the power in a part of a ring
  constexpr int kIterations = 30;
  struct Sample {
    LawParameters derivatives;
    double blur_power;
  };
  std::vector<std::vector<Sample>> samples(spectrum.parts.size());
  for (std::size_t w = 0; w < blur_power.size(); ++w) {
    const double f = design_frequency(w);
    const int sector = spectrum.sector_of(design_angle(w));
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const RadialSpectrum::Part& part = spectrum.parts[k];
      if (sector == part.sector && f >= part.begin && f < part.end)
        samples[k].push_back({derivatives(f, design_angle(w)), blur_power[w]});
    }
  }
  using Matrix = Eigen::Matrix<double, 6, 6>;
  using Vector = Eigen::Matrix<double, 6, 1>;
  const Vector mean_of_prior = parameters_of(prior.mean);
  const Vector precision = parameters_of(prior.deviation).square().inverse();
  // Gauss-Newton. A step is limited, because the power is exponential in the parameters.
  Vector parameters = mean_of_prior;
  for (int i = 0; i < kIterations; ++i) {
    Matrix normal = precision.asDiagonal();
    Vector right = precision.cwiseProduct(mean_of_prior - parameters);
    for (std::size_t k = 0; k < samples.size(); ++k) {
      // A part between the frequencies of the grid.
      if (samples[k].empty()) continue;
      double power = noise_power;
      Vector row = Vector::Zero();
      for (const Sample& sample : samples[k]) {
        const double signal = sample.blur_power *
                              std::exp((sample.derivatives * parameters.array()).sum()) /
                              static_cast<double>(samples[k].size());
        power += signal;
        row += signal * sample.derivatives.matrix();
      }
      row /= power;
      normal += row * row.transpose() / (kScatter * kScatter);
      right += row * (spectrum.parts[k].log_power - std::log(power)) / (kScatter * kScatter);
    }
    Vector step = normal.ldlt().solve(right);
    step *= std::min(1.0, 2.0 / std::max(1e-300, step.lpNorm<Eigen::Infinity>()));
    parameters += step;
    if (step.lpNorm<Eigen::Infinity>() < 1e-6) break;
  }
  return law_of(parameters);
}

PowerLawPrior prior_of_picture(const PowerLaw& part, int shorter_side) {
  const PowerLawPrior photographs;
  // A part of twice the side has four times the details, so half the deviation.
  const double scale = kPartSide / shorter_side;
  const LawParameters before = parameters_of(photographs.deviation).square().inverse();
  const LawParameters data = (scale * parameters_of(kPartDeviation)).square().inverse();
  const LawParameters found = parameters_of(part) - scale * parameters_of(kPartMean);
  const LawParameters precision = before + data;
  return {law_of((before * parameters_of(photographs.mean) + data * found) / precision),
          law_of(precision.rsqrt())};
}

}  // namespace ocellus::identify
