// Halftones by other means, in double precision: what the library's are measured against.
#pragma once

#include "support/plane.h"

namespace ocellus::reference {

/// All take gray values 0 to 255 and give 0 or 255.

/// Floyd and Steinberg's error diffusion, row by row from the left; black below the middle.
test::PlaneD floyd_steinberg(const test::PlaneD& gray);

/// Ordered dither with Bayer's 8x8 matrix.
test::PlaneD bayer(const test::PlaneD& gray);

/// Direct binary search (Analoui and Allebach 1992) from Floyd and Steinberg's halftone: each pixel
/// in turn is toggled, or changes places with one of its eight neighbors, whichever lowers the
/// error under a Gaussian eye of `sigma` pixels most, until none does or `most_sweeps` are over.
test::PlaneD direct_binary_search(const test::PlaneD& gray, double sigma, int most_sweeps);

}  // namespace ocellus::reference
