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

/// Writes the transfer function, divided by the number of frequencies, in the order of the
/// transforms: columns.length rows of rows.length values.
///
///   H(w1, w2) = sum over quadrants of A(z1, z2) / (1 - B(z1, z2)), z1 = exp(i w1), z2 = exp(i w2)
///
/// with z1 replaced by 1 / z1 in quadrants that are mirrored along y, and z2 along x.
void make_transfer_function(const RestorationFilter& filter,
                            const RestorationTransforms& transforms, Complex32* transfer) noexcept;
/// Row `i` alone.
void make_transfer_row(const RestorationFilter& filter, const RestorationTransforms& transforms,
                       int i, Complex32* row) noexcept;

}  // namespace ocellus::detail
