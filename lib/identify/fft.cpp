#include "identify/fft.h"

#include <algorithm>
#include <cstddef>
#include <unsupported/Eigen/FFT>
#include <utility>

namespace ocellus::identify {
namespace {

void transpose(Spectrum& array) {
  for (int i = 0; i < array.side; ++i) {
    for (int j = 0; j < i; ++j) std::swap(array.at(i, j), array.at(j, i));
  }
}

}  // namespace

void fourier_transform(Spectrum& array, bool inverse) {
  Eigen::FFT<double> transform;
  std::vector<Complex> row(static_cast<std::size_t>(array.side));
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < array.side; ++i) {
      std::copy_n(&array.at(i, 0), array.side, row.begin());
      if (inverse) {
        transform.inv(&array.at(i, 0), row.data(), array.side);
      } else {
        transform.fwd(&array.at(i, 0), row.data(), array.side);
      }
    }
    transpose(array);
  }
}

int power_of_two(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace ocellus::identify
