#include "reference/deviation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/image.h"
#include "reference/lucas_kanade.h"

namespace ocellus::reference {

using test::PlaneD;

namespace {

/// Of rounding to the values of a format, in gray levels.
double rounding_variance(PixelFormat format) {
  const double step = format == PixelFormat::kGray8    ? 1.0
                      : format == PixelFormat::kGray16 ? 255.0 / 65535.0
                                                       : std::ldexp(1.0, -16);
  return step * step / 12.0;
}

double squares(const std::vector<double>& taps) {
  double sum = 0.0;
  for (const double tap : taps) sum += tap * tap;
  return sum;
}

/// The means of 7x7 samples, which are the pixels with even x and y, for all pixels.
PlaneD means_of_samples(const PlaneD& plane) {
  PlaneD samples((plane.width + 1) / 2, (plane.height + 1) / 2);
  for (int y = 0; y < samples.height; ++y)
    for (int x = 0; x < samples.width; ++x) samples.at(x, y) = plane.at(2 * x, 2 * y);
  const std::vector<double> box(7, 1.0 / 7.0);
  samples = filter(samples, box, 3, box, 3);
  PlaneD result(plane.width, plane.height);
  for (int y = 0; y < plane.height; ++y)
    for (int x = 0; x < plane.width; ++x) result.at(x, y) = samples.at(x / 2, y / 2);
  return result;
}

}  // namespace

DeviationConstants pyramid_constants(PixelFormat format, FlowSolver solver) {
  const double variance = rounding_variance(format);
  const bool normalized = solver == FlowSolver::kLucasKanade;
  const double contrast = normalized ? 20.0 / 3.0 : 1.0;
  const double smoothing = std::pow(squares(window_weights(5, normalized ? 0.8 : 0.65)), 2.0);
  const double rounding = 2.0 * variance * contrast * contrast * smoothing;
  DeviationConstants constants = {10.0,     0.047,          0.008,    4.0,
                                  rounding, 0.6 * rounding, variance, 24.0 * variance};
  if (!normalized) {
    constants.least = 0.052;
    constants.noise = 0.02;
    constants.bend = 1.0;
  }
  return constants;
}

DeviationConstants kernel_constants(PixelFormat format, const KernelAt& kernels) {
  const double variance = rounding_variance(format);
  double gain[3];
  for (int c = 0; c < 3; ++c) {
    double norm = 0.0;
    for (const Term& term : kernels(0, 0, c))
      norm += std::sqrt(squares(term.wx) * squares(term.wy) * squares(term.wt));
    gain[c] = norm * norm;
  }
  const double rounding = variance * gain[2];
  const double of_gradient = 2.0 * variance * std::max(gain[0], gain[1]);
  return {1.0, 0.22, 0.0014, 37.0, rounding, of_gradient, rounding, std::max(of_gradient, 1e-7)};
}

PlaneD texture_of(const PlaneD& frame) {
  PlaneD result(frame.width, frame.height);
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      for (int j = -1; j <= 1; ++j) {
        for (int i = -1; i <= 1; ++i) {
          const double here = frame.clamped(x + i, y + j);
          if (i < 1) result.at(x, y) += std::pow(frame.clamped(x + i + 1, y + j) - here, 2.0);
          if (j < 1) result.at(x, y) += std::pow(frame.clamped(x + i, y + j + 1) - here, 2.0);
        }
      }
    }
  }
  return result;
}

DeviationRange deviation(const DeviationConstants& constants, const PlaneD& ix, const PlaneD& iy,
                         const PlaneD& residual, const PlaneD& texture, const PlaneD& u,
                         const PlaneD& v) {
  const int width = u.width;
  const int height = u.height;
  PlaneD xx(width, height);
  PlaneD xy = xx;
  PlaneD yy = xx;
  PlaneD rr = xx;
  PlaneD bend = xx;
  const auto known = [](const PlaneD& flow, int x, int y) {
    const double value = flow.clamped(x, y);
    return std::isnan(value) ? 0.0 : value;
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double gx = ix.at(x, y);
      const double gy = iy.at(x, y);
      const double squares =
          gx * gx + gy * gy + constants.gradient_floor * constants.gradient_floor;
      const double q = 1.0 / squares;
      const double r2 = residual.at(x, y) * residual.at(x, y);
      xx.at(x, y) = q * gx * gx;
      xy.at(x, y) = q * gx * gy;
      yy.at(x, y) = q * gy * gy;
      rr.at(x, y) = r2 / (squares + 0.05 * r2);
      for (const PlaneD* flow : {&u, &v}) {
        bend.at(x, y) += std::pow(0.5 * (known(*flow, x + 1, y) - known(*flow, x - 1, y)), 2.0) +
                         std::pow(0.5 * (known(*flow, x, y + 1) - known(*flow, x, y - 1)), 2.0);
      }
    }
  }
  for (PlaneD* plane : {&xx, &xy, &yy, &rr, &bend}) *plane = means_of_samples(*plane);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double floor2 = constants.gradient_floor * constants.gradient_floor;
  DeviationRange result{PlaneD(width, height), PlaneD(width, height)};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double weight = (1.0 - xx.at(x, y) - yy.at(x, y)) / floor2;  // the mean of q
      const double s2 = std::max(rr.at(x, y), constants.rounding * weight);
      const auto with = [&](double error) {
        const double own =
            constants.pixel_rounding /
            std::max(0.0, (1.0 + error) * texture.at(x, y) - constants.texture_noise);
        const double less =
            constants.gradient_rounding * weight - error * (xx.at(x, y) + yy.at(x, y));
        const double a = xx.at(x, y) - less;
        const double b = xy.at(x, y);
        const double c = yy.at(x, y) - less;
        const double determinant = a * c - b * b;
        if (std::isnan(u.at(x, y)) || a + c <= 0.0 || determinant <= 1e-6 * (a + c) * (a + c))
          return kInfinity;
        // Variances of u and of v: the diagonal of the inverse of the matrix.
        const double of_u = c / determinant;
        const double of_v = a / determinant;
        return std::sqrt(constants.least * constants.least + constants.noise * s2 * (of_u + of_v) +
                         constants.bend * bend.at(x, y) + own);
      };
      // Relative: of the texture, and of an eigenvalue to the sum of both.
      constexpr double kError = 2e-5;
      result.low.at(x, y) = with(kError);
      result.high.at(x, y) = with(-kError);
    }
  }
  return result;
}

DeviationRange kernel_deviation(const DeviationConstants& constants, const PlaneD& ix,
                                const PlaneD& iy, const PlaneD& it, const PlaneD& u,
                                const PlaneD& v) {
  PlaneD residual = it;
  PlaneD texture(it.width, it.height);
  for (std::size_t i = 0; i < texture.data.size(); ++i)
    texture.data[i] = ix.data[i] * ix.data[i] + iy.data[i] * iy.data[i];
  for (std::size_t i = 0; i < residual.data.size(); ++i) {
    if (std::isnan(u.data[i])) continue;  // as without motion
    residual.data[i] += ix.data[i] * u.data[i] + iy.data[i] * v.data[i];
  }
  return deviation(constants, ix, iy, residual, texture, u, v);
}

}  // namespace ocellus::reference
