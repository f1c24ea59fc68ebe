#include "restoration/stability.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace ocellus::detail {
namespace {

using Complex = std::complex<double>;
using Polynomial = std::array<Complex, kMaxFilterSupport>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// std::complex's product tests for NaN, which is several times slower without -ffast-math.
Complex product(Complex a, Complex b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Whether all roots of c[0] z^degree + c[1] z^(degree-1) + ... + c[degree] have a modulus below
/// `radius`. The Schur-Cohn recursion: the roots of p are inside the unit circle if the last
/// coefficient is smaller than the first one and the polynomial reduced by one degree has this
/// property.
bool roots_inside(const Polynomial& c, int degree, double radius) noexcept {
  Polynomial p;
  double largest = 0.0;
  // q(z) = p(radius z) / radius^degree, whose roots are those of p divided by the radius.
  double scale = 1.0;
  for (int k = 0; k <= degree; ++k) {
    const Complex scaled = c[static_cast<std::size_t>(k)] * scale;
    p[static_cast<std::size_t>(k)] = scaled;
    largest = std::max({largest, std::fabs(scaled.real()), std::fabs(scaled.imag())});
    scale /= radius;
  }
  if (!(largest > 0.0) || !std::isfinite(largest)) return false;
  for (int n = degree; n > 0; --n) {
    const Complex first = p[0];
    const Complex last = p[static_cast<std::size_t>(n)];
    if (!(std::norm(last) < std::norm(first))) return false;
    const Complex ratio = product(last, first) / std::norm(first);  // last / conj(first)
    // p(z) - ratio * reversed(p)(z) has no term of degree 0.
    Polynomial reduced;
    for (int k = 0; k < n; ++k) {
      reduced[static_cast<std::size_t>(k)] =
          p[static_cast<std::size_t>(k)] -
          product(ratio, std::conj(p[static_cast<std::size_t>(n - k)]));
    }
    p = reduced;
  }
  return true;
}

/// The largest modulus of the roots of c[0] z^degree + ... + c[degree], or `least` if it is
/// smaller.
double largest_modulus(const Polynomial& c, int degree, double least) noexcept {
  while (degree > 0 && c[static_cast<std::size_t>(degree)] == Complex{}) --degree;
  if (degree == 0) return least;
  if (least > 0.0 && roots_inside(c, degree, least)) return least;
  const double first = std::abs(c[0]);
  // Fujiwara's bound.
  double high = 0.0;
  for (int k = 1; k <= degree; ++k) {
    high = std::max(high, std::pow(std::abs(c[static_cast<std::size_t>(k)]) / first, 1.0 / k));
  }
  high *= 2.0;
  if (!std::isfinite(high)) return kInfinity;
  double low = std::max(high / (2.0 * degree), least);  // the largest root is not below it
  for (int i = 0; i < 60 && high - low > 1e-10 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (roots_inside(c, degree, middle) ? high : low) = middle;
  }
  return high;
}

/// The feedback coefficients in one of the two orders of the variables: `outer` is the variable on
/// the unit circle, `inner` the one whose roots are sought.
struct Denominator {
  const double* feedback;
  int support;
  int outer_stride;
  int inner_stride;

  double at(int outer, int inner) const noexcept {
    return feedback[outer * outer_stride + inner * inner_stride];
  }

  /// The largest modulus of the roots in the inner variable for the outer one at exp(i angle), or
  /// `least` if it is smaller.
  double largest_modulus_at(double angle, double least) const noexcept {
    Polynomial c{};
    for (int k = 0; k < support; ++k) {
      const Complex z = std::polar(1.0, -angle * k);
      for (int l = 0; l < support; ++l) c[static_cast<std::size_t>(l)] -= at(k, l) * z;
    }
    c[0] += 1.0;
    return largest_modulus(c, support - 1, least);
  }

  /// The largest modulus of the roots in the outer variable for an infinite inner one.
  double largest_modulus_at_infinity() const noexcept {
    Polynomial c{};
    for (int k = 0; k < support; ++k) c[static_cast<std::size_t>(k)] = -at(k, 0);
    c[0] += 1.0;
    return largest_modulus(c, support - 1, 0.0);
  }
};

/// Computes the response of 1/D row by row and calls `row(i, g)` with the last `support` rows: g(k)
/// is row i - k. `work` has (support + 1) * size doubles.
template <typename Visit>
void for_each_row(const double* feedback, int support, int size, double* work,
                  Visit&& visit) noexcept {
  const auto row = [&](int i) { return work + static_cast<std::ptrdiff_t>(i % support) * size; };
  for (int i = 0; i < size; ++i) {
    double* const g = row(i);
    std::fill(g, g + size, 0.0);
    if (i == 0) g[0] = 1.0;
    for (int k1 = 1; k1 <= std::min(i, support - 1); ++k1) {
      const double* const above = row(i - k1);
      for (int k2 = 0; k2 < support; ++k2) {
        const double b = feedback[k1 * support + k2];
        if (b == 0.0) continue;
        for (int j = k2; j < size; ++j) g[j] += b * above[j - k2];
      }
    }
    for (int j = 1; j < size; ++j) {
      double sum = g[j];
      for (int k2 = 1; k2 <= std::min(j, support - 1); ++k2) sum += feedback[k2] * g[j - k2];
      g[j] = sum;
    }
    visit(i, [&](int k) -> const double* { return row(i - k); });
  }
}

/// The l1 norm of D G in the strips behind the square.
class StripSum {
 public:
  StripSum(const double* feedback, int support, int size) noexcept
      : feedback_(feedback), support_(support), size_(size) {}

  template <typename Rows>
  void add_row(int i, const Rows& rows) noexcept {
    // To the right of the square: rows i, columns from size on.
    for (int j = size_; j < size_ + support_ - 1; ++j) {
      double sum = 0.0;
      for (int k1 = 0; k1 <= std::min(i, support_ - 1); ++k1) {
        const double* const g = rows(k1);
        for (int k2 = j - size_ + 1; k2 < support_; ++k2) {
          if (j - k2 >= 0) sum += feedback_[k1 * support_ + k2] * g[j - k2];
        }
      }
      total_ += std::fabs(sum);
    }
    if (i != size_ - 1) return;
    // Below the square: rows from size on, all columns.
    for (int d = 1; d < support_; ++d) {
      for (int j = 0; j < size_ + support_ - 1; ++j) {
        double sum = 0.0;
        for (int k1 = d; k1 < support_ && k1 - d <= i; ++k1) {
          const double* const g = rows(k1 - d);
          const int from = std::max(0, j - size_ + 1);
          const int to = std::min(support_ - 1, j);
          for (int k2 = from; k2 <= to; ++k2) sum += feedback_[k1 * support_ + k2] * g[j - k2];
        }
        total_ += std::fabs(sum);
      }
    }
  }
  double total() const noexcept { return total_; }

 private:
  const double* feedback_;
  int support_;
  int size_;
  double total_ = 0.0;
};

/// ResponseBound of a square. Calls `visit` with each row as for_each_row does.
template <typename Visit>
ResponseBound bound_rows(const double* feedback, int support, int size, double* work,
                         Visit&& visit) noexcept {
  ResponseBound bound;
  bound.size = size;
  StripSum strips(feedback, support, size);
  for_each_row(feedback, support, size, work, [&](int i, const auto& rows) {
    const double* const g = rows(0);
    for (int j = 0; j < size; ++j) bound.inside += std::fabs(g[j]);
    strips.add_row(i, rows);
    visit(i, rows);
  });
  bound.error = strips.total();
  bound.proven = std::isfinite(bound.inside) && bound.error < 1.0;
  bound.outside_bound = bound.proven ? bound.inside * bound.error / (1.0 - bound.error) : kInfinity;
  return bound;
}

bool all_finite(const double* values, int count) noexcept {
  return std::all_of(values, values + count, [](double v) { return std::isfinite(v); });
}

}  // namespace

RootTest test_roots(const double* feedback, int support, int angles) noexcept {
  RootTest result;
  if (!all_finite(feedback, support * support)) {
    result.largest_root = kInfinity;
    return result;
  }
  const double step = 2.0 * std::numbers::pi / std::max(angles, 16);
  for (const bool rows : {false, true}) {
    const Denominator d{feedback, support, rows ? 1 : support, rows ? support : 1};
    result.largest_root = std::max(result.largest_root, d.largest_modulus_at_infinity());
    double largest = 0.0;
    double at = 0.0;
    const auto sample = [&](double angle) {
      const double modulus = d.largest_modulus_at(angle, largest);
      if (modulus > largest) {
        largest = modulus;
        at = angle;
      }
    };
    for (double angle = 0.0; angle <= std::numbers::pi + 1e-9; angle += step) sample(angle);
    for (double width = 0.5 * step; width > 0.01 * step; width *= 0.5) {
      const double center = at;
      sample(std::max(0.0, center - width));
      sample(std::min(std::numbers::pi, center + width));
    }
    if (largest >= result.largest_root) {
      result.largest_root = largest;
      result.angle = at;
      result.in_rows = rows;
    }
  }
  return result;
}

ResponseBound bound_response(const double* feedback, int support, int size, double* work) noexcept {
  return bound_rows(feedback, support, size, work, [](int, const auto&) {});
}

ResponseLength response_length(const double* feedforward, const double* feedback, int support,
                               double tolerance, double* work) noexcept {
  ResponseLength result;
  result.total = kInfinity;
  result.bound.outside_bound = kInfinity;
  if (!all_finite(feedback, support * support) || !all_finite(feedforward, support * support)) {
    return result;
  }
  double gain = 0.0;
  for (int k = 0; k < support * support; ++k) gain += std::fabs(feedforward[k]);
  for (int size = 64; size <= kMaxFilterResponse; size *= 2) {
    // shell[n]: the l1 norm of a * G where the larger coordinate is n.
    double* const shell = work + static_cast<std::ptrdiff_t>(support + 1) * size;
    double* const h = work + static_cast<std::ptrdiff_t>(support) * size;
    std::fill(shell, shell + size, 0.0);
    double edge = 0.0;  // the l1 norm of the last support - 1 rows and columns of G
    const auto add_row = [&](int i, const auto& rows) {
      const double* const g = rows(0);
      const int inner = size - support + 1;
      for (int j = i >= inner ? 0 : inner; j < size; ++j) edge += std::fabs(g[j]);
      std::fill(h, h + size, 0.0);
      for (int k1 = 0; k1 <= std::min(i, support - 1); ++k1) {
        const double* const above = rows(k1);
        for (int k2 = 0; k2 < support; ++k2) {
          const double a = feedforward[k1 * support + k2];
          if (a == 0.0) continue;
          for (int j = k2; j < size; ++j) h[j] += a * above[j - k2];
        }
      }
      for (int j = 0; j < size; ++j) shell[std::max(i, j)] += std::fabs(h[j]);
    };
    result.bound = bound_rows(feedback, support, size, work, add_row);
    const ResponseBound& bound = result.bound;
    if (!bound.proven) continue;
    // Inside the square, a * G equals the response of the filter. Outside of it, the response is
    // a * (g - G) and what a * G carries there from the last support - 1 rows and columns of G. A
    // convolution with a multiplies an l1 norm by at most ||a||_1.
    double inside = 0.0;
    for (int n = 0; n < size; ++n) inside += shell[n];
    const double behind = gain * (edge + bound.outside_bound);
    result.total = inside + behind;
    if (!(behind <= tolerance)) continue;
    double outside = behind;
    int length = size;
    while (length > 0 && outside + shell[length - 1] <= tolerance) outside += shell[--length];
    result.length = std::max(length, 1);
    return result;
  }
  return result;
}

}  // namespace ocellus::detail
