#include "restoration/cpu/rows.h"

#include <array>
#include <cstdint>

#include "restoration/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "restoration/cpu/rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

// Plain loops, because the compiler vectorizes them for each target.

template <typename Pixel>
HWY_INLINE void write_row(const float* HWY_RESTRICT gray, Pixel* HWY_RESTRICT out, int width) {
  for (int x = 0; x < width; ++x) out[x] = pixel_of<Pixel>(gray[x]);
}

template <typename Pixel>
HWY_INLINE void write_sums(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                           const float* HWY_RESTRICT c, const float* HWY_RESTRICT d,
                           Pixel* HWY_RESTRICT out, int width) {
  for (int x = 0; x < width; ++x) out[x] = pixel_of<Pixel>((a[x] + b[x]) + (c[x] + d[x]));
}

void write_pixels(const float* gray, PixelFormat format, void* out, int width) {
  switch (format) {
    case PixelFormat::kGray8:
      return write_row(gray, static_cast<std::uint8_t*>(out), width);
    case PixelFormat::kGray16:
      return write_row(gray, static_cast<std::uint16_t*>(out), width);
    default:  // kFloat32; no color comes here
      return write_row(gray, static_cast<float*>(out), width);
  }
}

void write_pixel_sums(const float* a, const float* b, const float* c, const float* d,
                      PixelFormat format, void* out, int width) {
  switch (format) {
    case PixelFormat::kGray8:
      return write_sums(a, b, c, d, static_cast<std::uint8_t*>(out), width);
    case PixelFormat::kGray16:
      return write_sums(a, b, c, d, static_cast<std::uint16_t*>(out), width);
    default:  // kFloat32; no color comes here
      return write_sums(a, b, c, d, static_cast<float*>(out), width);
  }
}

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kMaxRecursionBlock>;
using V = hn::Vec<D>;

/// Adds the sum of taps(c) row(j - c) to four vectors of columns.
HWY_INLINE void add_row(const float* HWY_RESTRICT row, const float* HWY_RESTRICT taps, int m, V& s0,
                        V& s1, V& s2, V& s3) {
  const D d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  for (int c = 0; c < m; ++c) {
    const V tap = hn::Set(d, taps[c]);
    const float* const from = row - c;
    s0 = hn::MulAdd(tap, hn::LoadU(d, from), s0);
    s1 = hn::MulAdd(tap, hn::LoadU(d, from + lanes), s1);
    s2 = hn::MulAdd(tap, hn::LoadU(d, from + 2 * lanes), s2);
    s3 = hn::MulAdd(tap, hn::LoadU(d, from + 3 * lanes), s3);
  }
}

int lanes() {
  return static_cast<int>(hn::Lanes(D()));
}

void run_row(const RecursionRow& row) {
  const D d;
  const int n = static_cast<int>(hn::Lanes(d));
  const int m = row.support;
  float* const HWY_RESTRICT out = row.out;
  for (int j = 0; j < row.width; j += 4 * n) {
    V s0 = hn::Zero(d);
    V s1 = s0;
    V s2 = s0;
    V s3 = s0;
    for (int r = 0; r < m; ++r) add_row(row.x[r] + j, row.a + r * m, m, s0, s1, s2, s3);
    for (int k = 1; k < m; ++k) add_row(row.y[k] + j, row.b + k * m, m, s0, s1, s2, s3);
    hn::StoreU(s0, d, out + j);
    hn::StoreU(s1, d, out + j + n);
    hn::StoreU(s2, d, out + j + 2 * n);
    hn::StoreU(s3, d, out + j + 3 * n);
  }
  if (m == 1) return;
  const RowFeedback& feedback = *row.feedback;
  for (int j = 0; j < row.width; j += n) {
    V s0 = hn::Zero(d);
    V s1 = s0;
    for (int l = 0; l < n; l += 2) {
      s0 = hn::MulAdd(hn::Set(d, out[j + l]), hn::Load(d, feedback.g[l]), s0);
      s1 = hn::MulAdd(hn::Set(d, out[j + l + 1]), hn::Load(d, feedback.g[l + 1]), s1);
    }
    // The newest values come last: they are what the loop waits for.
    for (int s = m - 1; s > 0; --s)
      s0 = hn::MulAdd(hn::Set(d, out[j - s]), hn::Load(d, feedback.c[s]), s0);
    hn::StoreU(hn::Add(s0, s1), d, out + j);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(write_pixels);
HWY_EXPORT(write_pixel_sums);
HWY_EXPORT(lanes);
HWY_EXPORT(run_row);

void write_pixels(const float* gray, PixelFormat format, void* out, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_pixels)(gray, format, out, width);
}

void write_pixel_sums(const float* const (&rows)[4], PixelFormat format, void* out,
                      int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_pixel_sums)(rows[0], rows[1], rows[2], rows[3], format, out, width);
}

void make_row_feedback(const float* b, int support, RowFeedback& feedback) noexcept {
  const int n = HWY_DYNAMIC_DISPATCH(lanes)();
  std::array<double, kMaxRecursionBlock> response{};
  for (int p = 0; p < n; ++p) {
    double sum = p == 0 ? 1.0 : 0.0;
    for (int k = 1; k < support && k <= p; ++k)
      sum += static_cast<double>(b[k]) * response[static_cast<std::size_t>(p - k)];
    response[static_cast<std::size_t>(p)] = sum;
  }
  for (int l = 0; l < n; ++l)
    for (int p = 0; p < n; ++p)
      feedback.g[l][p] =
          p < l ? 0.0f : static_cast<float>(response[static_cast<std::size_t>(p - l)]);
  for (int s = 1; s < support; ++s) {
    for (int p = 0; p < n; ++p) {
      double sum = 0.0;
      for (int l = 0; l <= p && l + s < support; ++l)
        sum += response[static_cast<std::size_t>(p - l)] * static_cast<double>(b[l + s]);
      feedback.c[s][p] = static_cast<float>(sum);
    }
  }
}

void run_recursion_row(const RecursionRow& row) noexcept {
  HWY_DYNAMIC_DISPATCH(run_row)(row);
}

}  // namespace ocellus::detail
#endif
