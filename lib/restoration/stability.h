// Stability of a quarter-plane recursive filter: the roots of its denominator over the unit
// circle, and a bound for the part of the impulse response that lies outside a square.
//
// The filter is y(i,j) = sum a(r1,r2) x(i-r1,j-r2) + sum b(k1,k2) y(i-k1,j-k2), with r and k from
// 0 to support - 1 and b(0,0) = 0. Coefficients are row-major: a(r1,r2) = feedforward[r1 * support
// + r2]. Its transfer function is A / D with D(z1,z2) = 1 - sum b(k1,k2) z1^-k1 z2^-k2.
//
// No function here allocates memory. Sampling min |D| over the torus proves nothing: the minimum
// shrinks with the number of samples where D has a zero, and no sample shows the zero.
#pragma once

#include <cstddef>

#include "ocellus/restoration_filter.h"

namespace ocellus::detail {

/// The result of the test in root form.
struct RootTest {
  /// The largest modulus of the roots in z2 for z1 on the unit circle, and of the roots in z1 for
  /// z2 on it. Infinity if a coefficient is not finite. The filter is stable if it is below 1 for
  /// every point of the circle. The impulse response decays about as its powers.
  double largest_root = 0.0;
  /// Where the largest root is: the angle of the variable on the unit circle, 0 to pi. Negative if
  /// the other variable is infinite there.
  double angle = -1.0;
  bool in_rows = false;  ///< the root is in z1 (rows), not in z2 (columns)
};

/// Finds the largest root. `angles` samples, at least 16, divide the unit circle; the coefficients
/// are real, so half of them suffice. The neighborhood of the largest root is then sampled more
/// finely. One order of the variables decides the stability if the roots of D(z1, infinity) are
/// tested as well; the other order shows how fast the response decays along the other axis.
/// Source: Huang, "Stability of two-dimensional recursive filters", IEEE Trans. Audio
/// Electroacoustics 20, 1972; the roots are bounded by the Schur-Cohn recursion.
///
/// The test takes about angles * support^2 * 40 operations.
RootTest test_roots(const double* feedback, int support, int angles = 128) noexcept;

/// A bound on the impulse response g of 1/D. Let G be g inside a square of `size` x `size` and 0
/// elsewhere. E = 1 - D G is nonzero only in the strips behind the square. If ||E||_1 < 1, then g =
/// G (1 + E + E^2 + ...), which converges absolutely. This proves that the filter is stable, and
/// that the part of g outside of the square has at most the l1 norm
/// ||G||_1 ||E||_1 / (1 - ||E||_1).
struct ResponseBound {
  bool proven = false;         ///< ||E||_1 < 1: the filter is stable
  double inside = 0.0;         ///< ||G||_1
  double error = 0.0;          ///< ||E||_1
  double outside_bound = 0.0;  ///< at least the l1 norm of g - G; infinity if not proven
  int size = 0;
};

/// Doubles of work memory that `bound_response` and `response_length` need.
constexpr std::size_t response_work_doubles(int support, int size) {
  return static_cast<std::size_t>(support + 1) * static_cast<std::size_t>(size) +
         static_cast<std::size_t>(size);
}

/// Computes the bound for one size, 1 to kMaxFilterResponse, at least `support`. It takes size^2 *
/// support^2 operations. Rounding is not bounded; it is below 1e-10 of ||G||_1 for responses that
/// decay.
ResponseBound bound_response(const double* feedback, int support, int size, double* work) noexcept;

/// The extent of a quarter-plane filter's impulse response.
struct ResponseLength {
  /// The response outside of the first `length` x `length` pixels has an l1 norm of at most the
  /// tolerance. 0 if no length up to kMaxFilterResponse can be proven.
  int length = 0;
  double total = 0.0;  ///< bound of the l1 norm of the whole response; infinity if not proven
  ResponseBound bound;
};

/// Finds the extent by `bound_response` with sizes 64, 128, 256 and 512. `tolerance` is the largest
/// change of an output pixel, as a part of the largest input pixel, that the truncated part may
/// cause. `work` has response_work_doubles(support, kMaxFilterResponse) doubles.
ResponseLength response_length(const double* feedforward, const double* feedback, int support,
                               double tolerance, double* work) noexcept;

}  // namespace ocellus::detail
