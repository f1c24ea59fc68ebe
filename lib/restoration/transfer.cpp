#include "restoration/transfer.h"

#include <array>
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

Complex value_of(const std::array<Complex, kMaxFilterSupport>& polynomial, int support, Complex z) {
  Complex sum = 0.0;
  for (int k = support - 1; k >= 0; --k) sum = sum * z + polynomial[static_cast<std::size_t>(k)];
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

void make_transfer_row(const RestorationFilter& filter, const RestorationTransforms& transforms,
                       int i, Complex32* row) noexcept {
  const int width = transforms.rows.length;
  const int height = transforms.columns.length;
  const int m = filter.support;
  const double scale = 1.0 / (static_cast<double>(width) * height);
  const int row_frequency = frequency_at(transforms.columns, i);
  using Polynomial = std::array<Complex, kMaxFilterSupport>;
  std::array<Polynomial, kFilterQuadrants> forward;
  std::array<Polynomial, kFilterQuadrants> back;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    const auto column = delays(row_frequency, height, (q & 2) != 0, m);
    forward[q] = row_polynomial(filter.feedforward[q].data(), m, column);
    back[q] = row_polynomial(filter.feedback[q].data(), m, column);
  }
  for (int j = 0; j < width; ++j) {
    const double w = 2.0 * std::numbers::pi * frequency_at(transforms.rows, j) / width;
    const Complex delay = std::polar(1.0, -w);
    Complex sum = 0.0;
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      const Complex z = (q & 1) != 0 ? std::conj(delay) : delay;
      sum += value_of(forward[q], m, z) / (1.0 - value_of(back[q], m, z));
    }
    row[j] = {static_cast<float>(sum.real() * scale), static_cast<float>(sum.imag() * scale)};
  }
}

void make_transfer_function(const RestorationFilter& filter,
                            const RestorationTransforms& transforms, Complex32* transfer) noexcept {
  const auto width = static_cast<std::size_t>(transforms.rows.length);
  for (int i = 0; i < transforms.columns.length; ++i)
    make_transfer_row(filter, transforms, i, transfer + static_cast<std::size_t>(i) * width);
}

}  // namespace ocellus::detail
