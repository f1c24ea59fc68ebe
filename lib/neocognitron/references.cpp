#include "neocognitron/references.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "neocognitron/cpu/layers.h"
#include "neocognitron/geometry.h"
#include "neocognitron/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neocognitron/references.cpp"
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

void widen(const std::uint16_t* HWY_RESTRICT from, std::size_t count, float* HWY_RESTRICT to) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D d;
  const hn::Rebind<hwy::float16_t, D> half;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto halves = hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from + i));
    hn::StoreU(hn::PromoteTo(d, halves), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = float_from_half(from[i]);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {
namespace {

std::size_t rows_of(const NeocognitronTable& table) noexcept {
  return weight_count(table, 3) / static_cast<std::size_t>(table.planes[3]);
}

HWY_EXPORT(interpolate);
HWY_EXPORT(widen);

}  // namespace

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

void ReferenceClasses::layout(const NeocognitronTable& table, LayoutBuilder& memory) noexcept {
  count_ = table.classes;
  positions_ = table.parameters.reference_side * table.parameters.reference_side;
  int first = 0;
  for (int c = 0; c < count_; ++c) {
    Class& own = classes_[static_cast<std::size_t>(c)];
    const int references = table.references[static_cast<std::size_t>(c)];
    const int stride = padded_planes(references);
    const std::size_t floats =
        static_cast<std::size_t>(references) * static_cast<std::size_t>(stride);
    own.first = first;
    own.products = memory.take<float>(floats);
    own.scales = memory.take<float>(floats);
    own.smallest = memory.take<float>(static_cast<std::size_t>(references));
    own.references = {references, stride, own.products, own.scales, own.smallest};
    first += references;
  }
}

void ReferenceClasses::score(const float* similarities, int stride, float* scores) const noexcept {
  std::fill_n(scores, count_, 0.0f);
  for (int p = 0; p < positions_; ++p) {
    const float* const at = similarities + p * stride;
    for (int c = 0; c < count_; ++c)
      scores[c] = class_similarity(references(c), at + first(c), scores[c]);
  }
}

bool ReferenceClasses::prepare(const NeocognitronTable& table,
                               const std::uint16_t* weights) noexcept {
  const CellWindow window = simple_window(table.parameters, 3);
  const std::size_t rows = rows_of(table);
  const auto all = static_cast<std::size_t>(table.planes[3]);
  const auto below = static_cast<std::size_t>(table.planes[2]);
  const int most = *std::max_element(table.references.begin(), table.references.end());
  // References whose inputs are listed together: the weights of a row lie side by side.
  constexpr std::size_t kListed = kPlaneAlignment;
  const std::size_t dense_floats = rows * static_cast<std::size_t>(padded_planes(most));
  static_assert(alignof(SimpleInput) <= alignof(float));
  const std::size_t bytes = dense_floats * sizeof(float) + kListed * rows * sizeof(SimpleInput);
  const std::unique_ptr<float, void (*)(void*)> work(
      static_cast<float*>(std::aligned_alloc(64, align_up(bytes, 64))), std::free);
  if (work == nullptr) return false;
  float* const dense = work.get();  // a(v, kappa, k) / b(k) of the class, [row][k]
  auto* const inputs = reinterpret_cast<SimpleInput*>(dense + dense_floats);
  for (int c = 0; c < count_; ++c) {
    const Class& own = classes_[static_cast<std::size_t>(c)];
    const auto n = static_cast<std::size_t>(own.references.count);
    const auto stride = static_cast<std::size_t>(own.references.stride);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint16_t* const from = weights + row * all + static_cast<std::size_t>(own.first);
      float* const to = dense + row * stride;
      HWY_DYNAMIC_DISPATCH(widen)(from, n, to);
      std::fill(to + n, to + stride, 0.0f);
    }
    for (std::size_t begin = 0; begin < n; begin += kListed) {
      const std::size_t end = std::min(begin + kListed, n);
      std::array<std::size_t, kListed> listed{};
      for (std::size_t row = 0; row < rows; ++row) {
        const float weight = window.tap[row / below].weight;
        for (std::size_t i = begin; i < end; ++i) {
          const float a = dense[row * stride + i];
          if (a == 0.0f) continue;
          inputs[(i - begin) * rows + listed[i - begin]++] = {static_cast<std::uint32_t>(row),
                                                              a / weight};
        }
      }
      for (std::size_t i = begin; i < end; ++i) {
        // g(i, j) = sum of a(i) a(j) / c.
        float* const products = own.products + i * stride;
        weighted_sums({inputs + (i - begin) * rows, listed[i - begin]}, dense,
                      own.references.stride, own.references.stride, products);
        own.smallest[i] = 1.0f;
        for (std::size_t j = 0; j < stride; ++j) {
          const bool pair = table.parameters.interpolate && j != i && j < n;
          own.scales[i * stride + j] = pair ? interpolation_scale(products[j]) : 0.0f;
          if (j != i && j < n) own.smallest[i] = std::min(own.smallest[i], products[j]);
        }
      }
    }
  }
  return true;
}

}  // namespace ocellus::detail
#endif
