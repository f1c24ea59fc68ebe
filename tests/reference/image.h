// Double-precision references of the image module: separable filter, pyramid, warp, median. Pixels
// outside repeat the nearest.
#pragma once

#include <vector>

#include "support/plane.h"

namespace ocellus::reference {

/// The full two-dimensional sum of a separable kernel (correlation): taps[k] weighs the pixel k -
/// left away.
test::PlaneD filter(const test::PlaneD& in, const std::vector<double>& tx, int left,
                    const std::vector<double>& ty, int above);

/// [1 4 6 4 1] / 16 in both directions at every second pixel of both.
test::PlaneD reduce(const test::PlaneD& in);

/// Flow of the double size: pixel (x, y) is 2 x the mean of the coarse pixels floor and ceil of
/// (x/2, y/2).
test::PlaneD expand_flow(const test::PlaneD& coarse, int width, int height);

/// `in` at a position that is held inside the image.
double bilinear(const test::PlaneD& in, double x, double y);
/// The same by Catmull-Rom splines through the 4x4 nearest pixels.
double bicubic(const test::PlaneD& in, double x, double y);

/// The middle of the size x size sorted pixels around one.
double median(const test::PlaneD& in, int size, int x, int y);

}  // namespace ocellus::reference
