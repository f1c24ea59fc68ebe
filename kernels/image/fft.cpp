#include "kernels/image/fft.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace ocellus::cuda {
namespace {

constexpr int kRadices[] = {16, 12, 10, 9, 8, 6, 5, 4, 3, 2};

using Radices = std::array<int, kMaxDevicePasses>;

/// Time of a transform in units of a pass over one element. Three units are the access to global
/// memory. The last radix should be odd or a multiple of 8, which needs few gaps.
double cost_of(int length, const Radices& radices, int passes) noexcept {
  double cost = 3.0;
  for (int p = 0; p < passes; ++p) {
    const int radix = radices[static_cast<std::size_t>(p)];
    cost += 1.0;
    if (radix % 5 == 0) cost += 0.05;
    if (p + 1 == passes && radix % 2 == 0 && radix % 8 != 0) cost += 0.05;
  }
  return cost * length;
}

struct Best {
  Radices radices{};
  int length = 0;
  int passes = 0;
  double cost = 0.0;
};

/// Tries all sequences of radices whose product is `length`.
void search(int length, int rest, Radices radices, int passes, Best& best) noexcept {
  if (rest == 1 && passes >= 2) {
    const double cost = cost_of(length, radices, passes);
    if (best.passes == 0 || cost < best.cost) best = {radices, length, passes, cost};
    return;
  }
  if (passes == kMaxDevicePasses) return;
  for (const int radix : kRadices) {
    if (rest % radix != 0) continue;
    radices[static_cast<std::size_t>(passes)] = radix;
    search(length, rest / radix, radices, passes + 1, best);
  }
}

}  // namespace

DeviceFft make_device_fft(int length) noexcept {
  constexpr int kLeast = 4;  // two passes
  const int least = length < kLeast ? kLeast : length;
  Best best;
  // Beyond this length, more elements cost more than a pass less saves.
  for (int n = least; best.passes == 0 || n <= least + least / 4; ++n) search(n, n, {}, 0, best);
  DeviceFft fft{};
  fft.length = best.length;
  fft.passes = best.passes;
  int block = best.length;
  int roots = 0;
  for (int p = 0; p < best.passes; ++p) {
    const auto k = static_cast<std::size_t>(p);
    const int radix = best.radices[k];
    const int part = block / radix;
    const auto division =
        static_cast<unsigned>(((std::uint64_t{1} << 32U) + static_cast<unsigned>(part) - 1) /
                              static_cast<unsigned>(part));
    fft.pass[k] = {radix, part, best.length / radix, division, roots};
    roots += part;
    block = part;
  }
  fft.shift = gap_shift(fft.last().radix);
  return fft;
}

int root_count(const DeviceFft& fft) noexcept {
  return fft.last().roots + fft.last().part;
}

void make_roots(const DeviceFft& fft, detail::Complex32* roots) noexcept {
  for (int p = 0; p < fft.passes; ++p) {
    const DeviceFftPass& pass = fft.pass[static_cast<std::size_t>(p)];
    for (int j = 0; j < pass.part; ++j) {
      const double angle = -2.0 * std::numbers::pi * j / (pass.radix * pass.part);
      roots[pass.roots + j] = {static_cast<float>(std::cos(angle)),
                               static_cast<float>(std::sin(angle))};
    }
  }
}

int stored_frequency(const DeviceFft& fft, int place) noexcept {
  detail::FftPlan plan;
  plan.length = fft.length;
  plan.passes = fft.passes;
  for (std::size_t p = 0; p < static_cast<std::size_t>(fft.passes); ++p)
    plan.radix[p] = static_cast<std::uint8_t>(fft.pass[p].radix);
  const DeviceFftPass& last = fft.last();
  return detail::frequency_at(plan,
                              place % last.butterflies * last.radix + place / last.butterflies);
}

}  // namespace ocellus::cuda
