#include "reference/deviation.h"

#include <cmath>
#include <limits>
#include <vector>

#include "reference/image.h"

namespace ocellus::reference {

using test::PlaneD;

PlaneD deviation(const DeviationConstants& constants, const PlaneD& ix, const PlaneD& iy,
                 const PlaneD& residual, const PlaneD& u, const PlaneD& v) {
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
      const double q =
          1.0 / (gx * gx + gy * gy + constants.gradient_floor * constants.gradient_floor);
      xx.at(x, y) = q * gx * gx;
      xy.at(x, y) = q * gx * gy;
      yy.at(x, y) = q * gy * gy;
      rr.at(x, y) = q * residual.at(x, y) * residual.at(x, y);
      for (const PlaneD* flow : {&u, &v}) {
        bend.at(x, y) += std::pow(0.5 * (known(*flow, x + 1, y) - known(*flow, x - 1, y)), 2.0) +
                         std::pow(0.5 * (known(*flow, x, y + 1) - known(*flow, x, y - 1)), 2.0);
      }
    }
  }
  const std::vector<double> box(15, 1.0 / 15.0);
  for (PlaneD* plane : {&xx, &xy, &yy, &rr, &bend}) *plane = filter(*plane, box, 7, box, 7);
  PlaneD result(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      constexpr double kRidge = 1e-3;
      const double a = xx.at(x, y) + kRidge;
      const double b = xy.at(x, y);
      const double c = yy.at(x, y) + kRidge;
      // Variances of u and of v: the diagonal of the inverse of the matrix.
      const double of_u = c / (a * c - b * b);
      const double of_v = a / (a * c - b * b);
      result.at(x, y) = std::isnan(u.at(x, y))
                            ? std::numeric_limits<double>::infinity()
                            : std::sqrt(constants.least * constants.least +
                                        constants.noise * rr.at(x, y) * (of_u + of_v) +
                                        constants.bend * bend.at(x, y));
    }
  }
  return result;
}

PlaneD kernel_deviation(const PlaneD& ix, const PlaneD& iy, const PlaneD& it, const PlaneD& u,
                        const PlaneD& v) {
  PlaneD residual = it;
  for (std::size_t i = 0; i < residual.data.size(); ++i) {
    if (std::isnan(u.data[i])) continue;  // as without motion
    residual.data[i] += ix.data[i] * u.data[i] + iy.data[i] * v.data[i];
  }
  return deviation(kKernelConstants, ix, iy, residual, u, v);
}

}  // namespace ocellus::reference
