#include "optical_flow/cpu/ring_filter.h"

#include <hwy/cache_control.h>

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/ring_filter.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRingBlock>;
using V = hn::Vec<D>;

// Rows of the image whose sums are kept in registers at once, for three kernels.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kRowsAtOnce = 5;  // 32 registers
#else
constexpr int kRowsAtOnce = 3;  // 16 registers
#endif

// Blocks by which the bank and the ring are prefetched. Floats and halves have about the same
// number of bytes in flight.
template <typename T>
constexpr std::size_t kAheadBlocks = sizeof(T) == 4 ? 1 : 2;

HWY_INLINE V load(D d, const float* from) {
  return hn::Load(d, from);
}
HWY_INLINE V load(D d, const hwy::float16_t* from) {
  const hn::Rebind<hwy::float16_t, D> dh;
  return hn::PromoteTo(d, hn::Load(dh, from));
}
HWY_INLINE void store(D d, V v, float* to) {
  hn::Store(v, d, to);
}
HWY_INLINE void store(D, V v, hwy::float16_t* to) {
  const hn::Rebind<hwy::float16_t, D> dh;
  hn::Store(hn::DemoteTo(dh, v), dh, to);
}

/// Keeps a value in a register. Otherwise the compiler repeats the load as an operand of each
/// multiply-add. A load that crosses a cache line costs as much as two multiply-adds.
HWY_INLINE void keep([[maybe_unused]] V& v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  asm("" : "+v"(v.raw));
#endif
}

/// Prefetches the taps of a later block while the present block is computed, one tap of each kernel
/// at a time. The hardware prefetcher does not use the full memory bandwidth on streams that are
/// read this slowly.
template <int kKernels>
struct Ahead {
  const char* at;
  std::size_t per_kernel;  // bytes
  std::size_t step;        // bytes
  std::size_t left;        // bytes

  HWY_INLINE void fetch() {
    if (left == 0) return;
    for (int g = 0; g < kKernels; ++g) hwy::Prefetch(at + static_cast<std::size_t>(g) * per_kernel);
    at += step;
    left -= step;
  }
};

/// sum[g] += sum over j < kRows of wy[g][j] times sum over i < nx of wx[g][i] image[j][i], for
/// kKernels kernels that read the same pixels.
template <int kKernels, int kRows>
HWY_INLINE void add_rows(const float* const* HWY_RESTRICT image, int x, int nx,
                         const float* const* HWY_RESTRICT wx, const float* const* HWY_RESTRICT wy,
                         Ahead<kKernels>& ahead, V* HWY_RESTRICT sum) {
  const D d;
  V rows[kKernels][kRows];
  for (int g = 0; g < kKernels; ++g) {
    for (int j = 0; j < kRows; ++j) rows[g][j] = hn::Zero(d);
  }
  for (int i = 0; i < nx; ++i) {
    V w[kKernels];
    ahead.fetch();
    for (int g = 0; g < kKernels; ++g) w[g] = hn::Load(d, wx[g] + i * kRingBlock);
    for (int j = 0; j < kRows; ++j) {
      V pixel = hn::LoadU(d, image[j] + x + i);
      keep(pixel);
      for (int g = 0; g < kKernels; ++g) rows[g][j] = hn::MulAdd(w[g], pixel, rows[g][j]);
    }
  }
  for (int j = 0; j < kRows; ++j) {
    for (int g = 0; g < kKernels; ++g)
      sum[g] = hn::MulAdd(hn::Load(d, wy[g] + j * kRingBlock), rows[g][j], sum[g]);
  }
}

template <int kKernels>
HWY_INLINE void spatial_sums(const RingRow& row, int x, const float* const* HWY_RESTRICT wx,
                             const float* const* HWY_RESTRICT wy_start, Ahead<kKernels>& ahead,
                             V* HWY_RESTRICT sum) {
  const float* wy[kKernels];
  for (int g = 0; g < kKernels; ++g) wy[g] = wy_start[g];
  int j = 0;
  const auto step = [&](int rows) HWY_ATTR {
    j += rows;
    for (int g = 0; g < kKernels; ++g) wy[g] += rows * kRingBlock;
  };
  for (; j + kRowsAtOnce <= row.ny; step(kRowsAtOnce))
    add_rows<kKernels, kRowsAtOnce>(row.image + j, x, row.nx, wx, wy, ahead, sum);
  for (; j + 2 <= row.ny; step(2))
    add_rows<kKernels, 2>(row.image + j, x, row.nx, wx, wy, ahead, sum);
  for (; j < row.ny; step(1)) add_rows<kKernels, 1>(row.image + j, x, row.nx, wx, wy, ahead, sum);
}

/// Returns the spatial taps as floats. Halves are converted once into `room`, because every group
/// of rows reads them again.
HWY_INLINE const float* spatial_taps(const float* taps, int, float*) {
  return taps;
}
HWY_INLINE const float* spatial_taps(const hwy::float16_t* taps, int count, float* room) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < count * kRingBlock; i += lanes) hn::Store(load(d, taps + i), d, room + i);
  return room;
}

/// Computes kKernels consecutive (convolution, term) pairs of one block.
template <int kKernels, typename T>
HWY_INLINE void block_kernels(const RingRow& row, int pair, int block, const T* HWY_RESTRICT taps,
                              T* HWY_RESTRICT ring) {
  const std::size_t pairs = static_cast<std::size_t>(row.convolutions * row.terms);
  const std::size_t taps_block_bytes =
      static_cast<std::size_t>((row.nx + row.ny + row.nt) * kRingBlock) * pairs * sizeof(T);
  const std::size_t ring_ahead =
      kAheadBlocks<T> * pairs * static_cast<std::size_t>(row.nt * kRingBlock);
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int per_pair = (row.nx + row.ny + row.nt) * kRingBlock;
  HWY_ALIGN float room[kKernels][2 * kMaxKernelTaps * kRingBlock];
  const float* spatial[kKernels];
  for (int g = 0; g < kKernels; ++g)
    spatial[g] = spatial_taps(taps + g * per_pair, row.nx + row.ny, room[g]);

  // In steps of a cache line or, for halves, of half a line. The second prefetch of a line costs
  // almost nothing.
  const std::size_t tap_bytes = kRingBlock * sizeof(T);
  const std::size_t pair_bytes = static_cast<std::size_t>(per_pair) * sizeof(T);
  Ahead<kKernels> ahead = {reinterpret_cast<const char*>(taps) + kAheadBlocks<T> * taps_block_bytes,
                           pair_bytes, tap_bytes, pair_bytes};
  for (int lane = 0; lane < kRingBlock; lane += lanes) {
    const float* wx[kKernels];
    const float* wy[kKernels];
    V sum[kKernels];
    for (int g = 0; g < kKernels; ++g) {
      wx[g] = spatial[g] + lane;
      wy[g] = wx[g] + row.nx * kRingBlock;
      sum[g] = hn::Zero(d);
    }
    spatial_sums<kKernels>(row, block * kRingBlock + lane, wx, wy, ahead, sum);

    for (int g = 0; g < kKernels; ++g) {
      const T* wt = taps + g * per_pair + (row.nx + row.ny) * kRingBlock + lane;
      T* past = ring + g * row.nt * kRingBlock + lane;
      // Stored before the sum over time, because this sum reads the newest value in place of
      // missing frames.
      store(d, sum[g], past + row.slot[0] * kRingBlock);
      V even = hn::Mul(load(d, wt), sum[g]);
      V odd = hn::Zero(d);
      int tau = 1;
      for (; tau + 1 < row.nt; tau += 2) {
        hwy::Prefetch(past + ring_ahead + row.slot[tau] * kRingBlock);
        hwy::Prefetch(past + ring_ahead + row.slot[tau + 1] * kRingBlock);
        if (g == 0) ahead.fetch();
        even = hn::MulAdd(load(d, wt + tau * kRingBlock),
                          load(d, past + row.slot[tau] * kRingBlock), even);
        odd = hn::MulAdd(load(d, wt + (tau + 1) * kRingBlock),
                         load(d, past + row.slot[tau + 1] * kRingBlock), odd);
      }
      if (tau < row.nt)
        even = hn::MulAdd(load(d, wt + tau * kRingBlock),
                          load(d, past + row.slot[tau] * kRingBlock), even);
      const int convolution = (pair + g) / row.terms;
      const int term = (pair + g) % row.terms;
      float* out = row.out[convolution] + block * kRingBlock + lane;
      V result = hn::Add(even, odd);
      if (term != 0) result = hn::Add(result, hn::Load(d, out));
      hn::Store(result, d, out);
    }
  }
}

template <typename T>
HWY_INLINE void filter_row(const RingRow& row) {
  const int pairs = row.convolutions * row.terms;
  const std::size_t taps_per_pair = static_cast<std::size_t>(row.nx + row.ny + row.nt) * kRingBlock;
  const std::size_t ring_per_pair = static_cast<std::size_t>(row.nt) * kRingBlock;
  const T* taps = static_cast<const T*>(row.taps);
  T* ring = static_cast<T*>(row.ring);
  for (int block = 0; block < row.blocks; ++block) {
    int pair = 0;
    const auto step = [&](int count) HWY_ATTR {
      pair += count;
      taps += static_cast<std::size_t>(count) * taps_per_pair;
      ring += static_cast<std::size_t>(count) * ring_per_pair;
    };
    while (pair + 3 <= pairs) {
      block_kernels<3>(row, pair, block, taps, ring);
      step(3);
    }
    if (pair + 2 <= pairs) {
      block_kernels<2>(row, pair, block, taps, ring);
      step(2);
    }
    if (pair < pairs) {
      block_kernels<1>(row, pair, block, taps, ring);
      step(1);
    }
  }
}

void ring_filter_row(const RingRow& row, CoefficientStorage storage) {
  if (storage == CoefficientStorage::kFloat)
    filter_row<float>(row);
  else
    filter_row<hwy::float16_t>(row);
}

/// Computes kKernels convolutions of one block. The pixels of a row of taps are summed on their
/// own, which keeps rounding errors small.
template <int kKernels, typename T>
HWY_INLINE void full_block(const FullRow& row, int first, int block, const T* HWY_RESTRICT taps) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const std::size_t per_kernel = static_cast<std::size_t>(row.nx * row.rows * kRingBlock);
  HWY_ALIGN float total[kKernels][kRingBlock] = {};
  for (int j = 0; j < row.rows; ++j, taps += row.nx * kRingBlock) {
    for (int lane = 0; lane < kRingBlock; lane += lanes) {
      const float* image = row.image[j] + block * kRingBlock + lane;
      V sum[kKernels];
      for (int g = 0; g < kKernels; ++g) sum[g] = hn::Zero(d);
      for (int i = 0; i < row.nx; ++i) {
        V pixel = hn::LoadU(d, image + i);
        keep(pixel);
        for (int g = 0; g < kKernels; ++g) {
          const T* tap = taps + static_cast<std::size_t>(g) * per_kernel + i * kRingBlock + lane;
          sum[g] = hn::MulAdd(load(d, tap), pixel, sum[g]);
        }
      }
      for (int g = 0; g < kKernels; ++g)
        hn::Store(hn::Add(hn::Load(d, total[g] + lane), sum[g]), d, total[g] + lane);
    }
  }
  for (int g = 0; g < kKernels; ++g)
    std::memcpy(row.out[first + g] + block * kRingBlock, total[g], sizeof(total[g]));
}

template <typename T>
HWY_INLINE void full_row(const FullRow& row) {
  const std::size_t per_kernel = static_cast<std::size_t>(row.nx * row.rows * kRingBlock);
  const T* taps = static_cast<const T*>(row.taps);
  for (int block = 0; block < row.blocks; ++block) {
    int c = 0;
    for (; c + 3 <= row.convolutions; c += 3, taps += 3 * per_kernel)
      full_block<3>(row, c, block, taps);
    for (; c < row.convolutions; ++c, taps += per_kernel) full_block<1>(row, c, block, taps);
  }
}

void full_filter_row(const FullRow& row, CoefficientStorage storage) {
  if (storage == CoefficientStorage::kFloat)
    full_row<float>(row);
  else
    full_row<hwy::float16_t>(row);
}

void store_half(const float* from, std::size_t count, void* to) {
  const D d;
  hwy::float16_t* half = static_cast<hwy::float16_t*>(to);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) store(d, hn::Load(d, from + i), half + i);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(ring_filter_row);
HWY_EXPORT(full_filter_row);
HWY_EXPORT(store_half);

void ring_filter_row(const RingRow& row, CoefficientStorage storage) noexcept {
  HWY_DYNAMIC_DISPATCH(ring_filter_row)(row, storage);
}

void full_filter_row(const FullRow& row, CoefficientStorage storage) noexcept {
  HWY_DYNAMIC_DISPATCH(full_filter_row)(row, storage);
}

void store_coefficients(CoefficientStorage storage, const float* from, std::size_t count,
                        void* to) noexcept {
  if (storage == CoefficientStorage::kFloat) {
    std::memcpy(to, from, count * sizeof(float));
  } else {
    HWY_DYNAMIC_DISPATCH(store_half)(from, count, to);
  }
}

}  // namespace ocellus::detail
#endif
