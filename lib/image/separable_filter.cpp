#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/separable_filter.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;

void filter_row(const float* HWY_RESTRICT in, const float* HWY_RESTRICT taps, int n, int left,
                float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const float* first = in - left;
  for (int x = 0; x < width; x += lanes) {
    // Two sums, so that consecutive multiply-adds do not depend on each other.
    auto even = hn::Zero(d);
    auto odd = hn::Zero(d);
    int k = 0;
    for (; k + 1 < n; k += 2) {
      even = hn::MulAdd(hn::Set(d, taps[k]), hn::LoadU(d, first + x + k), even);
      odd = hn::MulAdd(hn::Set(d, taps[k + 1]), hn::LoadU(d, first + x + k + 1), odd);
    }
    if (k < n) even = hn::MulAdd(hn::Set(d, taps[k]), hn::LoadU(d, first + x + k), even);
    hn::StoreU(hn::Add(even, odd), d, out + x);
  }
}

void filter_column(const float* const* HWY_RESTRICT rows, const float* HWY_RESTRICT taps, int n,
                   float* HWY_RESTRICT out, int width, bool accumulate) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    auto even = accumulate ? hn::LoadU(d, out + x) : hn::Zero(d);
    auto odd = hn::Zero(d);
    int k = 0;
    for (; k + 1 < n; k += 2) {
      even = hn::MulAdd(hn::Set(d, taps[k]), hn::LoadU(d, rows[k] + x), even);
      odd = hn::MulAdd(hn::Set(d, taps[k + 1]), hn::LoadU(d, rows[k + 1] + x), odd);
    }
    if (k < n) even = hn::MulAdd(hn::Set(d, taps[k]), hn::LoadU(d, rows[k] + x), even);
    hn::StoreU(hn::Add(even, odd), d, out + x);
  }
}

void filter_row_symmetric(const float* HWY_RESTRICT in, const float* HWY_RESTRICT weight,
                          int radius, float* HWY_RESTRICT out, int width) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) {
    auto even = hn::Mul(hn::Set(d, weight[0]), hn::LoadU(d, in + x));
    auto odd = hn::Zero(d);
    for (int k = 1; k <= radius; ++k) {
      const auto pair = hn::Add(hn::LoadU(d, in + x - k), hn::LoadU(d, in + x + k));
      if (k % 2 == 0) {
        even = hn::MulAdd(hn::Set(d, weight[k]), pair, even);
      } else {
        odd = hn::MulAdd(hn::Set(d, weight[k]), pair, odd);
      }
    }
    hn::StoreU(hn::Add(even, odd), d, out + x);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace ocellus::detail {

HWY_EXPORT(filter_row);
HWY_EXPORT(filter_column);
HWY_EXPORT(filter_row_symmetric);

void filter_row(const float* in, const float* taps, int n, int left, float* out,
                int width) noexcept {
  HWY_DYNAMIC_DISPATCH(filter_row)(in, taps, n, left, out, width);
}

void filter_column(const float* const* rows, const float* taps, int n, float* out, int width,
                   bool accumulate) noexcept {
  HWY_DYNAMIC_DISPATCH(filter_column)(rows, taps, n, out, width, accumulate);
}

void filter_row_symmetric(const float* in, const float* weight, int radius, float* out,
                          int width) noexcept {
  HWY_DYNAMIC_DISPATCH(filter_row_symmetric)(in, weight, radius, out, width);
}

void replicate_edges(float* row, int width, int left, int right) noexcept {
  std::fill(row - left, row, row[0]);
  std::fill(row + width, row + width + right, row[width - 1]);
}

}  // namespace ocellus::detail
#endif
