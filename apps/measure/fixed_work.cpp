#include "apps/measure/fixed_work.h"

#include "neocognitron/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "apps/measure/fixed_work.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::app::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds `count` of `rows` rows of `width` weights, in an order without a pattern.
void add_rows(const std::uint16_t* HWY_RESTRICT weights, std::size_t rows, std::size_t width,
              std::size_t count, float* HWY_RESTRICT sums) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < count; ++i) {
    random = random * 1664525u + 1013904223u;
    const std::uint16_t* HWY_RESTRICT const row = weights + (random >> 8) % rows * width;
    const auto value = hn::Set(d, static_cast<float>(random >> 8) * 0x1p-24f);
    for (std::size_t k = 0; k < width; k += lanes) {
#if HWY_TARGET == HWY_SCALAR
      const auto weight = hn::Set(d, detail::float_from_half(row[k]));
#else
      const hn::Rebind<hwy::float16_t, decltype(d)> half;
      const auto weight =
          hn::PromoteTo(d, hn::Load(half, reinterpret_cast<const hwy::float16_t*>(row + k)));
#endif
      hn::Store(hn::MulAdd(value, weight, hn::Load(d, sums + k)), d, sums + k);
    }
  }
}

}  // namespace
}  // namespace ocellus::app::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::app {
namespace {

HWY_EXPORT(add_rows);

}  // namespace

FixedWork::FixedWork() {
  std::uint32_t random = 7;
  const auto next = [&random] {
    random = random * 1664525u + 1013904223u;
    return random >> 8;
  };
  for (std::uint16_t& weight : weights_)
    weight = detail::half_from_float(static_cast<float>(next()) * 0x1p-24f);
  for (std::uint8_t& pixel : pixels_) pixel = static_cast<std::uint8_t>(next() >> 16);
}

std::uint32_t FixedWork::run() {
  constexpr std::size_t kAdded = 40000;
  sums_.fill(0.0f);
  HWY_DYNAMIC_DISPATCH(add_rows)(weights_.data(), kRows, kWidth, kAdded, sums_.data());
  auto found = static_cast<std::uint32_t>(sums_[3]);
  columns_.fill(0);
  // Pixels below the mean of those above them. The branch does not follow a pattern.
  for (std::size_t y = 0; y < kSide; ++y) {
    const std::uint8_t* const row = pixels_.data() + y * kSide;
    std::uint32_t run = 0;
    for (std::size_t x = 0; x < kSide; ++x) {
      columns_[x] += row[x];
      if (row[x] * (y + 1) < columns_[x]) {
        ++run;
      } else {
        found += run * run;
        run = 0;
      }
    }
  }
  return found;
}

}  // namespace ocellus::app
#endif
