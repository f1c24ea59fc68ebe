// RestorationFilter: the coefficients of four recursive quadrant filters, their stability and their
// files.
//
// Source: Nikonorov, Fursov, Yakimov, "Flexible allocation method in polytope model", Computer
// Optics 36(3), 2012, equations (4) to (6). With i for rows and j for columns, a quadrant of
// support m is
//
//   y(i, j) = sum over r1, r2 of a(r1, r2) x(i - r1, j - r2)
//           + sum over (k1, k2) != (0, 0) of b(k1, k2) y(i - k1, j - k2)       0 <= r, k < m (1)
//
// and the restored image is the sum of four of them. Quadrant 0 begins in the top left corner of
// the image, 1 in the top right one, 2 in the bottom left one, 3 in the bottom right one. The
// others are (1) on the image mirrored along x, y or both.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Largest support m of a quadrant, in pixels along each axis.
inline constexpr int kMaxFilterSupport = 31;
inline constexpr int kMaxFilterTaps = kMaxFilterSupport * kMaxFilterSupport;
inline constexpr int kFilterQuadrants = 4;
/// Largest length of an impulse response, in pixels along each axis.
inline constexpr int kMaxFilterResponse = 512;
/// Largest FilterProperties::absolute_gain. Far more than a restoration needs, and far from the end
/// of the range of a float.
inline constexpr double kMaxFilterGain = 1e6;

struct RestorationFilter {
  using Taps = std::array<float, kMaxFilterTaps>;

  int support = 1;  ///< m, 1 to 31
  /// a(r1, r2) of quadrant q is feedforward[q][r1 * support + r2].
  std::array<Taps, kFilterQuadrants> feedforward{};
  /// b(k1, k2), in the same order; b(0, 0) is 0.
  std::array<Taps, kFilterQuadrants> feedback{};
  /// Origin of the coefficients, for readers: printable ASCII.
  char note[256] = {};
};

/// What follows from the coefficients.
struct FilterProperties {
  /// Largest magnitude of a root z2 of 1 - sum of b(k1, k2) z1^-k1 z2^-k2 over all z1 of magnitude
  /// 1, and of a root z1 over all z2; the largest of all quadrants. A stable filter has less than
  /// 1; 0: no feedback.
  double largest_root = 0.0;
  /// Beyond this distance from the center, along x or y, the magnitudes of the impulse response sum
  /// up to at most 1e-5 of `absolute_gain`. Pixels, up to kMaxFilterResponse.
  int response = 0;
  /// Sum of the impulse response: the factor of a constant image.
  double gain = 0.0;
  /// Sum of the magnitudes of the four impulse responses: the largest factor of any image.
  double absolute_gain = 0.0;
};

/// Checks the coefficients and proves that the filter is stable. Takes up to a second for large
/// supports with a long impulse response. Errors: InvalidArgument (a value that is not finite, a
/// support out of range, an unstable quadrant, with the root that shows it, an impulse response
/// longer than kMaxFilterResponse, or a gain above kMaxFilterGain), OutOfMemory.
Expected<FilterProperties> analyze_filter(const RestorationFilter& filter) noexcept;

/// What a filter file says of its filter, beside the coefficients. The reader checks the ranges,
/// not whether the values are right.
struct FilterFileInfo {
  float margin = 0.0f;  ///< of the stability: 1 - FilterProperties::largest_root, above 0, up to 1
  int response = 0;     ///< FilterProperties::response
  float residual = -1.0f;  ///< RMS error of a restored picture, gray levels of 8 bits; -1: unknown
};

/// Reads a filter file (*.ocellus), and what it says to `info`, unless that is null. Does not check
/// the stability of the filter. Errors: InvalidArgument (empty path), IoError, CorruptFile.
Expected<RestorationFilter> read_restoration_filter(const char* path,
                                                    FilterFileInfo* info = nullptr) noexcept;

/// A filter of the library: "gaussian-1", "gaussian-1.5" and "gaussian-2" restore a Gaussian blur
/// of this standard deviation in pixels, at a noise of 4 gray levels of 8 bits. None if there is no
/// filter of this name.
std::optional<RestorationFilter> find_restoration_filter(std::string_view name) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
