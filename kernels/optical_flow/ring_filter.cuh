// Convolution with separable spatio-temporal kernels that differ by pixel: equation (2) of Ohmura
// et al. 2011, with the spatial sums stored in a ring.
//
// Every tap is used once in a frame, so the time is that of reading the taps. Each warp processes a
// range of items; an item is one convolution of one tile. As soon as the warp has used the spatial
// taps of an item, it requests those of the next item and continues with the past sums. No warp
// waits for another one.
#pragma once

#include <cuda_pipeline.h>

#include "kernels/image/pixels.cuh"
#include "kernels/optical_flow/async_copy.cuh"
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/values.cuh"

namespace ocellus::cuda {

/// Floats from row to row of the image under a tile. It is 16 more than the number of banks, so
/// that the two rows that half a warp reads at once are in different banks.
inline constexpr int kTileImageStride = 48;
/// Bytes for two barriers of each warp, before the warps' own parts of the shared memory.
inline constexpr int kBarrierBytes = 256;
static_assert(kRingWarps * 16 <= kBarrierBytes);

/// Layout of a warp's part of the shared memory: the image under its tile, the taps along x and y,
/// the taps over time, and the past sums.
struct RingWarpLayout {
  int image_bytes;
  int value_bytes;  ///< size of one tap or sum for all pixels of a tile
  int spatial_bytes;
  int temporal_bytes;

  __host__ __device__ constexpr RingWarpLayout(int tap_bytes, RingCopy copy, int lane_pixels,
                                               int nx, int ny, int nt)
      : image_bytes((2 * lane_pixels + ny - 1) * kTileImageStride * 4),
        value_bytes(32 * lane_pixels * tap_bytes),
        spatial_bytes(copy == RingCopy::kDirect ? 0 : (nx + ny) * value_bytes),
        temporal_bytes(copy == RingCopy::kDirect ? 0 : (nt + nt - 1) * value_bytes) {}

  __host__ __device__ constexpr int bytes() const {
    return image_bytes + spatial_bytes + temporal_bytes;
  }
};

/// A frame's address and stride, kept in each thread so that they are not loaded again for each
/// tile.
struct TileSource {
  const char* image;
  std::int64_t stride;  ///< bytes from row to row
};

/// Loads the pixels that the kernels of a tile read, as floats: `rows` rows of kColumns columns (at
/// most kTileImageStride), starting at (left, top) of the image. The border of the image is
/// repeated.
template <typename Pixel, int kColumns>
__device__ __forceinline__ void load_tile_image(const RingArguments& a, const TileSource& from,
                                                int left, int top, int rows, float* to) {
  constexpr int kParts = (kColumns + 31) / 32;
  constexpr int kBatch = 12;  // rows whose loads are in flight at once
  const int lane = threadIdx.x % 32;
  const char* column[kParts];
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    column[part] = from.image + clamp_to(left + lane + 32 * part, a.image.width) *
                                    static_cast<int>(sizeof(Pixel));
  for (int first = 0; first < rows; first += kBatch) {
    Pixel pixels[kBatch][kParts];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::int64_t row =
          clamp_to(top + min(first + k, rows - 1), a.image.height) * from.stride;
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        pixels[k][part] = *reinterpret_cast<const Pixel*>(column[part] + row);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        if (first + k < rows && (part == 0 || lane < kTileImageStride - 32))
          to[(first + k) * kTileImageStride + lane + 32 * part] =
              a.scale * static_cast<float>(pixels[k][part]);
  }
}

/// kMaxX is the number of columns of taps that registers can hold; those beyond nx have weight 0.
/// kUsual: the kernel has 15 x 15 x 20 taps, as compile-time constants.
template <typename T, int kLanePixels, int kMaxX, RingCopy kCopy, bool kUsual>
struct RingFilter {
  using Lane = Values<kLanePixels>;
  static constexpr bool kDirect = kCopy == RingCopy::kDirect;
  static constexpr int kPixels = tile_pixels(kLanePixels);
  static constexpr int kTileRows = tile_height(kLanePixels);
  static constexpr int kLanesX = kTileWidth / kLanePixels;
  static constexpr int kPixelsOfRow = (kMaxX + 2 * (kLanePixels - 1)) / kLanePixels * kLanePixels;
  static constexpr int kColumns = kTileWidth - kLanePixels + kPixelsOfRow;
  static_assert(kColumns <= kTileImageStride && kMaxX >= 2);
  // Number of rows or frames that are read together; more for global memory, which has a higher
  // latency.
  static constexpr int kTogether = kDirect ? 5 : 3;

  const RingArguments& a;
  const int nx = kUsual ? 15 : a.nx;
  const int ny = kUsual ? 15 : a.ny;
  const int nt = kUsual ? 20 : a.frames;
  const int lane = threadIdx.x % 32;
  float* image = nullptr;
  char* spatial = nullptr;
  char* temporal = nullptr;
  std::uint32_t barriers = 0;
  std::uint64_t policy = 0;
  int head = 0;
  /// True if there is no previous frame; the new frame then replaces all of them.
  bool first = false;

  __device__ explicit RingFilter(const RingArguments& arguments) : a(arguments) {}

  __device__ int value_bytes() const { return kPixels * static_cast<int>(sizeof(T)); }
  __device__ const char* taps_of(int pair) const {
    return a.bank + static_cast<std::size_t>(pair) * ((nx + ny + nt) * value_bytes());
  }
  __device__ T* ring_of(int pair) const {
    return reinterpret_cast<T*>(a.ring + static_cast<std::size_t>(pair) * (nt * value_bytes())) +
           lane * kLanePixels;
  }

  // ---- copies of taps and past sums; a pair is a term of a convolution of a tile

  // Each step makes exactly one request, for spatial and temporal data in turn. The request to wait
  // for is therefore always the last but one. If nothing is left to request, the pair is negative,
  // and an empty group takes its place.

  __device__ __forceinline__ void copy_by_warp(char* to, const char* from, int bytes) const {
    const std::uint32_t at = shared_address(to);
#pragma unroll 4
    for (int i = lane * 16; i < bytes; i += 32 * 16) copy_async(at + i, from + i, policy);
  }

  __device__ __forceinline__ void request_spatial(int pair) const {
    const int bytes = (nx + ny) * value_bytes();
    if constexpr (kCopy == RingCopy::kBulk) {
      if (lane != 0 || pair < 0) return;
      fence_copies();
      expect_bytes(barriers, bytes);
      copy_bulk(shared_address(spatial), taps_of(pair), bytes, barriers, policy);
    } else if constexpr (kCopy == RingCopy::kAsync) {
      if (pair >= 0) copy_by_warp(spatial, taps_of(pair), bytes);
      __pipeline_commit();
    }
  }

  // The past sums are copied in order, oldest first, independent of the ring's head.
  __device__ __forceinline__ void request_temporal(int pair) const {
    const char* taps = taps_of(pair) + (nx + ny) * value_bytes();
    const char* ring = a.ring + static_cast<std::size_t>(pair) * (nt * value_bytes());
    const int taps_bytes = nt * value_bytes();
    const int behind_head = first ? 0 : (nt - 1 - head) * value_bytes();
    const int before_head = first ? 0 : head * value_bytes();
    if constexpr (kCopy == RingCopy::kBulk) {
      if (lane != 0 || pair < 0) return;
      const std::uint32_t to = shared_address(temporal);
      const std::uint32_t barrier = barriers + 8;
      fence_copies();
      expect_bytes(barrier, taps_bytes + behind_head + before_head);
      copy_bulk(to, taps, taps_bytes, barrier, policy);
      if (behind_head != 0)
        copy_bulk(to + taps_bytes, ring + (head + 1) * value_bytes(), behind_head, barrier, policy);
      if (before_head != 0)
        copy_bulk(to + taps_bytes + behind_head, ring, before_head, barrier, policy);
    } else if constexpr (kCopy == RingCopy::kAsync) {
      if (pair >= 0) {
        copy_by_warp(temporal, taps, taps_bytes);
        copy_by_warp(temporal + taps_bytes, ring + (head + 1) * value_bytes(), behind_head);
        copy_by_warp(temporal + taps_bytes + behind_head, ring, before_head);
      }
      __pipeline_commit();
    }
  }

  __device__ __forceinline__ void wait_for(std::uint32_t barrier, unsigned parity) const {
    if constexpr (kCopy == RingCopy::kBulk) {
      wait_barrier(barrier, parity);
    } else if constexpr (kCopy == RingCopy::kAsync) {
      __pipeline_wait_prior(1);
      __syncwarp();
    }
  }

  /// Reads copied taps, or taps in global memory.
  __device__ __forceinline__ static Lane read(const T* from) {
    return kDirect ? load_once<kLanePixels>(from) : load<kLanePixels>(from);
  }

  // ---- sums

  __device__ __forceinline__ void load_image(const TileSource& from, int tile_x, int tile_y) const {
    const int left = a.support.x + tile_x * kTileWidth - (nx - 1 - nx / 2);
    const int top = a.support.y + tile_y * kTileRows - (ny - 1 - ny / 2);
    const int rows = kTileRows + ny - 1;
    switch (a.format) {
      case PixelFormat::kGray8:
        return load_tile_image<std::uint8_t, kColumns>(a, from, left, top, rows, image);
      case PixelFormat::kGray16:
        return load_tile_image<std::uint16_t, kColumns>(a, from, left, top, rows, image);
      default:  // kFloat32; no color comes here
        return load_tile_image<float, kColumns>(a, from, left, top, rows, image);
    }
  }

  __device__ __forceinline__ Lane spatial_sum(const T* taps) const {
    Lane wx[kMaxX];
#pragma unroll
    for (int i = 0; i < kMaxX; ++i) {
      wx[i] = Lane{};
      if (i < nx) wx[i] = read(taps + i * kPixels);
    }
    const T* wys = taps + nx * kPixels;
    const float* under = image + lane / kLanesX * kTileImageStride + lane % kLanesX * kLanePixels;
    Lane sum{};
#pragma unroll kTogether
    for (int j = 0; j < ny; ++j) {
      const Lane wy = read(wys + j * kPixels);
      float pixel[kPixelsOfRow];
#pragma unroll
      for (int k = 0; k < kPixelsOfRow; k += kLanePixels) {
        const Lane some = load<kLanePixels>(under + j * kTileImageStride + k);
#pragma unroll
        for (int p = 0; p < kLanePixels; ++p) pixel[k + p] = some.of[p];
      }
      // Two independent chains for each pixel, because there are few warps.
      Lane even, odd;
#pragma unroll
      for (int p = 0; p < kLanePixels; ++p) {
        even.of[p] = wx[0].of[p] * pixel[p];
        odd.of[p] = wx[1].of[p] * pixel[1 + p];
      }
#pragma unroll
      for (int i = 2; i < kMaxX; ++i) {
        Lane& row = i % 2 == 0 ? even : odd;
#pragma unroll
        for (int p = 0; p < kLanePixels; ++p)
          row.of[p] = fmaf(wx[i].of[p], pixel[i + p], row.of[p]);
      }
#pragma unroll
      for (int p = 0; p < kLanePixels; ++p)
        sum.of[p] = fmaf(wy.of[p], even.of[p] + odd.of[p], sum.of[p]);
    }
    return sum;
  }

  /// The sum of `age` frames ago. `ring` points to the kernel's past sums.
  __device__ __forceinline__ Lane past(const T* ring, int age) const {
    if constexpr (kDirect) {
      const int at = head - age;
      return read(ring + (at < 0 ? at + nt : at) * kPixels);
    } else {
      return read(ring - age * kPixels);
    }
  }

  __device__ __forceinline__ Lane temporal_sum(const T* taps, const T* ring,
                                               const Lane& now) const {
    const Lane newest = read(taps);
    Lane even, odd{};
#pragma unroll
    for (int p = 0; p < kLanePixels; ++p) even.of[p] = newest.of[p] * now.of[p];
    if (first) {
      for (int age = 1; age < nt; ++age) {
        const Lane w = read(taps + age * kPixels);
#pragma unroll
        for (int p = 0; p < kLanePixels; ++p)
          odd.of[p] = fmaf(w.of[p], as_stored<T>(now.of[p]), odd.of[p]);
      }
    } else {
      int age = 1;
#pragma unroll kTogether
      for (; age + 1 < nt; age += 2) {
        const Lane w1 = read(taps + age * kPixels);
        const Lane w2 = read(taps + (age + 1) * kPixels);
        const Lane s1 = past(ring, age);
        const Lane s2 = past(ring, age + 1);
#pragma unroll
        for (int p = 0; p < kLanePixels; ++p) {
          odd.of[p] = fmaf(w1.of[p], s1.of[p], odd.of[p]);
          even.of[p] = fmaf(w2.of[p], s2.of[p], even.of[p]);
        }
      }
      if (age < nt) {
        const Lane w = read(taps + age * kPixels);
        const Lane s = past(ring, age);
#pragma unroll
        for (int p = 0; p < kLanePixels; ++p) odd.of[p] = fmaf(w.of[p], s.of[p], odd.of[p]);
      }
    }
    Lane sum;
#pragma unroll
    for (int p = 0; p < kLanePixels; ++p) sum.of[p] = even.of[p] + odd.of[p];
    return sum;
  }

  /// Computes the sum of one pair. Requests the taps of pair `next` (negative: none) as soon as
  /// there is room for them.
  __device__ __forceinline__ Lane convolve(int pair, int next, unsigned parity) const {
    const T* taps =
        reinterpret_cast<const T*>(kDirect ? taps_of(pair) : spatial) + lane * kLanePixels;
    wait_for(barriers, parity);
    const Lane now = spatial_sum(taps);
    __syncwarp();
    request_spatial(next);

    T* const ring = ring_of(pair);
    if (first) {
      // The first frame replaces frames that never came, so its sum is stored for all of them.
      for (int slot = 0; slot < nt; ++slot) store(now, ring + slot * kPixels);
    } else {
      store(now, ring + head * kPixels);
    }

    taps = kDirect ? taps + (nx + ny) * kPixels
                   : reinterpret_cast<const T*>(temporal) + lane * kLanePixels;
    const T* const sums = kDirect ? ring : taps + (nt + nt - 1) * kPixels;
    wait_for(barriers + 8, parity);
    const Lane sum = temporal_sum(taps, sums, now);
    __syncwarp();
    request_temporal(next);
    return sum;
  }

  __device__ __forceinline__ void put(const FrameParams& frame, int convolution, int tile_x,
                                      int tile_y, bool bad, const Lane& sum) const {
    const int x = tile_x * kTileWidth + lane % kLanesX * kLanePixels;
    const int y = tile_y * kTileRows + lane / kLanesX;
    if (a.result.base != nullptr) {
      store(sum, a.result.base + convolution * a.result.plane + y * a.result.stride + x);
      return;
    }
    if (y >= a.support.height) return;
    float* const out = row_at(out_plane<float>(frame, convolution), frame.out_stride[0], y) + x;
#pragma unroll
    for (int p = 0; p < kLanePixels; ++p)
      if (x + p < a.support.width) out[p] = bad ? kBadResult : sum.of[p];
  }

  /// Processes items [item, end) with one warp.
  __device__ __forceinline__ void run(int item, int end) {
    if constexpr (kCopy == RingCopy::kBulk) {
      if (lane == 0) {
        init_barrier(barriers);
        init_barrier(barriers + 8);
        fence_barriers();
      }
      __syncwarp();
    }
    if constexpr (!kDirect) policy = evict_first();
    // Request the first taps before reading the frame and the state.
    request_spatial(item * a.terms);
    const FrameParams& frame = *a.frame;
    const TileSource source{static_cast<const char*>(frame.image), frame.image_stride};
    head = a.state->head;
    first = a.state->count == 0;
    const bool bad = a.state->bad != 0;
    request_temporal(item * a.terms);

    unsigned parity = 0;
    int tile_of_image = -1;
    for (; item < end; ++item) {
      const int tile = item / a.convolutions;
      const int tile_y = tile / a.tiles_x;
      const int tile_x = tile - tile_y * a.tiles_x;
      if (tile != tile_of_image) {
        load_image(source, tile_x, tile_y);
        tile_of_image = tile;
      }
      __syncwarp();
      Lane total{};
      for (int term = 0; term < a.terms; ++term, parity ^= 1) {
        const int pair = item * a.terms + term;
        const bool last = item + 1 == end && term + 1 == a.terms;
        const Lane sum = convolve(pair, last ? -1 : pair + 1, parity);
#pragma unroll
        for (int p = 0; p < kLanePixels; ++p) total.of[p] += sum.of[p];
      }
      put(frame, item - tile * a.convolutions, tile_x, tile_y, bad, total);
    }
    if constexpr (kCopy == RingCopy::kAsync) __pipeline_wait_prior(0);
  }
};

/// Direct loads need a second block to hide their latency. With four pixels in a lane, there is no
/// room for one.
template <RingCopy kCopy, int kLanePixels>
inline constexpr int kBlocksAtOnce = kCopy == RingCopy::kDirect&& kLanePixels == 2 ? 2 : 1;

template <typename T, int kLanePixels, int kMaxX, RingCopy kCopy, bool kUsual>
__global__ void __launch_bounds__(32 * kRingWarps, (kBlocksAtOnce<kCopy, kLanePixels>))
    ring_filter(const __grid_constant__ RingArguments a) {
  if constexpr (kArchitecture >= ring_copy_capability(kCopy)) {
    extern __shared__ __align__(128) char shared[];
    const int warps = blockDim.x / 32;
    const int warp = threadIdx.x / 32;
    const std::int64_t items = static_cast<std::int64_t>(a.tiles) * a.convolutions;
    const std::int64_t ranges = static_cast<std::int64_t>(warps) * gridDim.x;
    const int range = blockIdx.x * warps + warp;
    const int begin = static_cast<int>(items * range / ranges);
    const int end = static_cast<int>(items * (range + 1) / ranges);
    if (begin < end) {
      RingFilter<T, kLanePixels, kMaxX, kCopy, kUsual> filter(a);
      const RingWarpLayout layout(sizeof(T), kCopy, kLanePixels, filter.nx, filter.ny, filter.nt);
      char* const mine = shared + kBarrierBytes + warp * layout.bytes();
      filter.image = reinterpret_cast<float*>(mine);
      filter.spatial = mine + layout.image_bytes;
      filter.temporal = filter.spatial + layout.spatial_bytes;
      if constexpr (kCopy == RingCopy::kBulk) filter.barriers = shared_address(shared) + warp * 16;
      filter.run(begin, end);
    }
    end_frame(a);
  }
}

template <typename T, int kLanePixels, int kMaxX, bool kUsual>
Kernel<RingArguments> ring_filter_by_copy(RingCopy copy) noexcept {
  if (copy == RingCopy::kBulk) return ring_filter<T, kLanePixels, kMaxX, RingCopy::kBulk, kUsual>;
  if (copy == RingCopy::kAsync) return ring_filter<T, kLanePixels, kMaxX, RingCopy::kAsync, kUsual>;
  // The compile-time sizes do not make direct loads faster.
  constexpr int kColumns = kUsual ? kNarrowTaps : kMaxX;
  return ring_filter<T, kLanePixels, kColumns, RingCopy::kDirect, false>;
}

template <typename T, int kLanePixels>
Kernel<RingArguments> some_ring_filter(const RingVariant& variant) noexcept {
  if (variant.nx > kNarrowTaps)
    return ring_filter_by_copy<T, kLanePixels, kMaxKernelTaps, false>(variant.copy);
  if (variant.nx == 15 && variant.ny == 15 && variant.nt == 20)
    return ring_filter_by_copy<T, kLanePixels, 15, true>(variant.copy);
  return ring_filter_by_copy<T, kLanePixels, kNarrowTaps, false>(variant.copy);
}

/// In separate source files, so that they are compiled in parallel.
Kernel<RingArguments> ring_filter_of_floats(const RingVariant& variant) noexcept;
Kernel<RingArguments> ring_filter_of_halves(const RingVariant& variant) noexcept;

}  // namespace ocellus::cuda
