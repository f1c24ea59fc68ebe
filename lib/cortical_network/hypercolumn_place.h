// The arrays of one hypercolumn.
#pragma once

#include <cstdint>

#include "cortical_network/hypercolumn.h"
#include "cortical_network/network_arithmetic.h"

namespace ocellus::detail {

inline constexpr int kWeightsOfLine = 64 / static_cast<int>(sizeof(std::uint16_t));

inline void prefetch(const void* at) noexcept {
  __builtin_prefetch(at);
}

struct ActiveSums {
  std::int32_t sum = 0;
  int strong = 0;
};

/// A level, a hypercolumn of it, and its arrays.
class Place {
 public:
  Place(const NetworkPlan& plan, int level, int hypercolumn, const NetworkArrays& arrays) noexcept
      : plan_(plan),
        arrays_(arrays),
        layout_(plan.layout.level(level)),
        level_(level),
        hypercolumn_(hypercolumn),
        slot_(hypercolumn + arrays.slot_shift),
        first_(plan.hierarchy.minicolumns_of(level, slot_)) {}

  const LevelLayout& layout() const noexcept { return layout_; }
  int stride() const noexcept { return plan_.hierarchy.level(level_).stride; }
  /// Counted over all levels.
  int number() const noexcept { return plan_.hierarchy.level(level_).first + hypercolumn_; }
  std::uint32_t* strong() const noexcept {
    return arrays_.strong + plan_.layout.strong_of(level_, slot_);
  }
  std::uint16_t* weights(int minicolumn) const noexcept {
    return arrays_.weights + plan_.layout.weights_of(level_, slot_, minicolumn);
  }
  Minicolumn* minicolumns() const noexcept { return arrays_.minicolumns + first_; }
  Minicolumn& minicolumn(int m) const noexcept { return minicolumns()[m]; }
  std::uint8_t* wins() const noexcept { return arrays_.wins + first_; }

  /// Active inputs with strong weights, and the sum of these.
  ActiveSums sums_of(int m, const std::uint16_t* active, int count) const noexcept {
    const std::uint16_t* const of = weights(m);
    ActiveSums sums;
    for (int i = 0; i < count; ++i) {
      const std::int32_t weight = of[active[i]];
      sums.sum += weight >= kStrongWeight ? weight : 0;
      sums.strong += weight >= kStrongWeight;
    }
    return sums;
  }

  /// g of a minicolumn from its weights.
  std::int64_t response_of(int m, const std::uint16_t* active, int count) const noexcept {
    const std::int32_t omega = minicolumn(m).omega;
    // Strong weights count in Omega.
    if (omega == 0) return 0;
    const ActiveSums sums = sums_of(m, active, count);
    return response(sums.sum, count - sums.strong, omega, plan_.threshold);
  }

  void prefetch_weights(int m) const noexcept {
    const std::uint16_t* const of = weights(m);
    for (int i = 0; i < layout_.pitch; i += kWeightsOfLine) prefetch(of + i);
  }
  void prefetch_weights(int m, const std::uint16_t* active, int count) const noexcept {
    if (count * kWeightsOfLine >= layout_.pitch) {
      prefetch_weights(m);
      return;
    }
    const std::uint16_t* const of = weights(m);
    for (int i = 0; i < count; ++i) prefetch(of + active[i]);
  }

 private:
  const NetworkPlan& plan_;
  const NetworkArrays& arrays_;
  const LevelLayout& layout_;
  int level_;
  int hypercolumn_;
  int slot_;
  std::size_t first_;
};

}  // namespace ocellus::detail
