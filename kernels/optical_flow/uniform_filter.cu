// Convolution with spatio-temporal kernels that are the same for all pixels: first the sums over
// time, which several kernels share, then separable spatial filters.
#include <cuda_pipeline.h>

#include <cstdint>
#include <type_traits>

#include "kernels/core/shared_memory.cuh"
#include "kernels/image/pixels.cuh"
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/values.cuh"

namespace ocellus::cuda {
namespace {

// ---- sums over time

template <typename Pixel>
using Four = std::conditional_t<sizeof(Pixel) == 4, float4,
                                std::conditional_t<sizeof(Pixel) == 2, uint2, std::uint32_t>>;

/// Converts integers of up to 16 bits by making them the low bits of a float whose unit in the last
/// place is 1. This takes a byte permutation; a conversion instruction has at most a quarter of its
/// throughput.
__device__ __forceinline__ float float_of(std::uint32_t bits, unsigned bytes) {
  constexpr std::uint32_t kOffset = 0x4b000000;  // 2^23
  return __uint_as_float(__byte_perm(bits, kOffset, bytes)) - __uint_as_float(kOffset);
}
__device__ __forceinline__ Values<4> values_of(std::uint32_t bits) {
  return {float_of(bits, 0x7540), float_of(bits, 0x7541), float_of(bits, 0x7542),
          float_of(bits, 0x7543)};
}
__device__ __forceinline__ Values<4> values_of(uint2 bits) {
  return {float_of(bits.x, 0x7510), float_of(bits.x, 0x7532), float_of(bits.y, 0x7510),
          float_of(bits.y, 0x7532)};
}
__device__ __forceinline__ Values<4> values_of(float4 bits) {
  return unpack(bits);
}

/// Reads four pixels from the caller's memory, of which only `present` pixels may be read.
template <typename Pixel>
__device__ __forceinline__ Four<Pixel> read_four(const Pixel* from, int present) {
  if (present >= kTemporalPixels &&
      reinterpret_cast<std::uintptr_t>(from) % sizeof(Four<Pixel>) == 0)
    return *reinterpret_cast<const Four<Pixel>*>(from);
  union {
    Four<Pixel> all;
    Pixel each[kTemporalPixels];
  } four;
#pragma unroll
  for (int i = 0; i < kTemporalPixels; ++i) four.each[i] = from[min(i, present - 1)];
  return four.all;
}

/// The data of the frame of one age that all threads of a block need.
struct alignas(16) TemporalStep {
  float tap[kTemporalProfiles];
  std::int64_t kept;  ///< bytes from the first stored frame to this one
};
/// Number of frames that are read before the first of them is used.
constexpr int kTemporalBatch = 10;
/// The newest frame and whole batches; those beyond the profile have zero taps.
constexpr int kTemporalSteps =
    1 + (kMaxKernelTaps - 1 + kTemporalBatch - 1) / kTemporalBatch * kTemporalBatch;

template <typename Pixel, int kProfiles>
__device__ __forceinline__ void sum_over_time(const TemporalArguments& a, const TemporalStep* steps,
                                              const char* kept, Four<Pixel> newest, float* out) {
  Values<4> sum[kProfiles] = {};
  const auto add = [&](int age, Four<Pixel> bits) {
    const Values<4> value = values_of(bits);
#pragma unroll
    for (int p = 0; p < kProfiles; ++p)
#pragma unroll
      for (int i = 0; i < kTemporalPixels; ++i)
        sum[p].of[i] = fmaf(steps[age].tap[p], value.of[i], sum[p].of[i]);
  };
  add(0, newest);
#pragma unroll 1
  for (int first = 1; first < a.frames; first += kTemporalBatch) {
    Four<Pixel> bits[kTemporalBatch];
#pragma unroll
    for (int k = 0; k < kTemporalBatch; ++k)
      bits[k] = *reinterpret_cast<const Four<Pixel>*>(kept + steps[first + k].kept);
#pragma unroll
    for (int k = 0; k < kTemporalBatch; ++k) add(first + k, bits[k]);
  }
#pragma unroll
  for (int p = 0; p < kProfiles; ++p) store(sum[p], out + p * a.sums.plane);
}

template <typename Pixel>
__global__ void __launch_bounds__(kTemporalThreads)
    temporal_sums(const __grid_constant__ TemporalArguments a) {
  __shared__ TemporalStep steps[kTemporalSteps];
  const int head = a.state->head;
  const int count = a.state->count;
  const int x = (blockIdx.x * kTemporalAcross + threadIdx.x % kTemporalAcross) * kTemporalPixels;
  const int y = blockIdx.y * kTemporalHeight + threadIdx.x / kTemporalAcross;
  const Rect& region = a.region;
  const bool inside = x < region.width && y < region.height;
  Four<Pixel> newest{};
  if (inside)
    newest = read_four(reinterpret_cast<const Pixel*>(static_cast<const char*>(a.frame->image) +
                                                      (region.y + y) * a.frame->image_stride) +
                           region.x + x,
                       region.width - x);

  const int first = blockIdx.z * kTemporalProfiles;
  const int profiles = min(kTemporalProfiles, a.profiles - first);
  const std::int64_t row_bytes = a.kept_stride * static_cast<int>(sizeof(Pixel));
  for (int i = threadIdx.x; i < kTemporalSteps * kTemporalProfiles; i += kTemporalThreads) {
    const int age = i / kTemporalProfiles;
    const int p = i % kTemporalProfiles;
    steps[age].tap[p] = p < profiles && age < a.frames ? a.taps->temporal[first + p][age] : 0.0f;
    if (p == 0)
      steps[age].kept = ring_index(head, count, a.frames, age) * (row_bytes * region.height);
  }
  __syncthreads();
  if (!inside) return;

  char* kept = static_cast<char*>(a.kept) + y * row_bytes + x * static_cast<int>(sizeof(Pixel));
  // Without a previous frame, the stored frame is read again immediately. All blocks for these
  // pixels write it.
  *reinterpret_cast<Four<Pixel>*>(kept + steps[0].kept) = newest;
  float* out = a.sums.base + first * a.sums.plane + y * a.sums.stride + x;
  static_assert(kTemporalProfiles == 4);
  switch (profiles) {
    case 1:
      return sum_over_time<Pixel, 1>(a, steps, kept, newest, out);
    case 2:
      return sum_over_time<Pixel, 2>(a, steps, kept, newest, out);
    case 3:
      return sum_over_time<Pixel, 3>(a, steps, kept, newest, out);
    default:
      return sum_over_time<Pixel, 4>(a, steps, kept, newest, out);
  }
}

// ---- separable filters of those sums

/// Taps and values are read in groups of four; the taps beyond the profile are zero.
__host__ __device__ constexpr int in_fours(int taps) {
  return (taps + 3) / 4 * 4;
}
static_assert(in_fours(kMaxKernelTaps) == kPaddedTaps);

__host__ __device__ constexpr int tile_columns(int nx) {
  return kSpatialWidth + in_fours(nx);
}
__host__ __device__ constexpr int tile_rows(int ny) {
  return kSpatialHeight + in_fours(ny);
}

/// Computes kResults neighboring sums of `count` products. read(i) returns value i and the three
/// values after it.
template <int kResults, typename Read>
__device__ __forceinline__ void filter(const float* taps, int count, Read read,
                                       float (&sum)[kResults]) {
  float value[kResults + kPaddedTaps];
  const auto read_to = [&](int at) {
    const Values<4> four = read(at);
#pragma unroll
    for (int i = 0; i < 4; ++i) value[at + i] = four.of[i];
  };
#pragma unroll
  for (int i = 0; i < kResults; i += 4) read_to(i);
#pragma unroll
  for (int first = 0; first < kPaddedTaps; first += 4) {
    if (first >= count) break;
    const Values<4> tap = load<4>(taps + first);
    read_to(kResults + first);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int result = 0; result < kResults; ++result)
        sum[result] = fmaf(tap.of[i], value[first + i + result], sum[result]);
  }
}

/// Starts to copy the part of the sums that a block's results need. Outside of the sums, the last
/// value is repeated. Their edges are those of the image, or lie where no result needs them.
__device__ __forceinline__ void start_copy(const SpatialArguments& a, int profile, float* tile) {
  const int columns = tile_columns(a.nx);
  const int left = a.support.x + blockIdx.x * kSpatialWidth - (a.nx - 1 - a.nx / 2);
  const int top = a.support.y + blockIdx.y * kSpatialHeight - (a.ny - 1 - a.ny / 2);
  const int lane = threadIdx.x % 32;
  // A row is at most two warps wide.
  static_assert(tile_columns(kMaxKernelTaps) <= 2 * 32);
  const float* sums = a.sums.base + profile * a.sums.plane;
  const float* near = sums + clamp_to(left + lane, a.sums_size.width);
  const float* far = sums + clamp_to(left + lane + 32, a.sums_size.width);
#pragma unroll 4
  for (int row = threadIdx.x / 32; row < tile_rows(a.ny); row += kSpatialThreads / 32) {
    const std::int64_t at = clamp_to(top + row, a.sums_size.height) * a.sums.stride;
    float* to = tile + row * columns + lane;
    __pipeline_memcpy_async(to, near + at, sizeof(float));
    if (lane + 32 < columns) __pipeline_memcpy_async(to + 32, far + at, sizeof(float));
  }
}

/// Returns the first pass after `k` that needs the sums of another temporal profile.
__device__ __forceinline__ int next_profile(const SpatialArguments& a, int k) {
  const int profile = a.pass[k].temporal;
  while (k < a.kernels && a.pass[k].temporal == profile) ++k;
  return k;
}

__global__ void __launch_bounds__(kSpatialThreads)
    spatial_sums(const __grid_constant__ SpatialArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, shared);
  const int columns = tile_columns(a.nx);
  const int rows = tile_rows(a.ny);
  // The tile that is filtered, and the next tile, which is copied at the same time.
  float* tile = shared;
  float* next_tile = tile + rows * columns;
  float* const filtered = next_tile + rows * columns;
  float* const horizontal_taps = filtered + rows * kSpatialWidth;
  float* const vertical_taps = horizontal_taps + a.horizontals * kPaddedTaps;
  start_copy(a, a.pass[0].temporal, next_tile);
  __pipeline_commit();
  for (int i = threadIdx.x; i < a.horizontals * kPaddedTaps; i += kSpatialThreads)
    horizontal_taps[i] = a.taps->horizontal[0][i];
  for (int i = threadIdx.x; i < a.kernels * kPaddedTaps; i += kSpatialThreads)
    vertical_taps[i] = a.taps->vertical[0][i];

  const bool bad = a.state->bad != 0;
  const int column = threadIdx.x % kSpatialWidth;
  const int row = threadIdx.x / kSpatialWidth * kSpatialRows;
  const int x = blockIdx.x * kSpatialWidth + column;
  const int y = blockIdx.y * kSpatialHeight + row;
  // Number of this thread's results that are inside.
  const int present = x < a.support.width ? a.support.height - y : 0;
  float sum[kSpatialRows] = {};
  int profile_end = 0;
  for (int k = 0; k < a.kernels; ++k) {
    const SpatialPass pass = a.pass[k];
    if (k == 0 || pass.horizontal != a.pass[k - 1].horizontal) {
      const bool other_tile = k == profile_end;
      if (other_tile) __pipeline_wait_prior(0);
      __syncthreads();
      if (other_tile) {
        float* const copied = next_tile;
        next_tile = tile;
        tile = copied;
        profile_end = next_profile(a, k);
        if (profile_end < a.kernels) {
          start_copy(a, a.pass[profile_end].temporal, next_tile);
          __pipeline_commit();
        }
      }
      constexpr int kAcross = kSpatialWidth / 4;
      for (int i = threadIdx.x; i < rows * kAcross; i += kSpatialThreads) {
        const float* in = tile + i / kAcross * columns + i % kAcross * 4;
        Values<4> four{};
        filter(
            horizontal_taps + pass.horizontal * kPaddedTaps, a.nx,
            [&](int at) { return load<4>(in + at); }, four.of);
        store(four, filtered + i * 4);
      }
      __syncthreads();
    }
    const float* in = filtered + row * kSpatialWidth + column;
    filter(
        vertical_taps + k * kPaddedTaps, a.ny,
        [&](int at) {
          return Values<4>{in[at * kSpatialWidth], in[(at + 1) * kSpatialWidth],
                           in[(at + 2) * kSpatialWidth], in[(at + 3) * kSpatialWidth]};
        },
        sum);
    if (k + 1 < a.kernels && a.pass[k + 1].convolution == pass.convolution) continue;
    const bool direct = a.result.base == nullptr;
    float* const plane = direct ? out_plane<float>(*a.frame, pass.convolution)
                                : a.result.base + pass.convolution * a.result.plane;
    const std::int64_t stride =
        direct ? a.frame->out_stride[0] : a.result.stride * static_cast<int>(sizeof(float));
    float* to = row_at(plane, stride, y) + x;
#pragma unroll
    for (int i = 0; i < kSpatialRows; ++i) {
      if (i < present) *to = bad && direct ? kBadResult : sum[i];
      to = row_at(to, stride, 1);
      sum[i] = 0.0f;
    }
  }
  end_frame(a);
}

}  // namespace

Kernel<TemporalArguments> temporal_sums_kernel(PixelFormat format) noexcept {
  return kernel_for<TemporalArguments>(format, temporal_sums<std::uint8_t>,
                                       temporal_sums<std::uint16_t>, temporal_sums<float>);
}

Kernel<SpatialArguments> spatial_sums_kernel() noexcept {
  return spatial_sums;
}

std::size_t spatial_shared_bytes(int nx, int ny, int horizontals, int kernels) noexcept {
  const int tiles = tile_rows(ny) * (2 * tile_columns(nx) + kSpatialWidth);
  return static_cast<std::size_t>(tiles + (horizontals + kernels) * kPaddedTaps) * sizeof(float);
}

}  // namespace ocellus::cuda
