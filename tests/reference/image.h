// Double-precision references of the image module: separable filter, pyramid, warp and median.
// Pixels outside repeat the nearest one inside.
#pragma once

#include <vector>

#include "support/plane.h"

namespace ocellus::reference {

/// out(x, y) = f(x, y).
template <typename F>
test::PlaneD make(int width, int height, const F& f) {
  test::PlaneD out(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) out.at(x, y) = f(x, y);
  }
  return out;
}

/// The full two-dimensional sum of a separable kernel, as a correlation: taps[k] is the weight of
/// the pixel at distance k - left.
test::PlaneD filter(const test::PlaneD& in, const std::vector<double>& tx, int left,
                    const std::vector<double>& ty, int above);

/// [1 4 6 4 1] / 16 in both directions, at every second pixel of both.
test::PlaneD reduce(const test::PlaneD& in);

/// The frame and its reductions, at most `most` planes, none but the first below 24 pixels on a
/// side.
std::vector<test::PlaneD> levels_of(const test::PlaneD& frame, int most);

/// Flow at double size: pixel (x, y) is 2 times the mean of the coarse pixels at floor and ceil of
/// (x/2, y/2).
test::PlaneD expand_flow(const test::PlaneD& coarse, int width, int height);

/// The derivatives by [1 -8 0 8 -1] / 12.
test::PlaneD derivative_x(const test::PlaneD& in);
test::PlaneD derivative_y(const test::PlaneD& in);

/// The value of `in` at a position, which is moved inside the image.
double bilinear(const test::PlaneD& in, double x, double y);
/// The same by Catmull-Rom splines through the nearest 4x4 pixels.
double bicubic(const test::PlaneD& in, double x, double y);

/// The median of the size x size pixels around one pixel.
double median(const test::PlaneD& in, int size, int x, int y);

}  // namespace ocellus::reference
