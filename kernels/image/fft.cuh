// The passes of a Fourier transform in shared memory, on kWidth arrays at once: element i of array
// c is at place (i + gaps) kWidth + c.
#pragma once

#include "kernels/image/butterfly.h"
#include "kernels/image/fft.h"

namespace ocellus::cuda {

template <int kWidth>
class BlockFft {
 public:
  __device__ BlockFft(const DeviceFft& fft, const Complex32* roots, Complex32* shared)
      : fft_(fft), roots_(roots), shared_(shared) {}

  /// Runs all but the last pass. `load(i, c)` gives element i of array c.
  template <typename Load>
  __device__ void begin_forward(Load&& load) {
    run_pass<false>(fft_.pass[0], load, [&](int i, int c, Complex32 value) { at(i, c) = value; });
    for (int p = 1; p < fft_.passes - 1; ++p) run_shared_pass<false>(fft_.pass[p]);
  }

  /// Runs the last pass. `use(e, t, c)` takes the results e[radix] of butterfly t of array c.
  template <typename Use>
  __device__ void end_forward(Use&& use) {
    with_device_radix(last().radix, [&]<int kRadix>(std::integral_constant<int, kRadix>) {
      for_butterflies(last(), [&](int t, int c) {
        Complex32 e[kRadix];
        Complex32* const from = last_butterfly<kRadix>(t, c);
#pragma unroll
        for (int s = 0; s < kRadix; ++s) e[s] = from[gap<kRadix>(s) * kWidth];
        butterfly<kRadix, 1, false>(e);
        use(e, t, c);
      });
    });
  }

  /// Runs the first pass: `load(e, t, c)` fills the elements of butterfly t.
  template <typename Load>
  __device__ void begin_inverse(Load&& load) {
    with_device_radix(last().radix, [&]<int kRadix>(std::integral_constant<int, kRadix>) {
      for_butterflies(last(), [&](int t, int c) {
        Complex32 e[kRadix];
        load(e, t, c);
        butterfly<kRadix, 1, true>(e);
        put_last(e, t, c);
      });
    });
    __syncthreads();
  }

  /// `end_forward` and `begin_inverse` in one. `change(e, t, c)` changes the frequencies in
  /// between.
  template <typename Change>
  __device__ void turn(Change&& change) {
    end_forward([&]<int kRadix>(Complex32(&e)[kRadix], int t, int c) {
      change(e, t, c);
      butterfly<kRadix, 1, true>(e);
      put_last(e, t, c);
    });
    __syncthreads();
  }

  /// Runs all passes that `begin_inverse` or `turn` left. `store(i, c, value)` takes element i.
  template <typename Store>
  __device__ void end_inverse(Store&& store) {
    for (int p = fft_.passes - 2; p > 0; --p) run_shared_pass<true>(fft_.pass[p]);
    run_pass<true>(
        fft_.pass[0], [&](int i, int c) { return at(i, c); }, store);
  }

 private:
  __device__ const DeviceFftPass& last() const {
    return fft_.pass[fft_.passes - 1];
  }
  __device__ Complex32& at(int i, int c) const {
    return shared_[(i + (i >> fft_.shift)) * kWidth + c];
  }

  template <int kRadix>
  __device__ static constexpr int gap(int s) {
    constexpr int kShift = gap_shift(kRadix);
    return s + (s >> kShift);
  }
  template <int kRadix>
  __device__ Complex32* last_butterfly(int t, int c) const {
    return shared_ + gap<kRadix>(t * kRadix) * kWidth + c;
  }
  template <int kRadix>
  __device__ void put_last(const Complex32 (&e)[kRadix], int t, int c) const {
    Complex32* const to = last_butterfly<kRadix>(t, c);
#pragma unroll
    for (int s = 0; s < kRadix; ++s) to[gap<kRadix>(s) * kWidth] = e[s];
  }

  template <typename Run>
  __device__ static void for_butterflies(const DeviceFftPass& pass, Run&& run) {
    const int count = pass.butterflies * kWidth;
    for (int u = threadIdx.x; u < count; u += blockDim.x) run(u / kWidth, u % kWidth);
  }

  /// Multiplies element s by the power s of `root`. The products are few roundings deep.
  template <int kRadix>
  __device__ static void twist(Complex32 (&e)[kRadix], Complex32 root) {
    Complex32 power[kRadix];
    power[1] = root;
#pragma unroll
    for (int s = 2; s < kRadix; ++s) power[s] = power[s / 2] * power[s - s / 2];
#pragma unroll
    for (int s = 1; s < kRadix; ++s) e[s] = e[s] * power[s];
  }

  template <int kRadix, bool kInverse>
  __device__ static void compute(Complex32 (&e)[kRadix], Complex32 root) {
    if constexpr (kInverse) {
      twist(e, conjugate(root));
      butterfly<kRadix, 1, true>(e);
    } else {
      butterfly<kRadix, 1, false>(e);
      twist(e, root);
    }
  }

  /// The first pass of the forward and the last one of the inverse transform: one block.
  template <bool kInverse, typename Load, typename Store>
  __device__ void run_pass(const DeviceFftPass& pass, Load&& load, Store&& store) {
    with_device_radix(pass.radix, [&]<int kRadix>(std::integral_constant<int, kRadix>) {
      for_butterflies(pass, [&](int t, int c) {
        Complex32 e[kRadix];
#pragma unroll
        for (int s = 0; s < kRadix; ++s) e[s] = load(t + s * pass.part, c);
        compute<kRadix, kInverse>(e, root_at(pass.roots + t));
#pragma unroll
        for (int s = 0; s < kRadix; ++s) store(t + s * pass.part, c, e[s]);
      });
    });
    __syncthreads();
  }

  /// A pass in between. The part is a multiple of the last radix, so gaps are linear in s.
  template <bool kInverse>
  __device__ void run_shared_pass(const DeviceFftPass& pass) {
    with_device_radix(pass.radix, [&]<int kRadix>(std::integral_constant<int, kRadix>) {
      const int step = (pass.part + (pass.part >> fft_.shift)) * kWidth;
      for_butterflies(pass, [&](int t, int c) {
        const int number = static_cast<int>(__umulhi(static_cast<unsigned>(t), pass.division));
        const int j = t - number * pass.part;
        Complex32* const from = &at(number * pass.part * kRadix + j, c);
        Complex32 e[kRadix];
#pragma unroll
        for (int s = 0; s < kRadix; ++s) e[s] = from[s * step];
        compute<kRadix, kInverse>(e, root_at(pass.roots + j));
#pragma unroll
        for (int s = 0; s < kRadix; ++s) from[s * step] = e[s];
      });
    });
    __syncthreads();
  }

  __device__ Complex32 root_at(int i) const {
    const float2 root = __ldg(reinterpret_cast<const float2*>(roots_) + i);
    return {root.x, root.y};
  }

  const DeviceFft& fft_;
  const Complex32* roots_;
  Complex32* shared_;
};

}  // namespace ocellus::cuda
