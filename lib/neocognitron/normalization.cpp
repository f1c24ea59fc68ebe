#include "neocognitron/normalization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neocognitron/normalization.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kMostLanes = 16;
using D = hn::CappedTag<float, kMostLanes>;
using Integers = hn::RebindToSigned<D>;

/// The pixels of a row of U0, and those of the vector in which the last one lies.
constexpr std::size_t kRow = kNeocognitronSide;
constexpr std::size_t kPadded = (kRow + kMostLanes - 1) / kMostLanes * kMostLanes;
constexpr int kMostSamples = 8;

// Two columns on the left of an image and one on its right have no ink.
constexpr int kLeft = 2;

/// One of the four pixels of each group.
HWY_INLINE hn::Vec<D> level(hn::Vec<Integers> group, int byte) {
  const Integers integers;
  return hn::ConvertTo(D(), hn::And(hn::ShiftRightSame(group, 8 * byte), hn::Set(integers, 255)));
}

constexpr std::size_t kMargin = kLeft + 2;  // of a row on both sides, bytes

/// Copies row `y` of an image between pixels without ink.
void copy_row(const InkImage& image, int y, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(std::clamp(image.width, 0, kMaxGroupedWidth));
  std::fill_n(out, width + 2 * kMargin, std::uint8_t{0});
  if (y >= 0 && y < image.height) std::copy_n(image.ink + y * image.stride, width, out + kLeft);
}

/// Writes for each column, from -kLeft to the width, the pixels of two rows in it and in the next
/// one.
void group_pixels(const std::uint8_t* HWY_RESTRICT upper, const std::uint8_t* HWY_RESTRICT lower,
                  int width, std::int32_t* HWY_RESTRICT groups) {
  for (int i = 0; i <= width + kLeft; ++i)
    groups[i] = static_cast<std::int32_t>(upper[i] | upper[i + 1] << 8 | lower[i] << 16 |
                                          static_cast<std::uint32_t>(lower[i + 1]) << 24);
}

/// Writes the column, counted from -kLeft, in which each position x + shift lies, and its distance
/// from it. Positions that are further out move to columns without ink.
HWY_INLINE void find_columns(const double* HWY_RESTRICT x, double shift, int width,
                             std::int32_t* HWY_RESTRICT columns, float* HWY_RESTRICT parts) {
  const hn::CappedTag<double, kMostLanes / 2> d;
  const hn::Rebind<float, decltype(d)> floats;
  const hn::Rebind<std::int32_t, decltype(d)> integers;
  const auto low = hn::Set(d, -1.0 * kLeft);
  const auto high = hn::Set(d, 1.0 * width);
  for (std::size_t i = 0; i < kRow; i += hn::Lanes(d)) {
    const auto at = hn::Add(hn::Load(d, x + i), hn::Set(d, shift));
    const auto limited = hn::Min(hn::Max(at, low), high);
    const auto column = hn::Floor(limited);
    hn::Store(hn::DemoteTo(floats, hn::Sub(limited, column)), floats, parts + i);
    hn::Store(hn::DemoteTo(integers, hn::Sub(column, low)), integers, columns + i);
  }
}

// The arithmetic of each pixel is that of patch_pixel(), in the same order and without fused
// multiply-add, so that the results are equal.
void resample_rows(const InkImage& image, const PatchTransform& t, float* u0) {
  const D d;
  const Integers integers;
  const std::size_t lanes = hn::Lanes(d);
  const int samples = samples_per_axis(t);
  constexpr int kCenter = kNeocognitronSide / 2;
  HWY_ALIGN double x0[kMostSamples][kPadded] = {};
  for (int i = 0; i < samples; ++i)
    for (std::size_t x = 0; x < kRow; ++x)
      x0[i][x] = t.x0 + t.xx * sample_position(static_cast<int>(x) - kCenter, i, samples);
  HWY_ALIGN std::int32_t columns[kPadded] = {};
  HWY_ALIGN float parts[kPadded] = {};
  HWY_ALIGN float sums[kPadded];
  std::uint8_t rows[2][kMaxGroupedWidth + 2 * kMargin];
  std::int32_t groups[kMaxGroupedWidth + kLeft + 1];
  int grouped = -2;  // the upper row of the groups
  const float scale = 1.0f / (255.0f * static_cast<float>(samples * samples));
  for (int y = 0; y < kNeocognitronSide; ++y) {
    std::fill_n(sums, kPadded, 0.0f);
    for (int j = 0; j < samples; ++j) {
      const double dy = sample_position(y - kCenter, j, samples);
      const double at = t.y0 + t.yy * dy;
      if (!(at >= -1.0 && at < image.height)) continue;
      const double row = std::floor(at);
      const auto upper = static_cast<int>(row);
      if (upper != grouped) {
        copy_row(image, upper, rows[0]);
        copy_row(image, upper + 1, rows[1]);
        group_pixels(rows[0], rows[1], image.width, groups);
        grouped = upper;
      }
      const auto fy = hn::Set(d, static_cast<float>(at - row));
      const auto one = hn::Set(d, 1.0f);
      const auto rest_y = hn::Sub(one, fy);
      const double shift = t.xy * dy;
      for (int i = 0; i < samples; ++i) {
        find_columns(x0[i], shift, image.width, columns, parts);
        for (std::size_t x = 0; x < kRow; x += lanes) {
          const auto group = hn::GatherIndex(integers, groups, hn::Load(integers, columns + x));
          const auto fx = hn::Load(d, parts + x);
          const auto rest_x = hn::Sub(one, fx);
          const auto high = hn::Add(hn::Mul(level(group, 0), rest_x), hn::Mul(level(group, 1), fx));
          const auto low = hn::Add(hn::Mul(level(group, 2), rest_x), hn::Mul(level(group, 3), fx));
          const auto sample = hn::Add(hn::Mul(high, rest_y), hn::Mul(low, fy));
          hn::Store(hn::Add(hn::Load(d, sums + x), sample), d, sums + x);
        }
      }
    }
    float* const out = u0 + static_cast<std::size_t>(y) * kRow;
    for (std::size_t x = 0; x < kRow; ++x) out[x] = sums[x] * scale;
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {
namespace {

HWY_EXPORT(resample_rows);

}  // namespace

bool find_transform(const InkImage& image, const PatchNormalization& normalization,
                    PatchTransform& transform) noexcept {
  InkSums sums;
  int darkest = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int ink = image.at(x, y);
      darkest = std::max(darkest, ink);
      sums.add(ink, x - image.width / 2, y - image.height / 2);
    }
  }
  if (darkest == 0) return false;
  const InkCenter center = ink_center(sums, image.width, image.height, normalization.deslant);
  InkExtent extent;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      if (counts_for_size(image.at(x, y), darkest)) extent.add(center.upright(x, y), y);
  transform = patch_transform(center, extent, normalization.extent);
  return true;
}

void resample(const InkImage& image, const PatchTransform& transform, float* u0) noexcept {
  // Without rotation, a row of U0 lies on a row of the image.
  if (transform.yx == 0.0 && image.width <= kMaxGroupedWidth) {
    HWY_DYNAMIC_DISPATCH(resample_rows)(image, transform, u0);
    return;
  }
  const int samples = samples_per_axis(transform);
  const auto ink = [&image](int x, int y) { return image.at(x, y); };
  for (int y = 0; y < kNeocognitronSide; ++y)
    for (int x = 0; x < kNeocognitronSide; ++x)
      u0[y * kNeocognitronSide + x] =
          patch_pixel(ink, image.width, image.height, transform, samples, x, y);
}

}  // namespace ocellus::detail
#endif  // HWY_ONCE
