// Restoration in double precision, by its definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "ocellus/restoration.h"
#include "support/plane.h"

namespace ocellus::test {

/// The position that stands for `p` in an axis of n pixels, found by walking; -1: zero.
inline int walked_position(int p, int n, RestorationBorder border) {
  if (border == RestorationBorder::kZero) return p < 0 || p >= n ? -1 : p;
  if (border == RestorationBorder::kReplicate) return std::clamp(p, 0, n - 1);
  int at = 0;
  int step = 1;
  for (int i = 0; i < std::abs(p); ++i) {
    if (n == 1) break;
    if (at + step < 0 || at + step >= n) step = -step;
    at += step;
  }
  return at;  // the mirror image of a mirrored axis is the same on both sides of 0
}

/// Equation (1) for each quadrant over the image that is continued by `padding` pixels, and the sum
/// of the four.
inline PlaneD restore_reference(const PlaneD& in, const RestorationFilter& filter,
                                RestorationBorder border, int padding) {
  const int m = filter.support;
  const int width = in.width + 2 * padding;
  const int height = in.height + 2 * padding;
  std::vector<double> x(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const auto index = [&](int i, int j) {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(j);
  };
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      const int row = walked_position(i - padding, in.height, border);
      const int column = walked_position(j - padding, in.width, border);
      x[index(i, j)] = row < 0 || column < 0 ? 0.0 : in.at(column, row);
    }
  }
  PlaneD out(in.width, in.height);
  std::vector<double> y(x.size());
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    const bool mirror_x = (q & 1) != 0;
    const bool mirror_y = (q & 2) != 0;
    for (int i = 0; i < height; ++i) {
      for (int j = 0; j < width; ++j) {
        double sum = 0.0;
        for (int r1 = 0; r1 < m && r1 <= i; ++r1) {
          for (int r2 = 0; r2 < m && r2 <= j; ++r2) {
            const auto tap = static_cast<std::size_t>(r1 * m + r2);
            const int row = i - r1;
            const int column = j - r2;
            const double pixel =
                x[index(mirror_y ? height - 1 - row : row, mirror_x ? width - 1 - column : column)];
            const double a = static_cast<double>(filter.feedforward[q][tap]);
            const double b = static_cast<double>(filter.feedback[q][tap]);
            sum += a * pixel;
            if (tap == 0) continue;  // not computed yet
            sum += b * y[index(row, column)];
          }
        }
        y[index(i, j)] = sum;
      }
    }
    for (int i = 0; i < in.height; ++i) {
      for (int j = 0; j < in.width; ++j) {
        const int row = mirror_y ? height - 1 - (i + padding) : i + padding;
        const int column = mirror_x ? width - 1 - (j + padding) : j + padding;
        out.at(j, i) += y[index(row, column)];
      }
    }
  }
  return out;
}

}  // namespace ocellus::test
