// From the frame to UG.
#include <algorithm>
#include <type_traits>

#include "kernels/image/pixels.cuh"
#include "kernels/neocognitron/block.cuh"
#include "kernels/neocognitron/gray.cuh"
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
  if (a.frame->host_reads_image != 0) return;
  const auto* const image = static_cast<const std::uint8_t*>(a.frame->image);
  for (int y = static_cast<int>(blockIdx.x); y < a.rows; y += static_cast<int>(gridDim.x))
    copy_row<kCopyThreads>(image + y * a.frame->image_stride,
                           a.to + static_cast<std::size_t>(y) * a.row_bytes, a.row_bytes);
}

// The bus is slow: each pixel crosses it once.
__global__ void __launch_bounds__(kCopyThreads) fetch(const __grid_constant__ FetchArguments a) {
  const int candidate = static_cast<int>(blockIdx.x);
  const int present = max(0, min(a.host->present - a.first, a.count));
  if (candidate == 0 && threadIdx.x == 0) *a.present = present;
  if (candidate >= present) return;
  const CandidateImage image = a.host->images[a.first + candidate];
  if (threadIdx.x == 0) a.images[candidate] = image;
  constexpr int kWord = sizeof(std::uint32_t);
  const auto* const from = reinterpret_cast<const std::uint32_t*>(
      a.from + static_cast<std::size_t>(a.first + candidate) * kImagePixels);
  auto* const to =
      reinterpret_cast<std::uint32_t*>(a.to + static_cast<std::size_t>(candidate) * kImagePixels);
  const int words = (image.width + kWord - 1) / kWord;
  for (int i = static_cast<int>(threadIdx.x); i < words * image.height; i += kCopyThreads) {
    const int place = i / words * (kImageSide / kWord) + i % words;
    to[place] = from[place];
  }
}

// ---- sources of ink

/// A tile of the frame.
template <typename Pixel>
struct TileInk {
  const Pixel* first;
  std::int64_t stride;
  int width;
  int height;

  static constexpr bool kHasPolarity = true;
  __device__ Pixel pixel(int x, int y) const { return row_at(first, stride, y)[x]; }
  __device__ int at(int x, int y) const { return gray_of(pixel(x, y)); }
};

struct ImageInk {
  const std::uint8_t* first;
  int width;
  int height;

  static constexpr bool kHasPolarity = false;
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

/// Calls `use(i, x, y)` for each pixel i of an image, in turn by all threads of the block.
template <typename Use>
__device__ void for_each_pixel(int width, int height, const Use& use) {
  // Divisions only here: they cost more than most uses of a pixel.
  constexpr int kStep = kContrastThreads;
  const int step_x = kStep % width;
  const int step_y = kStep / width;
  const int first = static_cast<int>(threadIdx.x);
  int x = first % width;
  int y = first / width;
#pragma unroll 4
  for (int i = first; i < width * height; i += kStep) {
    use(i, x, y);
    x += step_x;
    y += step_y;
    if (x >= width) {
      x -= width;
      ++y;
    }
  }
}

/// What a pass over an image finds.
struct InkSurvey {
  int darkest;  ///< 0: no ink
  int invert;   ///< 255 if the ink of a tile is dark
};

/// The sums of an image whose ink is 255 everywhere.
__device__ InkSums full_sums(int width, int height) {
  const Integer w = width;
  const Integer h = height;
  const Integer x = w * (w - 1) / 2 - w * (w / 2);  // of a row
  const Integer y = h * (h - 1) / 2 - h * (h / 2);  // of a column
  const Integer middle = h / 2;
  const Integer yy = (h - 1) * h * (2 * h - 1) / 6 - middle * h * (h - 1) + h * middle * middle;
  return {255 * w * h, 255 * x * h, 255 * y * w, 255 * x * y, 255 * yy * w};
}

/// Surveys an image, and copies it unless `copy` is null. The results are in shared memory: one
/// thread computes them, because arithmetic in double precision has few units. All threads must
/// call it, and a barrier must follow.
template <typename Ink>
__device__ void survey_ink(const ContrastArguments& a, const Ink& image, std::uint8_t* copy,
                           InkSurvey& survey, InkCenter& center) {
  InkSums sums;
  Integer border = 0;
  int extremes[2] = {255, 0};  // the least one; the largest one, negative
  for_each_pixel(image.width, image.height, [&](int i, int x, int y) {
    const int ink = image.at(x, y);
    if (copy != nullptr) copy[i] = static_cast<std::uint8_t>(ink);
    if (x == 0 || y == 0 || x == image.width - 1 || y == image.height - 1) border += ink;
    extremes[0] = min(extremes[0], ink);
    extremes[1] = min(extremes[1], -ink);
    sums.add(ink, x - image.width / 2, y - image.height / 2);
  });
  Integer values[6] = {sums.mass, sums.x, sums.y, sums.xy, sums.yy, border};
  combine_to_first_warp<kContrastThreads>(values, Sum());
  combine_to_first_warp<kContrastThreads>(extremes, Smaller());
  if (threadIdx.x != 0) return;
  sums = {values[0], values[1], values[2], values[3], values[4]};
  survey.darkest = -extremes[1];
  survey.invert = 0;
  if constexpr (Ink::kHasPolarity) {
    // Ink of the minority of the border (CharacterReader::draw).
    const Integer pixels = 2 * (image.width + image.height) - 4;
    if (a.ink == CharacterInk::kAuto ? 2 * values[5] > 255 * pixels
                                     : a.ink == CharacterInk::kDark) {
      const InkSums full = full_sums(image.width, image.height);
      sums = {full.mass - sums.mass, full.x - sums.x, full.y - sums.y, full.xy - sums.xy,
              full.yy - sums.yy};
      survey.darkest = 255 - extremes[0];
      survey.invert = 255;
    }
  }
  if (survey.darkest > 0) center = detail::ink_center(sums, image.width, image.height, a.deslant);
}

// The part of U0 that a band reads, with a border of zeros.
constexpr int kPatchRows = kContrastRows + 2 * kContrastReach;
constexpr int kPatchColumns = detail::kContrastSides.out + 2 * kContrastReach;

/// Writes that part; its first row is row `first` of U0. All threads must call it.
template <typename Ink>
__device__ void write_patch(const ContrastArguments& a, const Ink& image, int first, float* u0) {
  __shared__ std::uint8_t small[kImagePixels];
  __shared__ InkSurvey survey;
  __shared__ InkCenter center;
  __shared__ PatchTransform transform;
  __shared__ int samples;
  const bool copied = image.width * image.height <= kImagePixels;
  const int thread = static_cast<int>(threadIdx.x);
  survey_ink(a, image, copied ? small : nullptr, survey, center);
  __syncthreads();
  const int darkest = survey.darkest;
  const auto ink_at = [&](int x, int y) -> int {
    return (copied ? small[y * image.width + x] : image.at(x, y)) ^ survey.invert;
  };
  if (darkest > 0) {
    InkExtent extent;
    for_each_pixel(image.width, image.height, [&](int, int x, int y) {
      if (detail::counts_for_size(ink_at(x, y), darkest)) extent.add(center.upright(x, y), y);
    });
    double bounds[4] = {extent.left, -extent.right, extent.top, -extent.bottom};
    combine_to_first_warp<kContrastThreads>(bounds, Smaller());
    if (thread == 0) {
      extent = {bounds[0], -bounds[1], bounds[2], -bounds[3]};
      transform = detail::patch_transform(center, extent, a.extent);
      samples = detail::samples_per_axis(transform);
    }
    __syncthreads();
  }
  constexpr int kSide = kNeocognitronSide;
  for (int i = thread; i < kPatchRows * kPatchColumns; i += kContrastThreads) {
    const int x = a.first - kContrastReach + i % kPatchColumns;
    const int y = first + i / kPatchColumns;
    const bool inside = darkest > 0 && x >= 0 && y >= 0 && x < kSide && y < kSide;
    u0[i] = inside
                ? detail::patch_pixel(ink_at, image.width, image.height, transform, samples, x, y)
                : 0.0f;
  }
}

// ---- UG

struct PatchTap {
  int offset;  ///< from the pixel of the window's upper left corner
  float weight;
};
constexpr int kMostContrastTaps = (2 * kContrastReach + 1) * (2 * kContrastReach + 1);

/// (1) of a band of a candidate. The last block of the candidate keeps to the capacity.
template <typename Ink>
__device__ void write_contrast(const ContrastArguments& a, const Ink& image, int candidate) {
  constexpr int kSide = detail::kContrastSides.out;
  __shared__ float u0[kPatchRows * kPatchColumns];
  __shared__ PatchTap taps[kMostContrastTaps];
  __shared__ unsigned found;
  const int thread = static_cast<int>(threadIdx.x);
  const int begin = static_cast<int>(blockIdx.x) * kContrastRows;
  const int end = min(begin + kContrastRows, kSide);
  const int first = a.first + begin - kContrastReach;
  if (thread == 0) found = 0;
  for (int i = thread; i < a.tap_count; i += kContrastThreads) {
    const WindowTap tap = a.taps[i];
    taps[i] = {(tap.dy + kContrastReach) * kPatchColumns + tap.dx + kContrastReach, tap.weight};
  }
  write_patch(a, image, first, u0);
  __syncthreads();
  float* const out = a.candidates.contrast + static_cast<std::size_t>(candidate) * kContrastCells;
  unsigned active = 0;
  for (int i = thread; i < (end - begin) * kSide; i += kContrastThreads) {
    const int x = i % kSide;
    const int y = i / kSide;
    const float* const window = u0 + y * kPatchColumns + x;
    float sum = 0.0f;
#pragma unroll 8
    for (int t = 0; t < a.tap_count; ++t) sum = fmaf(taps[t].weight, window[taps[t].offset], sum);
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
  const TileInk<Pixel> tile{row_at(static_cast<const Pixel*>(a.frame->image), stride, y) + x,
                            stride, a.tile.width, a.tile.height};
  if constexpr (std::is_same_v<Pixel, float>) {
    bool finite = true;
    for_each_pixel(tile.width, tile.height,
                   [&](int, int u, int v) { finite = finite && isfinite(tile.pixel(u, v)); });
    if (!finite) atomicOr(&a.state->bad, 1u);
  }
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

const Kernel<CopyFrameArguments> kCopyFrameKernel = copy_frame;
const Kernel<FetchArguments> kFetchKernel = fetch;

Kernel<ContrastArguments> tile_contrast_kernel(PixelFormat format) noexcept {
  return kernel_for<ContrastArguments>(format, contrast_of_tiles<std::uint8_t>,
                                       contrast_of_tiles<std::uint16_t>, contrast_of_tiles<float>);
}

const Kernel<ContrastArguments> kImageContrastKernel = contrast_of_images;

}  // namespace ocellus::cuda
