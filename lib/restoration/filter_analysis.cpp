#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>

#include "core/failure.h"
#include "ocellus/restoration_filter.h"
#include "restoration/stability.h"

namespace ocellus {
namespace {

/// What the impulse response may have behind its end, as a part of all of it.
constexpr double kResponseTolerance = 1e-5;

/// The coefficients of a quadrant in double precision.
struct Quadrant {
  std::array<double, kMaxFilterTaps> a;
  std::array<double, kMaxFilterTaps> b;
};

Quadrant quadrant_of(const RestorationFilter& filter, int q) noexcept {
  const auto index = static_cast<std::size_t>(q);
  Quadrant quadrant;
  std::copy(filter.feedforward[index].begin(), filter.feedforward[index].end(), quadrant.a.begin());
  std::copy(filter.feedback[index].begin(), filter.feedback[index].end(), quadrant.b.begin());
  return quadrant;
}

/// Checks that the coefficients are in range and finite.
Expected<void> check_coefficients(const RestorationFilter& filter) noexcept {
  const int m = filter.support;
  if (m < 1 || m > kMaxFilterSupport)
    return detail::invalid_argument("the support of the filter is %d; it must be 1 to %d", m,
                                    kMaxFilterSupport);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (int i = 0; i < m * m; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const float a = filter.feedforward[q][k];
      const float b = filter.feedback[q][k];
      if (std::isfinite(a) && std::isfinite(b)) continue;
      return detail::invalid_argument(
          "%c(%d, %d) of quadrant %d is %g; it must be finite", std::isfinite(a) ? 'b' : 'a', i / m,
          i % m, static_cast<int>(q), static_cast<double>(std::isfinite(a) ? b : a));
    }
    if (filter.feedback[q][0] != 0.0f)
      return detail::invalid_argument("b(0, 0) of quadrant %d is %g; it must be 0",
                                      static_cast<int>(q),
                                      static_cast<double>(filter.feedback[q][0]));
  }
  return {};
}

tl::unexpected<Error> unstable(int quadrant, const detail::RootTest& roots) noexcept {
  const char root = roots.in_rows ? '1' : '2';
  const char other = roots.in_rows ? '2' : '1';
  if (roots.angle < 0.0) {
    return detail::invalid_argument(
        "quadrant %d is unstable: its denominator has a root z%c of magnitude %.4f at infinite "
        "z%c; all magnitudes must be below 1",
        quadrant, root, roots.largest_root, other);
  }
  return detail::invalid_argument(
      "quadrant %d is unstable: its denominator has a root z%c of magnitude %.4f at z%c = "
      "exp(%.4f i); all magnitudes must be below 1",
      quadrant, root, roots.largest_root, other, roots.angle);
}

}  // namespace

Expected<FilterProperties> analyze_filter(const RestorationFilter& filter) noexcept {
  OCELLUS_TRY(check_coefficients(filter));
  const int m = filter.support;
  const std::unique_ptr<double[]> work(new (
      std::nothrow) double[detail::response_work_doubles(kMaxFilterSupport, kMaxFilterResponse)]);
  if (!work) return detail::no_memory_for_operator();
  FilterProperties properties;
  for (int q = 0; q < kFilterQuadrants; ++q) {
    const Quadrant quadrant = quadrant_of(filter, q);
    const detail::RootTest roots = detail::test_roots(quadrant.b.data(), m);
    if (!(roots.largest_root < 1.0)) return unstable(q, roots);
    properties.largest_root = std::max(properties.largest_root, roots.largest_root);
    double a = 0.0;
    double b = 0.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(m * m); ++i) {
      a += quadrant.a[i];
      b += quadrant.b[i];
    }
    properties.gain += a / (1.0 - b);
    // Any length: only the sum of the magnitudes is wanted.
    properties.absolute_gain +=
        detail::response_length(quadrant.a.data(), quadrant.b.data(), m,
                                std::numeric_limits<double>::infinity(), work.get())
            .total;
  }
  // Infinite: no length is proven, which the next loop tells.
  if (properties.absolute_gain > kMaxFilterGain && std::isfinite(properties.absolute_gain)) {
    return detail::invalid_argument(
        "the filter can multiply an image by %g; the factor must be at most %g",
        properties.absolute_gain, kMaxFilterGain);
  }
  for (int q = 0; q < kFilterQuadrants; ++q) {
    const Quadrant quadrant = quadrant_of(filter, q);
    const double tolerance = kResponseTolerance / kFilterQuadrants * properties.absolute_gain;
    const int length = std::isfinite(tolerance)
                           ? detail::response_length(quadrant.a.data(), quadrant.b.data(), m,
                                                     tolerance, work.get())
                                 .length
                           : 0;
    if (length == 0) {
      return detail::invalid_argument(
          "the impulse response of quadrant %d is longer than %d pixels; the largest root of the "
          "filter is %.4f",
          q, kMaxFilterResponse, properties.largest_root);
    }
    properties.response = std::max(properties.response, length - 1);
  }
  return properties;
}

}  // namespace ocellus
