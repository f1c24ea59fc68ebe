// Random firing and learning of the minicolumns of a hypercolumn.
#include <cstddef>
#include <cstdint>

#include "cortical_network/hypercolumn.h"
#include "cortical_network/network_arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cortical_network/cpu/learn.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Upper halves of the products of 32-bit numbers.
template <typename V>
V upper_product(V a, V b) {
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  return hn::Set(d, static_cast<std::uint32_t>(product >> 32));
#else
  const hn::RepartitionToWide<decltype(d)> d64;
  const auto odd = [&](V v) { return hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, v))); };
  const auto even_product = hn::BitCast(d, hn::ShiftRight<32>(hn::MulEven(a, b)));
  return hn::OddEven(hn::BitCast(d, hn::MulEven(odd(a), odd(b))), even_product);
#endif
}

/// philox() of philox.h for a vector of counters.
template <typename V>
void philox_of(std::uint64_t key, V (&counter)[4]) {
  const hn::DFromV<V> d;
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  const V m0 = hn::Set(d, kPhiloxMultiplier0);
  const V m1 = hn::Set(d, kPhiloxMultiplier1);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const V a_high = upper_product(counter[0], m0);
    const V a_low = hn::Mul(counter[0], m0);
    const V b_high = upper_product(counter[2], m1);
    const V b_low = hn::Mul(counter[2], m1);
    counter[0] = hn::Xor(hn::Xor(b_high, counter[1]), hn::Set(d, k0));
    counter[1] = b_low;
    counter[2] = hn::Xor(hn::Xor(a_high, counter[3]), hn::Set(d, k1));
    counter[3] = a_low;
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
}

void fire_all(const FiringCounter& counter, const std::uint32_t* firing, const std::uint8_t* wins,
              int minicolumns, std::uint32_t* fired) {
  // 4 words for each lane: kMinicolumnAlignment minicolumns for 8 lanes.
  const hn::CappedTag<std::uint32_t, kMinicolumnAlignment / 4> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::uint32_t words[kMinicolumnAlignment];
  HWY_ALIGN std::uint32_t probabilities[kMinicolumnAlignment];
  for (int begin = 0; begin < minicolumns; begin += kMinicolumnAlignment) {
    auto any = hn::Zero(d);
    for (std::size_t at = 0; at < kMinicolumnAlignment; at += lanes) {
      const auto count = hn::PromoteTo(di, hn::LoadU(d8, wins + begin + at));
      const auto probability = hn::GatherIndex(d, firing, count);
      hn::Store(probability, d, probabilities + at);
      any = hn::Or(any, probability);
    }
    std::uint32_t bits = 0;
    if (!hn::AllTrue(d, hn::Eq(any, hn::Zero(d)))) {
      for (std::size_t at = 0; at < kMinicolumnAlignment / 4; at += lanes) {
        hn::Vec<decltype(d)> of[4] = {
            hn::Set(d, static_cast<std::uint32_t>(counter.step)),
            hn::Set(d, static_cast<std::uint32_t>(counter.step >> 32)),
            hn::Set(d, counter.hypercolumn),
            hn::Iota(d, static_cast<std::uint32_t>(begin / 4) + static_cast<std::uint32_t>(at))};
        philox_of(counter.seed, of);
        hn::StoreInterleaved4(of[0], of[1], of[2], of[3], d, words + 4 * at);
      }
      for (std::size_t at = 0; at < kMinicolumnAlignment; at += lanes) {
        const auto fires = hn::Lt(hn::Load(d, words + at), hn::Load(d, probabilities + at));
        std::uint8_t mask[8] = {};
        hn::StoreMaskBits(d, fires, mask);
        bits |= std::uint32_t{mask[0]} << at;
      }
    }
    fired[begin / kBitsOfWord] = bits;
  }
}

void learn_all(const LearningRates& rates, const std::uint8_t* pattern, int pitch,
               std::uint16_t* weights, std::uint32_t* strong, int words, int number,
               Minicolumn& minicolumn) {
  const hn::CappedTag<std::int32_t, kInputAlignment / 2> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, kCorticalWeightOne);
  const auto half = hn::Set(d, kCorticalWeightOne / 2);
  const auto weak_limit = hn::Set(d, kStrongWeight - 1);
  const auto omega_limit = hn::Set(d, kOmegaWeight);
  const auto potentiation = hn::Set(d, rates.potentiation);
  const auto depression = hn::Set(d, rates.depression);
  const auto full_limit = hn::Set(d, largest_unchanged(rates.potentiation));
  const auto empty_limit = hn::Set(d, largest_unchanged(rates.depression));
  auto omega = zero;
  auto strong_sum = zero;
  auto count = zero;
  auto settled = hn::Eq(zero, zero);
  for (std::size_t i = 0; i < static_cast<std::size_t>(pitch); i += lanes) {
    const auto old = hn::PromoteTo(d, hn::Load(d16, weights + i));
    const auto active = hn::Ne(hn::PromoteTo(d, hn::Load(d8, pattern + i)), zero);
    const auto value = hn::IfThenElse(active, hn::Sub(one, old), old);
    const auto factor = hn::IfThenElse(active, potentiation, depression);
    const auto change = hn::ShiftRight<15>(hn::Add(hn::Mul(value, factor), half));
    const auto weight = hn::IfThenElse(active, hn::Add(old, change), hn::Sub(old, change));
    hn::Store(hn::DemoteTo(d16, weight), d16, weights + i);
    const auto is_strong = hn::Gt(weight, weak_limit);
    omega = hn::Add(omega, hn::IfThenElseZero(hn::Gt(weight, omega_limit), weight));
    strong_sum = hn::Add(strong_sum, hn::IfThenElseZero(is_strong, weight));
    // A true mask is -1.
    count = hn::Sub(count, hn::VecFromMask(d, is_strong));
    const auto distance = hn::IfThenElse(is_strong, hn::Sub(one, weight), weight);
    const auto limit = hn::IfThenElse(is_strong, full_limit, empty_limit);
    settled = hn::AndNot(hn::Gt(distance, limit), settled);
    const auto crossed = hn::Xor(is_strong, hn::Gt(old, weak_limit));
    if (HWY_LIKELY(hn::AllFalse(d, crossed))) continue;
    std::uint8_t mask[8] = {};
    hn::StoreMaskBits(d, crossed, mask);
    for (std::size_t k = 0; k < lanes; ++k) {
      if ((mask[k / 8] >> (k % 8) & 1) == 0) continue;
      strong[(i + k) * static_cast<std::size_t>(words) +
             static_cast<std::size_t>(number / kBitsOfWord)] ^= 1u << (number % kBitsOfWord);
    }
  }
  minicolumn.omega = hn::GetLane(hn::SumOfLanes(d, omega));
  minicolumn.strong_sum = hn::GetLane(hn::SumOfLanes(d, strong_sum));
  minicolumn.strong = static_cast<std::uint16_t>(hn::GetLane(hn::SumOfLanes(d, count)));
  minicolumn.settled = hn::AllTrue(d, settled);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(fire_all);
HWY_EXPORT(learn_all);

void fire_at_random(const FiringCounter& counter, const std::uint32_t* firing,
                    const std::uint8_t* wins, int minicolumns, std::uint32_t* fired) noexcept {
  HWY_DYNAMIC_DISPATCH(fire_all)(counter, firing, wins, minicolumns, fired);
}

void learn(const LearningRates& rates, const std::uint8_t* pattern, int pitch,
           std::uint16_t* weights, std::uint32_t* strong, int words, int number,
           Minicolumn& minicolumn) noexcept {
  HWY_DYNAMIC_DISPATCH(learn_all)
  (rates, pattern, pitch, weights, strong, words, number, minicolumn);
}

}  // namespace ocellus::detail
#endif
