#include "bench/limits/limits_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limits/limits_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h, which it includes once per target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::app::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::uint64_t read_block_simd(const void* block, std::size_t bytes) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  // Four streams, a quarter of the block apart, so that the prefetchers of one core keep more cache
  // lines in flight.
  const std::size_t quarter = bytes / 4 / sizeof(std::uint64_t);
  const auto* const words = static_cast<const std::uint64_t*>(block);
  auto a = hn::Zero(d);
  auto b = hn::Zero(d);
  auto c = hn::Zero(d);
  auto e = hn::Zero(d);
  for (std::size_t i = 0; i < quarter; i += lanes) {
    a = hn::Add(a, hn::Load(d, words + i));
    b = hn::Add(b, hn::Load(d, words + quarter + i));
    c = hn::Add(c, hn::Load(d, words + 2 * quarter + i));
    e = hn::Add(e, hn::Load(d, words + 3 * quarter + i));
  }
  // Summed as unsigned numbers. The overflow of the compiler's own reduction of signed numbers
  // would be undefined.
  HWY_ALIGN std::uint64_t parts[hn::MaxLanes(d)];
  hn::Store(hn::Add(hn::Add(a, b), hn::Add(c, e)), d, parts);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lanes; ++i) sum += parts[i];
  return sum;
}

std::uint64_t multiply_add_simd(std::int64_t rounds, double& flops) {
  const hn::ScalableTag<float> d;
  // Ten chains hide a latency of 4 cycles on two units, and fit in sixteen registers.
  const auto factor = hn::Set(d, 0.999999f);
  const auto term = hn::Set(d, 1e-6f);
  auto a = hn::Iota(d, 1), b = hn::Iota(d, 2), c = hn::Iota(d, 3), e = hn::Iota(d, 4),
       f = hn::Iota(d, 5);
  auto g = hn::Iota(d, 6), h = hn::Iota(d, 7), i = hn::Iota(d, 8), j = hn::Iota(d, 9),
       k = hn::Iota(d, 10);
  for (std::int64_t round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, factor, term);
    b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term);
    g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term);
    i = hn::MulAdd(i, factor, term);
    j = hn::MulAdd(j, factor, term);
    k = hn::MulAdd(k, factor, term);
  }
  flops = 2.0 * 10.0 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)),
                           hn::Add(hn::Add(hn::Add(f, g), hn::Add(h, i)), hn::Add(j, k)));
  return static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

}  // namespace
}  // namespace ocellus::app::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::app {

HWY_EXPORT(read_block_simd);
HWY_EXPORT(multiply_add_simd);

std::uint64_t read_block(const void* block, std::size_t bytes) {
  return HWY_DYNAMIC_DISPATCH(read_block_simd)(block, bytes);
}
std::uint64_t multiply_add(std::int64_t rounds, double& flops) {
  return HWY_DYNAMIC_DISPATCH(multiply_add_simd)(rounds, flops);
}

}  // namespace ocellus::app
#endif
