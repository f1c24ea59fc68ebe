#include "neocognitron/cpu/readout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "neocognitron/cpu/layers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neocognitron/cpu/readout.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kPlaneAlignment>;
using V = hn::Vec<D>;

float interpolate(const ClassReferences& references, const float* HWY_RESTRICT similarities,
                  float best) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(references.count);
  for (std::size_t i = 0; i < n; ++i) best = std::max(best, similarities[i]);
  float squared = best * best;
  for (std::size_t i = 0; i < n; ++i) {
    const float si = similarities[i];
    // With si as the larger one of the two, (6) is at most si sqrt(2 / (1 + g)).
    if (2.0f * si * si <= squared * (1.0f + references.smallest[i])) continue;
    const std::size_t row = i * static_cast<std::size_t>(references.stride);
    const float* HWY_RESTRICT const products = references.products + row;
    const float* HWY_RESTRICT const scales = references.scales + row;
    const V larger = hn::Set(d, si);
    const V zero = hn::Zero(d);
    V most = zero;
    for (std::size_t j = 0; j < n; j += lanes) {
      const V sj = hn::LoadU(d, similarities + j);
      // (6) as si^2 + ((sj - si g) / sqrt(1 - g^2))^2 for sj <= si; the term is 0 elsewhere.
      const V term =
          hn::Mul(hn::NegMulAdd(larger, hn::LoadU(d, products + j), sj), hn::LoadU(d, scales + j));
      most = hn::Max(most, hn::IfThenElse(hn::Le(sj, larger), term, zero));
    }
    const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
    squared = std::max(squared, si * si + largest * largest);
  }
  return std::max(best, std::sqrt(squared));
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(interpolate);

float interpolation_scale(float product) noexcept {
  // Nearer vectors leave too few digits of the difference.
  constexpr float kLeast = 1e-3f;
  const float rest = 1.0f - product * product;
  return rest > kLeast ? 1.0f / std::sqrt(rest) : 0.0f;
}

float class_similarity(const ClassReferences& references, const float* similarities,
                       float best) noexcept {
  return HWY_DYNAMIC_DISPATCH(interpolate)(references, similarities, best);
}

}  // namespace ocellus::detail
#endif
