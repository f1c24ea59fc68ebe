// A sharp and a blurred picture, for tests that identify filters.
#pragma once

#include <cmath>

namespace ocellus::test {

/// A picture of overlapping squares with sharp borders.
inline double squares(int x, int y) {
  double sum = 60.0;
  for (int k = 0; k < 24; ++k) {
    const int left = (k * 53 + 7) % 110;
    const int top = (k * 37 + 11) % 110;
    const int side = 6 + k * 13 % 30;
    if (x >= left && x < left + side && y >= top && y < top + side) sum += (k % 2 == 0 ? 45 : -20);
  }
  return std::fmin(std::fmax(sum, 5.0), 250.0);
}

/// The mean of 3x3 pixels, moved to the right by two pixels.
inline double blurred(int x, int y) {
  double sum = 0.0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) sum += squares(x - 2 + dx, y + dy);
  return sum / 9.0;
}

}  // namespace ocellus::test
