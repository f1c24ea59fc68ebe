#include "image/fft.h"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace ocellus::detail {
namespace {

/// True if the length has no prime factor above 7.
bool is_smooth(int length) noexcept {
  for (const int prime : {2, 3, 5, 7})
    while (length % prime == 0) length /= prime;
  return length == 1;
}

}  // namespace

FftPlan make_fft_plan(int length) noexcept {
  FftPlan plan;
  plan.length = length;
  while (!is_smooth(plan.length)) ++plan.length;
  int rest = plan.length;
  const auto take = [&](int radix) {
    plan.radix[static_cast<std::size_t>(plan.passes++)] = static_cast<std::uint8_t>(radix);
    rest /= radix;
  };
  // The largest radices need the fewest passes. A rest of 2 would be a pass of its own: 32 is 8
  // x 4.
  while (rest % 7 == 0) take(7);
  while (rest % 9 == 0) take(9);
  while (rest % 5 == 0) take(5);
  while (rest % 3 == 0) take(3);
  while (rest % 16 == 0 && rest != 32) take(16);
  while (rest > 1) take(rest % 8 == 0 ? 8 : rest % 4 == 0 ? 4 : 2);
  return plan;
}

int frequency_at(const FftPlan& plan, int position) noexcept {
  int frequency = 0;
  int factor = 1;
  int block = plan.length;
  for (int p = 0; p < plan.passes; ++p) {
    const int radix = plan.radix[static_cast<std::size_t>(p)];
    block /= radix;
    frequency += factor * (position / block);
    position %= block;
    factor *= radix;
  }
  return frequency;
}

void make_fft_roots(int length, Complex32* roots) noexcept {
  for (int k = 0; k < length; ++k) {
    const double angle = -2.0 * std::numbers::pi * k / length;
    roots[k] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
}

}  // namespace ocellus::detail
