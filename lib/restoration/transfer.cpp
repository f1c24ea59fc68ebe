#include "restoration/transfer.h"

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

namespace ocellus::detail {
namespace {

using Complex = std::complex<double>;

/// Powers exp(-i w k), k < support, of the delay by one pixel at frequency `index` of `length`.
std::array<Complex, kMaxFilterSupport> delays(int index, int length, bool mirrored, int support) {
  std::array<Complex, kMaxFilterSupport> powers;
  const double w = 2.0 * std::numbers::pi * index / length * (mirrored ? -1.0 : 1.0);
  for (int k = 0; k < support; ++k) powers[static_cast<std::size_t>(k)] = std::polar(1.0, -w * k);
  return powers;
}

/// The polynomial in the delay along a row that remains of taps(k1, k2) at one frequency of the
/// columns.
std::array<Complex, kMaxFilterSupport> row_polynomial(
    const float* taps, int support, const std::array<Complex, kMaxFilterSupport>& column) {
  std::array<Complex, kMaxFilterSupport> sums{};
  for (int k1 = 0; k1 < support; ++k1)
    for (int k2 = 0; k2 < support; ++k2)
      sums[static_cast<std::size_t>(k2)] +=
          static_cast<double>(taps[k1 * support + k2]) * column[static_cast<std::size_t>(k1)];
  return sums;
}

constexpr int kAtOnce = 8;

/// Values at kAtOnce frequencies.
struct Values {
  std::array<double, kAtOnce> re{};
  std::array<double, kAtOnce> im{};
};

/// The values of a polynomial at `z`. Written in real numbers, because the product of
/// std::complex handles infinity, which takes most of the time.
Values values_of(const std::array<Complex, kMaxFilterSupport>& polynomial, int support,
                 const Values& z) {
  Values sum;
  for (int k = support - 1; k >= 0; --k) {
    const Complex term = polynomial[static_cast<std::size_t>(k)];
    for (std::size_t l = 0; l < kAtOnce; ++l) {
      const double re = sum.re[l] * z.re[l] - sum.im[l] * z.im[l] + term.real();
      sum.im[l] = sum.re[l] * z.im[l] + sum.im[l] * z.re[l] + term.imag();
      sum.re[l] = re;
    }
  }
  return sum;
}

}  // namespace

RestorationTransforms RestorationTransforms::plan(ImageSize size, int padding) noexcept {
  RestorationTransforms transforms;
  transforms.half = (size.height + 1) / 2;
  transforms.rows = make_fft_plan(size.width + 2 * padding);
  transforms.columns = make_fft_plan(transforms.half + 2 * padding);
  return transforms;
}

void make_transfer_row(const RestorationFilter& filter, int frequency, int rows, int columns,
                       Complex32* transfer) noexcept {
  const int m = filter.support;
  const double scale = 1.0 / (static_cast<double>(columns) * rows);
  using Terms = std::array<Complex, kMaxFilterSupport>;
  std::array<Terms, kFilterQuadrants> forward;
  std::array<Terms, kFilterQuadrants> back;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    const auto column = delays(frequency, rows, (q & 2) != 0, m);
    forward[q] = row_polynomial(filter.feedforward[q].data(), m, column);
    back[q] = row_polynomial(filter.feedback[q].data(), m, column);
  }
  for (int first = 0; first < columns; first += kAtOnce) {
    const int count = columns - first < kAtOnce ? columns - first : kAtOnce;
    Values delay;
    for (int l = 0; l < count; ++l) {
      const double w = 2.0 * std::numbers::pi * (first + l) / columns;
      delay.re[static_cast<std::size_t>(l)] = std::cos(w);
      delay.im[static_cast<std::size_t>(l)] = -std::sin(w);
    }
    Values mirrored = delay;
    for (double& im : mirrored.im) im = -im;
    std::array<Complex, kAtOnce> sums{};
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      const Values& z = (q & 1) != 0 ? mirrored : delay;
      const Values a = values_of(forward[q], m, z);
      const Values b = values_of(back[q], m, z);
      for (std::size_t l = 0; l < kAtOnce; ++l)
        sums[l] += Complex(a.re[l], a.im[l]) / Complex(1.0 - b.re[l], -b.im[l]);
    }
    for (int l = 0; l < count; ++l) {
      const Complex sum = sums[static_cast<std::size_t>(l)] * scale;
      transfer[first + l] = {static_cast<float>(sum.real()), static_cast<float>(sum.imag())};
    }
  }
}

}  // namespace ocellus::detail
