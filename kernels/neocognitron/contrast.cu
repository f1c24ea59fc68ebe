// From the frame to UG.
#include <algorithm>
#include <type_traits>

#include "kernels/image/pixels.cuh"
#include "kernels/neocognitron/block.cuh"
#include "neocognitron/patch_transform.h"

namespace ocellus::cuda {
namespace {

using detail::InkCenter;
using detail::InkExtent;
using detail::InkSums;
using detail::PatchTransform;

// ---- the frame on its way to the host

__global__ void __launch_bounds__(kCopyThreads)
    copy_frame(const __grid_constant__ CopyFrameArguments a) {
  const auto* const image = static_cast<const char*>(a.frame->image);
  if (image == a.staged) return;
  const std::int64_t stride = a.frame->image_stride;
  constexpr int kWord = sizeof(std::uint32_t);
  const bool words =
      (reinterpret_cast<std::uintptr_t>(image) | static_cast<std::uintptr_t>(stride) |
       static_cast<std::uintptr_t>(a.row_bytes)) %
          kWord ==
      0;
  for (int y = static_cast<int>(blockIdx.x); y < a.rows; y += static_cast<int>(gridDim.x)) {
    const char* const from = image + y * stride;
    std::uint8_t* const to = a.to + static_cast<std::size_t>(y) * a.row_bytes;
    if (words) {
      for (int i = static_cast<int>(threadIdx.x); i < a.row_bytes / kWord; i += kCopyThreads)
        reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
    } else {
      for (int i = static_cast<int>(threadIdx.x); i < a.row_bytes; i += kCopyThreads)
        to[i] = static_cast<std::uint8_t>(from[i]);
    }
  }
}

// The bus is slow: each pixel crosses it once.
__global__ void __launch_bounds__(kCopyThreads) fetch(const __grid_constant__ FetchArguments a) {
  const int candidate = static_cast<int>(blockIdx.x);
  const int present = a.host->present;
  if (candidate == 0 && threadIdx.x == 0) *a.present = present;
  if (candidate >= present) return;
  const CandidateImage image = a.host->images[candidate];
  if (threadIdx.x == 0) a.images[candidate] = image;
  constexpr int kWord = sizeof(std::uint32_t);
  const std::size_t at = static_cast<std::size_t>(candidate) * kImagePixels;
  const auto* const from = reinterpret_cast<const std::uint32_t*>(a.from + at);
  auto* const to = reinterpret_cast<std::uint32_t*>(a.to + at);
  const int words = (image.width + kWord - 1) / kWord;
  for (int i = static_cast<int>(threadIdx.x); i < words * image.height; i += kCopyThreads) {
    const int place = i / words * (kImageSide / kWord) + i % words;
    to[place] = from[place];
  }
}

// ---- sources of ink

/// A pixel in gray levels of 8 bits, as write_gray_row() of the host has it.
__device__ int gray_of(std::uint8_t pixel) {
  return pixel;
}
__device__ int gray_of(std::uint16_t pixel) {
  return pixel >> 8;
}
__device__ int gray_of(float pixel) {
  // A comparison with NaN is false, so that NaN becomes 0.
  const float limited = pixel > 0.0f ? fminf(pixel, 255.0f) : 0.0f;
  return static_cast<int>(limited + 0.5f);
}

/// A tile of the frame.
template <typename Pixel>
struct TileInk {
  const Pixel* first;
  std::int64_t stride;
  int width;
  int height;
  int invert;  ///< 255 for dark ink

  __device__ Pixel pixel(int x, int y) const { return row_at(first, stride, y)[x]; }
  __device__ int at(int x, int y) const { return gray_of(pixel(x, y)) ^ invert; }
};

struct ImageInk {
  const std::uint8_t* first;
  int width;
  int height;

  __device__ int at(int x, int y) const { return first[y * kImageSide + x]; }
};

// ---- normalization

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Smaller {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

using Integer = long long;  // a type that warps exchange

/// Ink of the minority of the border (CharacterReader::draw).
template <typename Pixel>
__device__ bool is_dark(const TileInk<Pixel>& tile) {
  Integer sum[1] = {0};
  const int pixels = tile.width * tile.height;
  for (int i = static_cast<int>(threadIdx.x); i < pixels; i += kContrastThreads) {
    const int x = i % tile.width;
    const int y = i / tile.width;
    if (x == 0 || y == 0 || x == tile.width - 1 || y == tile.height - 1)
      sum[0] += gray_of(tile.pixel(x, y));
  }
  combine_block<kContrastThreads>(sum, Sum());
  const Integer border = 2 * (tile.width + tile.height) - 4;
  return 2 * sum[0] > 255 * border;
}

constexpr int kPatchRows = kContrastRows + 2 * kContrastReach;

/// Writes the rows of U0 that the band reads: row `first` and those behind it.
template <typename Ink>
__device__ void write_patch(const ContrastArguments& a, const Ink& image, int first, float* u0) {
  __shared__ std::uint8_t small[kImagePixels];
  const int pixels = image.width * image.height;
  const bool copied = pixels <= kImagePixels;
  const int thread = static_cast<int>(threadIdx.x);
  InkSums sums;
  Integer negative_darkest[1] = {0};
  for (int i = thread; i < pixels; i += kContrastThreads) {
    const int x = i % image.width;
    const int y = i / image.width;
    const int ink = image.at(x, y);
    if (copied) small[i] = static_cast<std::uint8_t>(ink);
    if (-ink < negative_darkest[0]) negative_darkest[0] = -ink;
    sums.add(ink, x - image.width / 2, y - image.height / 2);
  }
  Integer values[5] = {sums.mass, sums.x, sums.y, sums.xy, sums.yy};
  combine_block<kContrastThreads>(values, Sum());
  combine_block<kContrastThreads>(negative_darkest, Smaller());
  const int darkest = static_cast<int>(-negative_darkest[0]);
  constexpr int kSide = kNeocognitronSide;
  if (darkest == 0) {
    for (int i = thread; i < kPatchRows * kSide; i += kContrastThreads) u0[i] = 0.0f;
    return;
  }
  sums = {values[0], values[1], values[2], values[3], values[4]};
  const InkCenter center = detail::ink_center(sums, image.width, image.height, a.deslant);
  const auto ink_at = [&](int x, int y) -> int {
    return copied ? small[y * image.width + x] : image.at(x, y);
  };
  InkExtent extent;
  for (int i = thread; i < pixels; i += kContrastThreads) {
    const int x = i % image.width;
    const int y = i / image.width;
    if (detail::counts_for_size(ink_at(x, y), darkest)) extent.add(center.upright(x, y), y);
  }
  double bounds[4] = {extent.left, -extent.right, extent.top, -extent.bottom};
  combine_block<kContrastThreads>(bounds, Smaller());
  extent = {bounds[0], -bounds[1], bounds[2], -bounds[3]};
  const PatchTransform transform = detail::patch_transform(center, extent, a.extent);
  const int samples = detail::samples_per_axis(transform);
  for (int i = thread; i < kPatchRows * kSide; i += kContrastThreads) {
    const int y = first + i / kSide;
    u0[i] = y < 0 || y >= kSide ? 0.0f
                                : detail::patch_pixel(ink_at, image.width, image.height, transform,
                                                      samples, i % kSide, y);
  }
}

// ---- UG

/// (1) of a band of a candidate. The last block of the candidate keeps to the capacity.
template <typename Ink>
__device__ void write_contrast(const ContrastArguments& a, const Ink& image, int candidate) {
  constexpr int kSide = detail::kContrastSides.out;
  constexpr int kSideIn = kNeocognitronSide;
  __shared__ float u0[kPatchRows * kSideIn];
  __shared__ unsigned found;
  const int thread = static_cast<int>(threadIdx.x);
  const int begin = static_cast<int>(blockIdx.x) * kContrastRows;
  const int end = min(begin + kContrastRows, kSide);
  const int first = a.first + begin - kContrastReach;
  if (thread == 0) found = 0;
  write_patch(a, image, first, u0);
  __syncthreads();
  float* const out = a.candidates.contrast + static_cast<std::size_t>(candidate) * kContrastCells;
  unsigned active = 0;
  for (int i = thread; i < (end - begin) * kSide; i += kContrastThreads) {
    const int x = i % kSide;
    const int y = i / kSide;
    float sum = 0.0f;
    for (int t = 0; t < a.tap_count; ++t) {
      const WindowTap tap = a.taps[t];
      const int column = a.first + x + tap.dx;
      if (column < 0 || column >= kSideIn) continue;
      sum = fmaf(tap.weight, u0[(y + tap.dy + kContrastReach) * kSideIn + column], sum);
    }
    const float value = fmaxf(fabsf(sum) - a.threshold, 0.0f);
    active += value > 0.0f ? 1 : 0;
    out[begin * kSide + i] = sum > 0.0f ? value : -value;
  }
  if (active > 0) atomicAdd(&found, active);
  unsigned total = 0;
  if (!is_last_block(a.candidates.progress + candidate, found, total)) return;
  if (thread == 0) a.candidates.capped[candidate] = total > a.capacity ? 1 : 0;
  if (total <= a.capacity) return;
  cut_cells<kContrastThreads>(
      kContrastCells, a.capacity, [&](int i) { return __ldcg(out + i) != 0.0f ? 1u : 0u; },
      [&](int i, unsigned) { out[i] = 0.0f; });
}

template <typename Pixel>
__device__ void write_tile_contrast(const ContrastArguments& a, int candidate) {
  const int x = candidate % a.columns * a.tile.width;
  const int y = candidate / a.columns * a.tile.height;
  const std::int64_t stride = a.frame->image_stride;
  TileInk<Pixel> tile{row_at(static_cast<const Pixel*>(a.frame->image), stride, y) + x, stride,
                      a.tile.width, a.tile.height, 0};
  if constexpr (std::is_same_v<Pixel, float>) {
    bool finite = true;
    for (int i = static_cast<int>(threadIdx.x); i < tile.width * tile.height; i += kContrastThreads)
      finite = finite && isfinite(tile.pixel(i % tile.width, i / tile.width));
    if (!finite) atomicOr(&a.state->bad, 1u);
  }
  const bool dark = a.ink == CharacterInk::kAuto ? is_dark(tile) : a.ink == CharacterInk::kDark;
  tile.invert = dark ? 255 : 0;
  write_contrast(a, tile, candidate);
}

template <typename Pixel>
__global__ void __launch_bounds__(kContrastThreads)
    contrast_of_tiles(const __grid_constant__ ContrastArguments a) {
  for_each_candidate(a.candidates,
                     [&](int candidate) { write_tile_contrast<Pixel>(a, candidate); });
}

__global__ void __launch_bounds__(kContrastThreads)
    contrast_of_images(const __grid_constant__ ContrastArguments a) {
  for_each_candidate(a.candidates, [&](int candidate) {
    const CandidateImage size = a.sizes[candidate];
    const ImageInk image{a.images + static_cast<std::size_t>(candidate) * kImagePixels, size.width,
                         size.height};
    write_contrast(a, image, candidate);
  });
}

}  // namespace

Kernel<CopyFrameArguments> copy_frame_kernel() noexcept {
  return copy_frame;
}

Kernel<FetchArguments> fetch_kernel() noexcept {
  return fetch;
}

Kernel<ContrastArguments> tile_contrast_kernel(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return contrast_of_tiles<std::uint8_t>;
    case PixelFormat::kGray16:
      return contrast_of_tiles<std::uint16_t>;
    case PixelFormat::kFloat32:
      break;
  }
  return contrast_of_tiles<float>;
}

Kernel<ContrastArguments> image_contrast_kernel() noexcept {
  return contrast_of_images;
}

}  // namespace ocellus::cuda
