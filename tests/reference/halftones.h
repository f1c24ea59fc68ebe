// Other halftone methods in double precision, for comparison with the library.
#pragma once

#include "support/plane.h"

namespace ocellus::reference {

/// All functions take gray values 0 to 255 and return 0 or 255.

/// Error diffusion of Floyd and Steinberg, row by row from left to right. A value below the middle
/// becomes black. With more than two levels, which are spread evenly from 0 to 255, a value becomes
/// the nearest one.
test::PlaneD floyd_steinberg(const test::PlaneD& gray, int levels = 2);

/// Ordered dither with Bayer's 8x8 matrix.
test::PlaneD bayer(const test::PlaneD& gray);

/// Direct binary search (Analoui and Allebach 1992), started from Floyd and Steinberg's halftone.
/// Each pixel in turn is toggled or exchanged with one of its eight neighbors, whichever lowers the
/// error under a Gaussian eye of `sigma` pixels most. It ends when no change lowers the error, or
/// after `most_sweeps`.
test::PlaneD direct_binary_search(const test::PlaneD& gray, double sigma, int most_sweeps);

}  // namespace ocellus::reference
