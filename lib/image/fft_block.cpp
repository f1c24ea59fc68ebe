#include "image/fft_block.h"

#include <cstddef>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/fft_block.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kFftSequences>;
using V = hn::Vec<D>;

/// One complex number of each lane.
struct C {
  V re;
  V im;

  // An implicit constructor has no target attribute and cannot inline that of V, which on ARM is
  // not trivial.
  HWY_INLINE C() {}
  HWY_INLINE C(V real, V imaginary) : re(real), im(imaginary) {}
};

HWY_INLINE C add(C a, C b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
HWY_INLINE C sub(C a, C b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}

/// a (re + i im)
HWY_INLINE C multiply(C a, V re, V im) {
  return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.im, re, hn::Mul(a.re, im))};
}
/// a (re - i im)
HWY_INLINE C multiply_conjugate(C a, V re, V im) {
  return {hn::MulAdd(a.im, im, hn::Mul(a.re, re)), hn::NegMulAdd(a.re, im, hn::Mul(a.im, re))};
}

/// a exp(-2 pi i k / r) forward, a exp(+2 pi i k / r) inverse.
template <int kRadix, int kIndex, bool kInverse>
HWY_INLINE C turn(C a) {
  constexpr int kTurn = kIndex % kRadix;
  const D d;
  if constexpr (kTurn == 0) {
    return a;
  } else if constexpr (kTurn * 8 == kRadix || kTurn * 8 == 3 * kRadix) {
    // The angle is 45 or 135 degrees: cos and sin have the same magnitude.
    const V c = hn::Set(d, FftRoot<8, 1>::kCos);
    const V sum = hn::Mul(hn::Add(a.re, a.im), c);
    const V difference = hn::Mul(hn::Sub(a.im, a.re), c);
    constexpr bool kFirst = kTurn * 8 == kRadix;
    if constexpr (!kInverse) {
      if constexpr (kFirst) return {sum, difference};
      return {difference, hn::Neg(sum)};
    } else {
      if constexpr (kFirst) return {hn::Neg(difference), sum};
      return {hn::Neg(sum), hn::Neg(difference)};
    }
  } else if constexpr (kTurn * 4 == kRadix) {
    if constexpr (kInverse) return {hn::Neg(a.im), a.re};
    return {a.im, hn::Neg(a.re)};
  } else {
    const V re = hn::Set(d, FftRoot<kRadix, kTurn>::kCos);
    const V im = hn::Set(d, FftRoot<kRadix, kTurn>::kSin);
    return kInverse ? multiply(a, re, im) : multiply_conjugate(a, re, im);
  }
}

/// The transform of kRadix elements, in natural order.
template <int kRadix, bool kInverse>
struct Butterfly;

template <bool kInverse>
struct Butterfly<1, kInverse> {
  static HWY_INLINE void run(C*) {}
};

template <bool kInverse>
struct Butterfly<2, kInverse> {
  static HWY_INLINE void run(C* e) {
    const C a = e[0];
    e[0] = add(a, e[1]);
    e[1] = sub(a, e[1]);
  }
};

template <bool kInverse>
struct Butterfly<4, kInverse> {
  static HWY_INLINE void run(C* e) {
    const C a = add(e[0], e[2]);
    const C b = sub(e[0], e[2]);
    const C c = add(e[1], e[3]);
    const C d = kInverse ? sub(e[3], e[1]) : sub(e[1], e[3]);
    e[0] = add(a, c);
    e[1] = {hn::Add(b.re, d.im), hn::Sub(b.im, d.re)};
    e[2] = sub(a, c);
    e[3] = {hn::Sub(b.re, d.im), hn::Add(b.im, d.re)};
  }
};

/// An odd prime radix. The cosines are the same for elements k and r - k, the sines opposite.
template <int kRadix, bool kInverse>
struct Butterfly {
  static constexpr int kPairs = kRadix / 2;

  template <int kOut, int kPair>
  static HWY_INLINE void add_pair(const C* sums, const C* differences, C& even, C& odd) {
    const D d;
    constexpr int kTurn = kOut * kPair % kRadix;
    const V re = hn::Set(d, FftRoot<kRadix, kTurn>::kCos);
    const V im = hn::Set(d, FftRoot<kRadix, kTurn>::kSin);
    even.re = hn::MulAdd(sums[kPair].re, re, even.re);
    even.im = hn::MulAdd(sums[kPair].im, re, even.im);
    if constexpr (kPair == 1) {
      odd = {hn::Mul(differences[kPair].re, im), hn::Mul(differences[kPair].im, im)};
    } else {
      odd.re = hn::MulAdd(differences[kPair].re, im, odd.re);
      odd.im = hn::MulAdd(differences[kPair].im, im, odd.im);
    }
    if constexpr (kPair < kPairs) add_pair<kOut, kPair + 1>(sums, differences, even, odd);
  }

  template <int kOut>
  static HWY_INLINE void outputs(C first, const C* sums, const C* differences, C* e) {
    C even = first;
    C odd;
    add_pair<kOut, 1>(sums, differences, even, odd);
    constexpr int kMinus = kInverse ? kRadix - kOut : kOut;
    e[kMinus] = {hn::Add(even.re, odd.im), hn::Sub(even.im, odd.re)};
    e[kRadix - kMinus] = {hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)};
    if constexpr (kOut < kPairs) outputs<kOut + 1>(first, sums, differences, e);
  }

  static HWY_INLINE void run(C* e) {
    C sums[kPairs + 1];
    C differences[kPairs + 1];
    const C first = e[0];
    C total = first;
    for (int k = 1; k <= kPairs; ++k) {
      sums[k] = add(e[k], e[kRadix - k]);
      differences[k] = sub(e[k], e[kRadix - k]);
      total = add(total, sums[k]);
    }
    e[0] = total;
    outputs<1>(first, sums, differences, e);
  }
};

/// A radix of kFirst * kSecond: transforms of both lengths with turns between them.
template <int kFirst, int kSecond, bool kInverse>
struct CompositeButterfly {
  static constexpr int kRadix = kFirst * kSecond;

  template <int kN>
  static HWY_INLINE void first(const C* e, C* out) {
    C part[kFirst];
    for (int k = 0; k < kFirst; ++k) part[k] = e[kSecond * k + kN];
    Butterfly<kFirst, kInverse>::run(part);
    turn_part<kN, 0>(part, out);
    if constexpr (kN + 1 < kSecond) first<kN + 1>(e, out);
  }
  template <int kN, int kK>
  static HWY_INLINE void turn_part(const C* part, C* out) {
    out[kK * kSecond + kN] = turn<kRadix, kN * kK, kInverse>(part[kK]);
    if constexpr (kK + 1 < kFirst) turn_part<kN, kK + 1>(part, out);
  }
  static HWY_INLINE void run(C* e) {
    C turned[kRadix];
    first<0>(e, turned);
    for (int k = 0; k < kFirst; ++k) {
      Butterfly<kSecond, kInverse>::run(turned + k * kSecond);
      for (int n = 0; n < kSecond; ++n) e[k + kFirst * n] = turned[k * kSecond + n];
    }
  }
};
template <bool kInverse>
struct Butterfly<8, kInverse> : CompositeButterfly<2, 4, kInverse> {};
template <bool kInverse>
struct Butterfly<9, kInverse> : CompositeButterfly<3, 3, kInverse> {};
template <bool kInverse>
struct Butterfly<16, kInverse> : CompositeButterfly<4, 4, kInverse> {};

HWY_INLINE C load(const float* at) {
  const D d;
  return {hn::Load(d, at), hn::Load(d, at + kFftSequences)};
}
HWY_INLINE void store(C value, float* at) {
  const D d;
  hn::Store(value.re, d, at);
  hn::Store(value.im, d, at + kFftSequences);
}

/// One pass, which splits blocks of `length` elements, or joins them. The last pass of the forward
/// transform, and the first one of the inverse, have no turns: `length` is the radix.
template <int kRadix, bool kInverse, bool kTurns>
HWY_INLINE void run_pass(int total, int length, const Complex32* HWY_RESTRICT roots,
                         float* HWY_RESTRICT data) {
  const D d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const int part = length / kRadix;
  const int step = total / length;
  const std::ptrdiff_t stride = std::ptrdiff_t{kFftElement} * part;
  for (int begin = 0; begin < total; begin += length) {
    for (int j = 0; j < part; ++j) {
      float* const first = data + std::ptrdiff_t{kFftElement} * (begin + j);
      for (int lane = 0; lane < kFftSequences; lane += lanes) {
        C e[kRadix];
        for (int s = 0; s < kRadix; ++s) e[s] = load(first + s * stride + lane);
        if constexpr (kTurns && kInverse) {
          for (int s = 1; s < kRadix; ++s) {
            const Complex32& root = roots[s * j * step];
            e[s] = multiply_conjugate(e[s], hn::Set(d, root.re), hn::Set(d, root.im));
          }
        }
        Butterfly<kRadix, kInverse>::run(e);
        if constexpr (kTurns && !kInverse) {
          for (int s = 1; s < kRadix; ++s) {
            const Complex32& root = roots[s * j * step];
            e[s] = multiply(e[s], hn::Set(d, root.re), hn::Set(d, root.im));
          }
        }
        for (int s = 0; s < kRadix; ++s) store(e[s], first + s * stride + lane);
      }
    }
  }
}

/// The last pass forward, the product, and the first pass of the inverse transform.
template <int kRadix>
HWY_NOINLINE void filter_pass(int total, const float* HWY_RESTRICT transfer,
                              float* HWY_RESTRICT data) {
  const auto lanes = static_cast<int>(hn::Lanes(D()));
  for (int begin = 0; begin < total; begin += kRadix) {
    const std::ptrdiff_t at = std::ptrdiff_t{kFftElement} * begin;
    for (int lane = 0; lane < kFftSequences; lane += lanes) {
      C e[kRadix];
      for (int s = 0; s < kRadix; ++s) e[s] = load(data + at + s * kFftElement + lane);
      Butterfly<kRadix, false>::run(e);
      for (int s = 0; s < kRadix; ++s) {
        const C h = load(transfer + at + s * kFftElement + lane);
        e[s] = multiply(e[s], h.re, h.im);
      }
      Butterfly<kRadix, true>::run(e);
      for (int s = 0; s < kRadix; ++s) store(e[s], data + at + s * kFftElement + lane);
    }
  }
}

template <int kRadix, bool kInverse>
HWY_NOINLINE void any_pass(int total, int length, const Complex32* roots, float* data) {
  if (length == kRadix) return run_pass<kRadix, kInverse, false>(total, kRadix, roots, data);
  run_pass<kRadix, kInverse, true>(total, length, roots, data);
}

/// Calls `run` with the radix, one of these, as an integral constant.
template <int... kRadices, typename Run>
void with_one_of(int radix, const Run& run) {
  static_cast<void>(
      ((radix == kRadices && (run(std::integral_constant<int, kRadices>()), true)) || ...));
}
template <typename Run>
void with_radix(int radix, const Run& run) {
  with_one_of<16, 9, 8, 7, 5, 4, 3, 2, 1>(radix, run);
}

void run_forward(int radix, int total, int length, const Complex32* roots, float* data) {
  with_radix(radix, [&](auto r) { any_pass<r(), false>(total, length, roots, data); });
}
void run_inverse(int radix, int total, int length, const Complex32* roots, float* data) {
  with_radix(radix, [&](auto r) { any_pass<r(), true>(total, length, roots, data); });
}
void run_filter(int radix, int total, const float* transfer, float* data) {
  with_radix(radix, [&](auto r) { filter_pass<r()>(total, transfer, data); });
}

constexpr std::size_t kLanes = hn::MaxLanes(D());

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void transpose_lanes(const float* from, std::ptrdiff_t, float* to, std::ptrdiff_t) {
  *to = *from;
}

#else

/// Transposes 4 x 4 floats in each block of 128 bits.
HWY_INLINE void transpose_in_blocks(V* rows) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const auto low02 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low13 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high02 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high13 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
  rows[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low02, low13));
  rows[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low02, low13));
  rows[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high02, high13));
  rows[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high02, high13));
}

/// Exchanges the odd blocks of `a` with the even blocks of `b`. Vectors of 4 lanes have one block.
[[maybe_unused]] HWY_INLINE void exchange_blocks(V& a, V& b) {
  const V even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  a = even;
}

/// Transposes N x N floats, N being the number of lanes.
HWY_INLINE void transpose_lanes(const float* HWY_RESTRICT from, std::ptrdiff_t stride,
                                float* HWY_RESTRICT to, std::ptrdiff_t out_stride) {
  const D d;
  V a[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i)
    a[i] = hn::LoadU(d, from + static_cast<std::ptrdiff_t>(i) * stride);
  for (std::size_t i = 0; i < kLanes; i += 4) transpose_in_blocks(a + i);
  if constexpr (kLanes >= 8) {
    for (std::size_t i = 0; i < kLanes; i += 8)
      for (std::size_t k = i; k < i + 4; ++k) exchange_blocks(a[k], a[k + 4]);
  }
  if constexpr (kLanes >= 16) {
    for (std::size_t k = 0; k < 8; ++k) {
      const V low = hn::ConcatLowerLower(d, a[k + 8], a[k]);
      a[k + 8] = hn::ConcatUpperUpper(d, a[k + 8], a[k]);
      a[k] = low;
    }
  }
  for (std::size_t i = 0; i < kLanes; ++i)
    hn::StoreU(a[i], d, to + static_cast<std::ptrdiff_t>(i) * out_stride);
}

#endif

void transpose_tile(const float* HWY_RESTRICT from, std::ptrdiff_t stride, float* HWY_RESTRICT to,
                    std::ptrdiff_t out_stride) {
  constexpr auto kStep = static_cast<std::ptrdiff_t>(kLanes);
  for (std::ptrdiff_t y = 0; y < kFftSequences; y += kStep)
    for (std::ptrdiff_t x = 0; x < kFftSequences; x += kStep)
      transpose_lanes(from + y * stride + x, stride, to + x * out_stride + y, out_stride);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(run_forward);
HWY_EXPORT(run_inverse);
HWY_EXPORT(run_filter);
HWY_EXPORT(transpose_tile);

void transform_block(const FftPlan& plan, const Complex32* roots, float* block) noexcept {
  int length = plan.length;
  for (int p = 0; p < plan.passes; ++p) {
    const int radix = plan.radix[static_cast<std::size_t>(p)];
    HWY_DYNAMIC_DISPATCH(run_forward)(radix, plan.length, length, roots, block);
    length /= radix;
  }
}

void invert_block(const FftPlan& plan, const Complex32* roots, float* block) noexcept {
  int length = 1;
  for (int p = plan.passes - 1; p >= 0; --p) {
    const int radix = plan.radix[static_cast<std::size_t>(p)];
    length *= radix;
    HWY_DYNAMIC_DISPATCH(run_inverse)(radix, plan.length, length, roots, block);
  }
}

void filter_block(const FftPlan& plan, const Complex32* roots, const float* transfer,
                  float* block) noexcept {
  int length = plan.length;
  const int last = plan.passes - 1;
  for (int p = 0; p < last; ++p) {
    const int radix = plan.radix[static_cast<std::size_t>(p)];
    HWY_DYNAMIC_DISPATCH(run_forward)(radix, plan.length, length, roots, block);
    length /= radix;
  }
  HWY_DYNAMIC_DISPATCH(run_filter)(length, plan.length, transfer, block);
  for (int p = last - 1; p >= 0; --p) {
    const int radix = plan.radix[static_cast<std::size_t>(p)];
    length *= radix;
    HWY_DYNAMIC_DISPATCH(run_inverse)(radix, plan.length, length, roots, block);
  }
}

void transpose_tile(const float* from, std::ptrdiff_t stride, float* to,
                    std::ptrdiff_t out_stride) noexcept {
  HWY_DYNAMIC_DISPATCH(transpose_tile)(from, stride, to, out_stride);
}

}  // namespace ocellus::detail
#endif
