// The stability test in root form and the proof by a truncated impulse response.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "restoration/stability.h"

namespace ocellus::detail {
namespace {

using Complex = std::complex<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A filter of support 5 that equation-error least squares gave for a 5x5 box blur. It explodes,
/// and the sampled DeCarlo-Strintzis test passes it.
const std::vector<double> kExploding = {0.0,       0.177985,  -0.349601, -0.216689, -0.082191,
                                        0.361453,  -0.483734, -0.08253,  -0.224034, -0.222606,
                                        -0.342932, -0.100457, -0.220478, -0.141302, -0.099881,
                                        -0.141148, -0.248902, -0.167131, -0.250719, -0.201673,
                                        -0.015894, -0.161229, -0.132553, -0.124519, -0.186194};

/// The impulse response of 1/D by the definition.
std::vector<double> response(const std::vector<double>& b, int m, int size) {
  std::vector<double> g(static_cast<std::size_t>(size * size));
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      double sum = i == 0 && j == 0 ? 1.0 : 0.0;
      for (int k1 = 0; k1 <= std::min(i, m - 1); ++k1) {
        for (int k2 = 0; k2 <= std::min(j, m - 1); ++k2) {
          if (k1 + k2 == 0) continue;
          sum += b[static_cast<std::size_t>(k1 * m + k2)] *
                 g[static_cast<std::size_t>((i - k1) * size + j - k2)];
        }
      }
      g[static_cast<std::size_t>(i * size + j)] = sum;
    }
  }
  return g;
}

Complex denominator(const std::vector<double>& b, int m, double w1, double w2) {
  Complex d = 1.0;
  for (int k1 = 0; k1 < m; ++k1) {
    for (int k2 = 0; k2 < m; ++k2) {
      d -= b[static_cast<std::size_t>(k1 * m + k2)] * std::polar(1.0, -k1 * w1 - k2 * w2);
    }
  }
  return d;
}

std::vector<double> random_filter(int m, double scale, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> b(static_cast<std::size_t>(m * m));
  for (double& v : b) v = scale * normal(random);
  b[0] = 0.0;
  return b;
}

std::vector<double> work_memory(int m) {
  return std::vector<double>(response_work_doubles(m, kMaxFilterResponse));
}

// 1 - p/z1 - q/z2 has the root q / (1 - p/z1) in z2: the largest is q / (1 - p). Fails if the
// extreme angle is missed or if only one variable is tested.
TEST(RootTest, FirstOrderFilterHasTheClosedForm) {
  for (const auto& [p, q] :
       {std::pair{0.4, 0.5}, {0.5, 0.4}, {-0.4, 0.5}, {0.6, 0.5}, {0.0, 0.9}}) {
    const std::vector<double> b = {0.0, q, p, 0.0};
    const double expected = std::max(q / (1.0 - std::fabs(p)), std::fabs(p) / (1.0 - q));
    EXPECT_NEAR(test_roots(b.data(), 2).largest_root, expected, 1e-6) << p << " " << q;
  }
  // The largest root of 1 + 0.4/z1 - 0.5/z2 is at z1 = -1.
  const std::vector<double> b = {0.0, 0.5, -0.4, 0.0};
  const RootTest test = test_roots(b.data(), 2);
  EXPECT_NEAR(test.angle, std::numbers::pi, 1e-3);
  EXPECT_FALSE(test.in_rows);
}

// Polynomials of degree up to 30 with known roots, along either axis. Fails if the recursion loses
// accuracy or if a support is truncated.
TEST(RootTest, FindsTheLargestOfThirtyRoots) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> radius(0.2, 1.1);
  std::uniform_real_distribution<double> angle(0.0, std::numbers::pi);
  for (const int m : {3, 9, 31}) {
    std::vector<double> p(static_cast<std::size_t>(m), 0.0);
    p[0] = 1.0;
    double largest = 0.0;
    for (int pair = 0; pair < (m - 1) / 2; ++pair) {
      const double r = radius(random);
      const double c = -2.0 * r * std::cos(angle(random));
      largest = std::max(largest, r);
      for (int k = m - 1; k >= 0; --k) {
        auto at = [&](int l) { return l < 0 ? 0.0 : p[static_cast<std::size_t>(l)]; };
        p[static_cast<std::size_t>(k)] = at(k) + c * at(k - 1) + r * r * at(k - 2);
      }
    }
    for (const bool rows : {false, true}) {
      std::vector<double> b(static_cast<std::size_t>(m * m), 0.0);
      for (int k = 1; k < m; ++k) {
        b[static_cast<std::size_t>(rows ? k * m : k)] = -p[static_cast<std::size_t>(k)];
      }
      EXPECT_NEAR(test_roots(b.data(), m).largest_root, largest, 1e-5) << m << rows;
    }
  }
}

/// The largest modulus of the roots by the Durand-Kerner iteration.
double largest_by_iteration(const std::vector<Complex>& c) {
  const std::size_t degree = c.size() - 1;
  std::vector<Complex> roots;
  for (std::size_t k = 0; k < degree; ++k) {
    roots.push_back(std::pow(Complex(0.4, 0.9), static_cast<double>(k)));
  }
  for (int i = 0; i < 400; ++i) {
    for (std::size_t k = 0; k < degree; ++k) {
      Complex value = 1.0;
      for (std::size_t l = 1; l <= degree; ++l) value = value * roots[k] + c[l] / c[0];
      for (std::size_t l = 0; l < degree; ++l) {
        if (l != k) value /= roots[k] - roots[l];
      }
      roots[k] -= value;
    }
  }
  double largest = 0.0;
  for (const Complex& root : roots) largest = std::max(largest, std::abs(root));
  return largest;
}

// Random filters, for which all coefficients of the polynomial are complex. Fails if the recursion
// takes a coefficient for its conjugate: the roots would be right for real polynomials only.
TEST(RootTest, AgreesWithAnIterationForComplexPolynomials) {
  std::mt19937 random(17);
  for (int n = 0; n < 12; ++n) {
    const int m = 3 + n % 5;
    const std::vector<double> b = random_filter(m, 0.15, random);
    double expected = 0.0;
    for (int i = 0; i <= 360; ++i) {
      const double angle = std::numbers::pi * i / 360.0;
      for (const bool rows : {false, true}) {
        std::vector<Complex> c(static_cast<std::size_t>(m));
        for (int k = 0; k < m; ++k) {
          for (int l = 0; l < m; ++l) {
            c[static_cast<std::size_t>(l)] -=
                b[static_cast<std::size_t>(rows ? l * m + k : k * m + l)] *
                std::polar(1.0, -angle * k);
          }
        }
        c[0] += 1.0;
        expected = std::max(expected, largest_by_iteration(c));
      }
    }
    EXPECT_NEAR(test_roots(b.data(), m, 720).largest_root, expected, 2e-3) << m;
  }
}

// Fails if the test samples |D| only: that passes this filter, whose response grows without bound.
TEST(RootTest, RefusesTheFilterThatTheSampledTestPasses) {
  constexpr int kSupport = 5;
  double least = kInfinity;
  double winding1 = 0.0;
  double winding2 = 0.0;
  constexpr int kSamples = 512;
  const double step = 2.0 * std::numbers::pi / kSamples;
  for (int k = 0; k < kSamples; ++k) {
    winding1 += std::arg(denominator(kExploding, kSupport, (k + 1) * step, 0.0) /
                         denominator(kExploding, kSupport, k * step, 0.0));
    winding2 += std::arg(denominator(kExploding, kSupport, 0.0, (k + 1) * step) /
                         denominator(kExploding, kSupport, 0.0, k * step));
  }
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) {
      least =
          std::min(least, std::abs(denominator(kExploding, kSupport, i * 8 * step, j * 8 * step)));
    }
  }
  EXPECT_GT(least, 0.01) << "the sampled test must pass, or this is not the case it claims to be";
  EXPECT_NEAR(winding1, 0.0, 1e-6);
  EXPECT_NEAR(winding2, 0.0, 1e-6);
  const std::vector<double> g = response(kExploding, kSupport, 60);
  EXPECT_GT(std::fabs(g[50 * 60 + 50]), 1e3);

  for (const int angles : {32, 64, 128}) {
    EXPECT_GT(test_roots(kExploding.data(), kSupport, angles).largest_root, 1.2) << angles;
  }
  std::vector<double> work = work_memory(kSupport);
  EXPECT_FALSE(bound_response(kExploding.data(), kSupport, 256, work.data()).proven);
  EXPECT_EQ(
      response_length(kExploding.data(), kExploding.data(), kSupport, 0.01, work.data()).length, 0);
}

// Fails if one of the two methods calls a filter stable that is not, or does not see that one is.
TEST(RootTest, AgreesWithTheProofByTheResponse) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> scale(0.05, 0.6);
  int stable = 0;
  int unstable = 0;
  for (int n = 0; n < 150; ++n) {
    const int m = 2 + n % 5;
    const std::vector<double> b = random_filter(m, scale(random), random);
    const double root = test_roots(b.data(), m).largest_root;
    std::vector<double> work = work_memory(m);
    const ResponseBound bound = bound_response(b.data(), m, 256, work.data());
    if (root < 0.93) {
      EXPECT_TRUE(bound.proven) << "root " << root << " error " << bound.error;
      ++stable;
    } else if (root > 1.0) {
      EXPECT_FALSE(bound.proven) << "root " << root << " error " << bound.error;
      ++unstable;
    }
  }
  EXPECT_GT(stable, 20);
  EXPECT_GT(unstable, 20);
}

// Fails if the strips behind the square are incomplete: the bound would be below what is there.
TEST(ResponseBound, BoundsTheResponseOutsideOfTheSquare) {
  std::mt19937 random(5);
  int proven = 0;
  for (int n = 0; n < 60; ++n) {
    const int m = 2 + n % 4;
    const std::vector<double> b = random_filter(m, 0.16, random);
    std::vector<double> work = work_memory(m);
    const ResponseBound bound = bound_response(b.data(), m, 16, work.data());
    if (!bound.proven) continue;
    ++proven;
    constexpr int kLarge = 160;
    const std::vector<double> g = response(b, m, kLarge);
    double inside = 0.0;
    double outside = 0.0;
    for (int i = 0; i < kLarge; ++i) {
      for (int j = 0; j < kLarge; ++j) {
        (i < 16 && j < 16 ? inside : outside) +=
            std::fabs(g[static_cast<std::size_t>(i * kLarge + j)]);
      }
    }
    EXPECT_NEAR(bound.inside, inside, 1e-9);
    EXPECT_GE(bound.outside_bound * (1.0 + 1e-9) + 1e-12, outside);
    // D G is 1 inside and -E outside; ||E||_1 <= ||D||_1 ||g - G||_1 as 1 - D G = D (g - G).
    double d = 1.0;
    for (double v : b) d += std::fabs(v);
    EXPECT_LE(bound.error, d * outside + 1e-9) << "the bound is not tight";
  }
  EXPECT_GT(proven, 15);
}

// A geometric response along one axis has the tail r^n / (1 - r). Fails if the length ignores the
// feed-forward part or the tolerance.
TEST(ResponseLength, IsThatOfAGeometricSeries) {
  for (const double r : {0.5, 0.8, 0.9}) {
    for (const double gain : {1.0, 30.0}) {
      const std::vector<double> b = {0.0, r, 0.0, 0.0};
      const std::vector<double> a = {gain, 0.0, 0.0, 0.0};
      std::vector<double> work = work_memory(2);
      const double tolerance = 1e-3;
      const ResponseLength length = response_length(a.data(), b.data(), 2, tolerance, work.data());
      const double exact = std::log(tolerance * (1.0 - r) / gain) / std::log(r);
      EXPECT_GE(length.length, exact - 1e-9);
      EXPECT_LE(length.length, exact + 3.0) << r;
      EXPECT_NEAR(length.total, gain / (1.0 - r), 0.02 * gain / (1.0 - r));
    }
  }
}

// Fails if NaN passes for stable because every comparison with it is false.
TEST(RootTest, CoefficientsThatAreNotFiniteAreNotStable) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), kInfinity}) {
    const std::vector<double> b = {0.0, 0.1, bad, 0.0};
    EXPECT_EQ(test_roots(b.data(), 2).largest_root, kInfinity);
    std::vector<double> work = work_memory(2);
    EXPECT_EQ(response_length(b.data(), b.data(), 2, 0.01, work.data()).length, 0);
    EXPECT_FALSE(bound_response(b.data(), 2, 64, work.data()).proven);
  }
}

// Filters without feedback: no roots, a response as long as the feed-forward part.
TEST(RootTest, FiltersWithoutFeedback) {
  const std::vector<double> none = {0.0};
  EXPECT_EQ(test_roots(none.data(), 1).largest_root, 0.0);
  const std::vector<double> b(9, 0.0);
  const std::vector<double> a(9, 1.0);
  EXPECT_EQ(test_roots(b.data(), 3).largest_root, 0.0);
  std::vector<double> work = work_memory(3);
  EXPECT_EQ(response_length(a.data(), b.data(), 3, 0.01, work.data()).length, 3);
}

}  // namespace
}  // namespace ocellus::detail
