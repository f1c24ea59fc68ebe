// The contrast cells of the neocognitron.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "neocognitron/cpu/layers.h"
#include "neocognitron/cpu/tap_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neocognitron/cpu/contrast.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kPlaneAlignment>;
using V = hn::Vec<D>;

bool filter_contrast(const CellWindow& window, float threshold, const float* u0,
                     const ActiveCells& out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const int side = window.sides.out;
  // Rows with zeros on both sides.
  constexpr int kEdge = 8;
  constexpr int kStride = 96;
  static_assert(kEdge + padded_planes(kContrastSides.out) <= kStride);
  HWY_ALIGN float padded[kContrastSides.in * kStride] = {};
  bool empty[kContrastSides.in];
  for (int y = 0; y < window.sides.in; ++y) {
    const float* const from = u0 + y * window.sides.in;
    std::copy_n(from, window.sides.in, padded + y * kStride + kEdge);
    empty[y] = std::all_of(from, from + window.sides.in, [](float u) { return u == 0.0f; });
  }
  const TapRows rows = rows_of(window, window.taps);
  HWY_ALIGN float sums[kStride] = {};
  bool complete = true;
  std::uint32_t n = 0;
  for (int y = 0; y < side; ++y) {
    const auto row_of = [&](const TapRow& taps) { return window.first + y + taps.dy; };
    const bool nothing = std::all_of(rows.all().begin(), rows.all().end(), [&](const TapRow& taps) {
      const int row = row_of(taps);
      return row < 0 || row >= window.sides.in || empty[row];
    });
    if (nothing) {
      std::fill_n(out.begin + y * side, side, n);
      continue;
    }
    for (std::size_t x = 0; x < static_cast<std::size_t>(side); x += lanes) {
      V sum = hn::Zero(d);
      for (const TapRow& taps : rows.all()) {
        const int row = row_of(taps);
        if (row < 0 || row >= window.sides.in || empty[row]) continue;
        const float* from = padded + row * kStride + kEdge + window.first + taps.dx + x;
        for (int i = 0; i < taps.count; ++i) {
          const float weight = window.tap[static_cast<std::size_t>(taps.tap + i)].weight;
          sum = hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, from + i), sum);
        }
      }
      hn::Store(sum, d, sums + x);
    }
    for (int x = 0; x < side; ++x) {
      out.begin[y * side + x] = n;
      const float value = std::abs(sums[x]) - threshold;
      if (!(value > 0.0f)) continue;
      if (n == out.capacity) {
        complete = false;
        continue;
      }
      out.key[n] = static_cast<std::uint16_t>(x * kContrastPlanes + (sums[x] > 0.0f ? 1 : 0));
      out.value[n++] = value;
    }
  }
  out.begin[side * side] = n;
  write_energies(out);
  return complete;
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(filter_contrast);

bool contrast_cells(const CellWindow& window, float threshold, const float* u0,
                    const ActiveCells& out) noexcept {
  return HWY_DYNAMIC_DISPATCH(filter_contrast)(window, threshold, u0, out);
}

}  // namespace ocellus::detail
#endif
