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

TransferRow::TransferRow(const RestorationFilter& filter, int frequency, int length) noexcept
    : support_(filter.support) {
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    const auto column = delays(frequency, length, (q & 2U) != 0, support_);
    forward_[q] = row_polynomial(filter.feedforward[q].data(), support_, column);
    back_[q] = row_polynomial(filter.feedback[q].data(), support_, column);
  }
}

std::complex<double> TransferRow::value(int frequency, int length) const noexcept {
  const double w = 2.0 * std::numbers::pi * frequency / length;
  Complex sum = 0.0;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    const Complex z = std::polar(1.0, (q & 1U) != 0 ? w : -w);
    sum += value_of(forward_[q], support_, z) / (1.0 - value_of(back_[q], support_, z));
  }
  return sum;
}

void make_transfer_function(const RestorationFilter& filter,
                            const RestorationTransforms& transforms, Complex32* transfer) noexcept {
  const int width = transforms.rows.length;
  const int height = transforms.columns.length;
  const double scale = 1.0 / (static_cast<double>(width) * height);
  for (int i = 0; i < height; ++i) {
    const TransferRow from(filter, frequency_at(transforms.columns, i), height);
    Complex32* const row = transfer + static_cast<std::size_t>(i) * static_cast<std::size_t>(width);
    for (int j = 0; j < width; ++j) {
      const Complex value = from.value(frequency_at(transforms.rows, j), width) * scale;
      row[j] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
    }
  }
}

}  // namespace ocellus::detail
