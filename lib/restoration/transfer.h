// The transfer function of a restoration filter on a grid of frequencies.
#pragma once

#include "image/fft.h"
#include "ocellus/frame.h"
#include "ocellus/restoration_filter.h"

namespace ocellus::detail {

/// Transforms of a padded image. The four stable quadrants are one transfer function, so two passes
/// along the rows and one along the columns do all of them.
///
/// A filter with real coefficients filters the real and the imaginary part of an image one by one.
/// Therefore the upper half of the image is the real part and the lower half the imaginary part of
/// one complex image of half the height, and no half spectrum needs to be taken apart.
struct RestorationTransforms {
  FftPlan rows;     ///< along a row: at least the padded width
  FftPlan columns;  ///< along a column: at least the padded height of a half
  int half = 1;     ///< rows of the image in the real part

  /// For an image that is continued by `padding` pixels on each side.
  static RestorationTransforms plan(ImageSize size, int padding) noexcept;
};

/// Writes the transfer function of the four quadrants at one of `rows` frequencies of the columns
/// and all `columns` frequencies of the rows, divided by rows * columns:
///
///   H(w1, w2) = sum over quadrants of A(z1, z2) / (1 - B(z1, z2)), z1 = exp(i w1), z2 = exp(i w2)
///
/// with z1 replaced by 1 / z1 in quadrants that are mirrored along y, and z2 along x. w1 is 2 pi
/// frequency / rows, and w2 of value j is 2 pi j / columns.
void make_transfer_row(const RestorationFilter& filter, int frequency, int rows, int columns,
                       Complex32* transfer) noexcept;

}  // namespace ocellus::detail
