#include "reference/halftones.h"

#include <algorithm>
#include <cmath>

namespace ocellus::reference {

using test::PlaneD;

PlaneD floyd_steinberg(const PlaneD& gray, int levels) {
  const double step = 255.0 / (levels - 1);
  PlaneD sum = gray;
  PlaneD out(gray.width, gray.height);
  for (int y = 0; y < gray.height; ++y) {
    for (int x = 0; x < gray.width; ++x) {
      const double value =
          step * std::clamp(std::floor(sum.at(x, y) / step + 0.5), 0.0, levels - 1.0);
      const double error = sum.at(x, y) - value;
      out.at(x, y) = value;
      const auto give = [&](int to_x, int to_y, double sixteenths) {
        if (to_x >= 0 && to_x < gray.width && to_y < gray.height)
          sum.at(to_x, to_y) += error * sixteenths / 16.0;
      };
      give(x + 1, y, 7.0);
      give(x - 1, y + 1, 3.0);
      give(x, y + 1, 5.0);
      give(x + 1, y + 1, 1.0);
    }
  }
  return out;
}

PlaneD bayer(const PlaneD& gray) {
  PlaneD out(gray.width, gray.height);
  for (int y = 0; y < gray.height; ++y) {
    for (int x = 0; x < gray.width; ++x) {
      int rank = 0;
      for (int bit = 0; bit < 3; ++bit) {
        const int column = x >> bit & 1;
        const int row = y >> bit & 1;
        rank = 4 * rank + 2 * (column ^ row) + row;
      }
      out.at(x, y) = gray.at(x, y) > (rank + 0.5) * 255.0 / 64.0 ? 255.0 : 0.0;
    }
  }
  return out;
}

PlaneD direct_binary_search(const PlaneD& gray, double sigma, int most_sweeps) {
  const int reach = static_cast<int>(std::ceil(4.0 * std::sqrt(2.0) * sigma));
  const auto weight = [&](int dx, int dy) {
    return std::exp(-(dx * dx + dy * dy) / (4.0 * sigma * sigma));
  };
  const int width = gray.width;
  const int height = gray.height;
  PlaneD out = floyd_steinberg(gray);
  PlaneD error(width, height);
  for (std::size_t i = 0; i < error.data.size(); ++i)
    error.data[i] = (out.data[i] - gray.data[i]) / 255.0;
  // The error filtered by the eye's Gaussian, correlated with the Gaussian again. The Gaussian is
  // separable.
  const auto along = [&](const PlaneD& in, int dx, int dy) {
    PlaneD sums(width, height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int i = -reach; i <= reach; ++i) {
          const int at_x = x + i * dx;
          const int at_y = y + i * dy;
          if (at_x >= 0 && at_y >= 0 && at_x < width && at_y < height)
            sums.at(x, y) += weight(i, 0) * in.at(at_x, at_y);
        }
      }
    }
    return sums;
  };
  PlaneD seen = along(along(error, 1, 0), 0, 1);
  const auto toggle = [&](int x, int y) {
    const double change = out.at(x, y) > 0.0 ? -1.0 : 1.0;
    out.at(x, y) = out.at(x, y) > 0.0 ? 0.0 : 255.0;
    for (int row = std::max(0, y - reach); row <= std::min(height - 1, y + reach); ++row) {
      for (int column = std::max(0, x - reach); column <= std::min(width - 1, x + reach); ++column)
        seen.at(column, row) += change * weight(column - x, row - y);
    }
  };
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    bool changed = false;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double change = out.at(x, y) > 0.0 ? -1.0 : 1.0;
        double best = 2.0 * change * seen.at(x, y) + 1.0;  // toggled
        int best_x = x;
        int best_y = y;
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            const int to_x = x + dx;
            const int to_y = y + dy;
            if (to_x < 0 || to_y < 0 || to_x >= width || to_y >= height ||
                out.at(to_x, to_y) == out.at(x, y))
              continue;
            const double delta =
                2.0 * change * (seen.at(x, y) - seen.at(to_x, to_y)) + 2.0 - 2.0 * weight(dx, dy);
            if (delta < best) {
              best = delta;
              best_x = to_x;
              best_y = to_y;
            }
          }
        }
        if (best >= -1e-9) continue;
        changed = true;
        toggle(x, y);
        if (best_x != x || best_y != y) toggle(best_x, best_y);
      }
    }
    if (!changed) break;
  }
  return out;
}

}  // namespace ocellus::reference
