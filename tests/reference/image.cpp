#include "reference/image.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ocellus::reference {

using test::PlaneD;

PlaneD filter(const PlaneD& in, const std::vector<double>& tx, int left,
              const std::vector<double>& ty, int above) {
  PlaneD out(in.width, in.height);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      double sum = 0.0;
      for (std::size_t j = 0; j < ty.size(); ++j) {
        for (std::size_t i = 0; i < tx.size(); ++i) {
          sum += tx[i] * ty[j] *
                 in.clamped(x + static_cast<int>(i) - left, y + static_cast<int>(j) - above);
        }
      }
      out.at(x, y) = sum;
    }
  }
  return out;
}

PlaneD reduce(const PlaneD& in) {
  const std::vector<double> binomial = {1.0 / 16, 4.0 / 16, 6.0 / 16, 4.0 / 16, 1.0 / 16};
  const PlaneD smooth = filter(in, binomial, 2, binomial, 2);
  PlaneD out((in.width + 1) / 2, (in.height + 1) / 2);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) out.at(x, y) = smooth.at(2 * x, 2 * y);
  }
  return out;
}

std::vector<PlaneD> levels_of(const PlaneD& frame, int most) {
  std::vector<PlaneD> raw = {frame};
  while (static_cast<int>(raw.size()) < most) {
    PlaneD half = reduce(raw.back());
    if (std::min(half.width, half.height) < 24) break;
    raw.push_back(std::move(half));
  }
  return raw;
}

PlaneD expand_flow(const PlaneD& coarse, int width, int height) {
  PlaneD out(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int x0 = x / 2;
      const int y0 = y / 2;
      const int x1 = (x + 1) / 2;
      const int y1 = (y + 1) / 2;
      out.at(x, y) = 2.0 *
                     (coarse.clamped(x0, y0) + coarse.clamped(x1, y0) + coarse.clamped(x0, y1) +
                      coarse.clamped(x1, y1)) /
                     4.0;
    }
  }
  return out;
}

namespace {

double derivative(double before2, double before, double after, double after2) {
  return (before2 - 8.0 * before + 8.0 * after - after2) / 12.0;
}

}  // namespace

PlaneD derivative_x(const PlaneD& in) {
  return make(in.width, in.height, [&](int x, int y) {
    return derivative(in.clamped(x - 2, y), in.clamped(x - 1, y), in.clamped(x + 1, y),
                      in.clamped(x + 2, y));
  });
}

PlaneD derivative_y(const PlaneD& in) {
  return make(in.width, in.height, [&](int x, int y) {
    return derivative(in.clamped(x, y - 2), in.clamped(x, y - 1), in.clamped(x, y + 1),
                      in.clamped(x, y + 2));
  });
}

double bilinear(const PlaneD& in, double x, double y) {
  x = std::clamp(x, 0.0, in.width - 1.0);
  y = std::clamp(y, 0.0, in.height - 1.0);
  const int x0 = static_cast<int>(std::floor(x));
  const int y0 = static_cast<int>(std::floor(y));
  const double fx = x - x0;
  const double fy = y - y0;
  return (1 - fy) * ((1 - fx) * in.clamped(x0, y0) + fx * in.clamped(x0 + 1, y0)) +
         fy * ((1 - fx) * in.clamped(x0, y0 + 1) + fx * in.clamped(x0 + 1, y0 + 1));
}

namespace {

// The weight of a sample at a distance: the cubic convolution kernel with a = -1/2, which gives a
// Catmull-Rom spline.
double cubic_weight(double distance) {
  const double d = std::abs(distance);
  if (d <= 1.0) return 1.5 * d * d * d - 2.5 * d * d + 1.0;
  if (d < 2.0) return -0.5 * d * d * d + 2.5 * d * d - 4.0 * d + 2.0;
  return 0.0;
}

}  // namespace

double bicubic(const PlaneD& in, double x, double y) {
  x = std::clamp(x, 0.0, in.width - 1.0);
  y = std::clamp(y, 0.0, in.height - 1.0);
  const int x0 = static_cast<int>(std::floor(x));
  const int y0 = static_cast<int>(std::floor(y));
  double sum = 0.0;
  for (int j = -1; j <= 2; ++j) {
    for (int i = -1; i <= 2; ++i) {
      sum += cubic_weight(x - (x0 + i)) * cubic_weight(y - (y0 + j)) * in.clamped(x0 + i, y0 + j);
    }
  }
  return sum;
}

double median(const PlaneD& in, int size, int x, int y) {
  std::vector<double> values;
  for (int j = -size / 2; j <= size / 2; ++j) {
    for (int i = -size / 2; i <= size / 2; ++i) values.push_back(in.clamped(x + i, y + j));
  }
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace ocellus::reference
