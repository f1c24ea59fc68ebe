#include "kernels/optical_flow/kernel_flow.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "core/failure.h"
#include "image/pixel_rows.h"
#include "optical_flow/kernel_source.h"

namespace ocellus::cuda {
namespace {

/// Must not depend on the device, because the footprint depends on it.
int lane_pixels_for(const OpticalFlowPlan& plan) {
  return plan.storage == CoefficientStorage::kHalf && is_large(plan.support) ? 4 : 2;
}

}  // namespace

KernelFlow::KernelFlow(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept
    : FlowOperator(plan, kernels),
      ring_variant_{plan.storage, RingCopy::kDirect, lane_pixels_for(plan),
                    plan.nx,      plan.ny,           plan.nt} {
  const Rect& support = plan.support;
  const int tile_rows = tile_height(ring_variant_.lane_pixels);
  ring_.tiles_x = (support.width + kTileWidth - 1) / kTileWidth;
  const int tiles_y = (support.height + tile_rows - 1) / tile_rows;
  ring_.tiles = ring_.tiles_x * tiles_y;
  ring_.format = plan.format;
  ring_.image = plan.size;
  ring_.support = support;
  ring_.nx = plan.nx;
  ring_.ny = plan.ny;
  ring_.convolutions = plan.convolutions;
  ring_.terms = plan.terms;
  ring_.scale = detail::gray_scale(plan.format);
  full_.image = plan.size;
  full_.support = support;
  full_.tiles_x = (support.width + kFullWidth - 1) / kFullWidth;
  full_.nx = plan.nx;
  full_.ny = plan.ny;
  full_.convolutions = plan.convolutions;
  full_.scale = ring_.scale;
  full_.kept = float_planes(full_.tiles_x * kFullWidth + plan.nx - 1, support.height + plan.ny - 1);
  // The pixels that the kernels of the support read, clipped to the image.
  Rect& reach = temporal_.region;
  const int left = std::max(0, support.x - (plan.nx - 1 - plan.nx / 2));
  const int top = std::max(0, support.y - (plan.ny - 1 - plan.ny / 2));
  reach = {left, top, std::min(plan.size.width, support.x + support.width + plan.nx / 2) - left,
           std::min(plan.size.height, support.y + support.height + plan.ny / 2) - top};
  temporal_.kept_stride = (reach.width + 63) / 64 * 64;
  temporal_.sums = float_planes(reach.width, reach.height);
  spatial_.sums_size = {reach.width, reach.height};
  spatial_.support = moved_into(support, reach);
  spatial_.nx = plan.nx;
  spatial_.ny = plan.ny;
  // Whole tiles, which are written without checking for the edge of the support.
  derivatives_ = float_planes(ring_.tiles_x * kTileWidth, tiles_y * tile_rows);
  deviation_.solved = float_planes(plan.flow.width, plan.flow.height);
}

void KernelFlow::layout_method(LayoutBuilder& device) noexcept {
  const int pairs = plan_.convolutions * plan_.terms;
  const auto take_planes = [&](FloatPlanes& planes, int count) {
    planes.base = device.take<float>(static_cast<std::size_t>(count * planes.plane));
  };
  if (per_pixel()) {
    const bool half = plan_.storage == CoefficientStorage::kHalf;
    const int pixels = full() ? kFullWidth : tile_pixels(ring_variant_.lane_pixels);
    const std::size_t value =
        static_cast<std::size_t>(pairs * pixels) * (half ? sizeof(__half) : sizeof(float));
    const auto tiles =
        static_cast<std::size_t>(full() ? full_.tiles_x * plan_.support.height : ring_.tiles);
    bank_tile_bytes_ = static_cast<std::size_t>(plan_.term_taps) * value;
    bank_ = device.take<char>(tiles * bank_tile_bytes_);
    if (full())
      take_planes(full_.kept, plan_.nt);
    else
      ring_.ring = device.take<char>(tiles * static_cast<std::size_t>(plan_.nt) * value);
    ring_.bank = full_.bank = bank_;
  } else {
    const std::int64_t kept = plan_.nt * temporal_.region.height * temporal_.kept_stride;
    temporal_.taps = device.take<UniformTaps>(1);
    temporal_.kept =
        device.take<char>(static_cast<std::size_t>(kept * bytes_per_pixel(plan_.format)));
    // The number of distinct profiles is known only after the kernels were read. Reserve memory for
    // the largest possible number.
    take_planes(temporal_.sums, pairs);
  }
  if (!plan_.filter_only) take_planes(derivatives_, plan_.convolutions);
  if (plan_.deviation) take_planes(deviation_.solved, 3);
}

Expected<void> KernelFlow::load_uniform(Scope& cuda, const KernelConfig& kernels,
                                        detail::KernelNoise& noise) noexcept {
  const std::unique_ptr<detail::UniformKernels> uniform(new (std::nothrow) detail::UniformKernels);
  const std::unique_ptr<UniformTaps> taps(new (std::nothrow) UniformTaps{});
  if (!uniform || !taps) return detail::no_memory_for_kernels();
  OCELLUS_TRY(uniform->load(plan_, kernels, noise));
  for (int t = 0; t < uniform->temporal_count; ++t)
    std::copy_n(uniform->temporal[t], plan_.nt, taps->temporal[t]);
  for (int h = 0; h < uniform->horizontal_count; ++h)
    std::copy_n(uniform->horizontal[h].taps, plan_.nx, taps->horizontal[h]);
  for (int v = 0; v < uniform->vertical_count; ++v) {
    const detail::UniformKernels::Vertical& vertical = uniform->vertical[v];
    std::copy_n(vertical.taps, plan_.ny, taps->vertical[v]);
    spatial_.pass[v] = {
        static_cast<std::uint8_t>(uniform->horizontal[vertical.horizontal].temporal),
        static_cast<std::uint8_t>(vertical.horizontal),
        static_cast<std::uint8_t>(vertical.convolution)};
  }
  temporal_.profiles = uniform->temporal_count;
  spatial_.taps = temporal_.taps;
  spatial_.horizontals = uniform->horizontal_count;
  spatial_.kernels = uniform->vertical_count;
  spatial_.sums = temporal_.sums;
  spatial_.result = derivatives_;
  return upload(cuda, temporal_.taps, taps.get(), sizeof(UniformTaps));
}

Expected<void> KernelFlow::load_per_pixel(Scope& cuda, const KernelConfig& kernels,
                                          detail::KernelNoise& noise) noexcept {
  const int pairs = plan_.convolutions * plan_.terms;
  const int taps = plan_.term_taps;
  const int tile_width = full() ? kFullWidth : kTileWidth;
  const int tile_rows = full() ? 1 : tile_height(ring_variant_.lane_pixels);
  const auto pixels = static_cast<std::size_t>(tile_width * tile_rows);
  const bool half = plan_.storage == CoefficientStorage::kHalf;
  const std::size_t row_bytes =
      static_cast<std::size_t>(full() ? full_.tiles_x : ring_.tiles_x) * bank_tile_bytes_;
  const std::unique_ptr<char[]> row(new (std::nothrow) char[row_bytes]());
  if (!row) return detail::no_memory_for_kernels();
  const auto take = [&](int x, int y, int pair, const float* wx, const float* wy, const float* wt) {
    const int pixel = y % tile_rows * tile_width + x % tile_width;
    std::size_t at = static_cast<std::size_t>(x / tile_width * pairs + pair) *
                         static_cast<std::size_t>(taps) * pixels +
                     static_cast<std::size_t>(pixel);
    const auto put = [&](float tap) {
      if (half) {
        reinterpret_cast<__half*>(row.get())[at] = __float2half_rn(tap);
      } else {
        reinterpret_cast<float*>(row.get())[at] = tap;
      }
      at += pixels;
    };
    if (full()) {
      const int plane = plan_.nx * plan_.ny;
      for (int t = 0; t < plan_.nt; ++t)
        for (int i = plane - 1; i >= 0; --i) put(wx[t * plane + i]);
      return;
    }
    for (int i = plan_.nx - 1; i >= 0; --i) put(wx[i]);
    for (int i = plan_.ny - 1; i >= 0; --i) put(wy[i]);
    for (int i = 0; i < plan_.nt; ++i) put(wt[i]);
  };
  const auto end_row = [&](int y) -> Expected<void> {
    if (y % tile_rows < tile_rows - 1 && y < plan_.support.height - 1) return {};
    char* to = bank_ + static_cast<std::size_t>(y / tile_rows) * row_bytes;
    OCELLUS_TRY(upload(cuda, to, row.get(), row_bytes));
    std::memset(row.get(), 0, row_bytes);
    return {};
  };
  return detail::read_support(plan_, kernels, noise, take, end_row);
}

// Selects the fastest way of copying that the device supports and the library was compiled for.
// Shared memory must have room for at least kLeastWarps warps.
Expected<void> KernelFlow::choose_ring_filter(Scope& cuda) noexcept {
  constexpr int kLeastWarps = 2;
  const DeviceTraits& traits = device().traits();
  for (const RingCopy copy : {RingCopy::kBulk, RingCopy::kAsync, RingCopy::kDirect}) {
    ring_variant_.copy = copy;
    ring_kernel_ = ring_filter_kernel(ring_variant_);
    cudaFuncAttributes code{};
    OCELLUS_TRY(
        cuda(kCudaCalls.function_attributes, &code, reinterpret_cast<const void*>(ring_kernel_)));
    if (std::min(code.ptxVersion, traits.compute_capability) < ring_copy_capability(copy)) continue;
    ring_warps_ = kRingWarps;
    const auto room = static_cast<std::size_t>(std::max(0, traits.shared_bytes_per_block));
    while (ring_warps_ > 1 && ring_shared_bytes(ring_variant_, ring_warps_) > room) --ring_warps_;
    if (ring_warps_ >= kLeastWarps) break;
  }
  const std::size_t shared = ring_shared_bytes(ring_variant_, ring_warps_);
  OCELLUS_TRY(load_kernel(cuda, ring_kernel_, shared));
  OCELLUS_TRY_ASSIGN(at_once, resident_blocks(cuda, ring_kernel_, 32 * ring_warps_, shared));
  const std::int64_t items = static_cast<std::int64_t>(ring_.tiles) * plan_.convolutions;
  const std::int64_t most = std::max(1, *at_once * traits.multiprocessors);
  ring_blocks_ = static_cast<unsigned>(std::min(items, most));
  return {};
}

Expected<void> KernelFlow::load(Scope& cuda, const KernelConfig& kernels) noexcept {
  OCELLUS_TRY(load_check_kernel(cuda));
  if (!plan_.filter_only) {
    window_ = window_launch(plan_, WindowSource::kKernels);
    window_.arguments.derivatives = derivatives_;
    OCELLUS_TRY(load_kernel(cuda, window_.kernel, window_.shared_bytes));
  }
  detail::KernelNoise noise;
  if (full()) {
    full_.result = derivatives_;
    OCELLUS_TRY(load_kernel(cuda, keep_frame_kernel(plan_.format), 0));
    OCELLUS_TRY(load_kernel(cuda, full_filter_kernel(plan_.storage), 0));
    OCELLUS_TRY(load_per_pixel(cuda, kernels, noise));
  } else if (per_pixel()) {
    ring_.result = derivatives_;
    OCELLUS_TRY(choose_ring_filter(cuda));
    OCELLUS_TRY(load_per_pixel(cuda, kernels, noise));
  } else {
    OCELLUS_TRY(load_kernel(cuda, temporal_sums_kernel(plan_.format), 0));
    OCELLUS_TRY(load_uniform(cuda, kernels, noise));
    OCELLUS_TRY(load_kernel(cuda, spatial_sums_kernel(), spatial_bytes()));
  }
  if (!plan_.deviation) return {};
  window_.arguments.solved = deviation_.solved;
  window_.arguments.invalid = std::numeric_limits<float>::quiet_NaN();
  const Rect& flow = plan_.flow;
  deviation_.level.region = flow;
  deviation_.target = final_target(flow);
  deviation_.model = detail::kernel_deviation(plan_, noise);
  deviation_.cells = deviation_cells();
  deviation_.derivatives = derivatives_;
  deviation_.derivatives.base +=
      (flow.y - plan_.support.y) * derivatives_.stride + (flow.x - plan_.support.x);
  return load_kernel(cuda, deviation_kernel(FlowMethod::kKernels), 0);
}

Expected<void> KernelFlow::record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  OCELLUS_TRY(launch_check(cuda, slot, stream));
  if (full()) {
    constexpr int kRows = kFullThreads / 32;
    OCELLUS_TRY(launch(cuda, stream, keep_frame_kernel(plan_.format),
                       dim3(static_cast<unsigned>(full_.kept.stride / 32),
                            block_count(plan_.support.height + plan_.ny - 1, kRows)),
                       dim3(kFullThreads), 0, with_frame(full_, slot, false)));
    OCELLUS_TRY(
        launch(cuda, stream, full_filter_kernel(plan_.storage),
               dim3(static_cast<unsigned>(full_.tiles_x), block_count(plan_.support.height, kRows)),
               dim3(kFullThreads), 0, with_frame(full_, slot, plan_.filter_only)));
  } else if (per_pixel()) {
    OCELLUS_TRY(launch(cuda, stream, ring_kernel_, dim3(ring_blocks_),
                       dim3(static_cast<unsigned>(32 * ring_warps_)),
                       ring_shared_bytes(ring_variant_, ring_warps_),
                       with_frame(ring_, slot, plan_.filter_only)));
  } else {
    const Rect& reach = temporal_.region;
    OCELLUS_TRY(launch(
        cuda, stream, temporal_sums_kernel(plan_.format),
        dim3(block_count(reach.width, kTemporalWidth), block_count(reach.height, kTemporalHeight),
             block_count(temporal_.profiles, kTemporalProfiles)),
        dim3(kTemporalThreads), 0, with_frame(temporal_, slot, false)));
    OCELLUS_TRY(launch(cuda, stream, spatial_sums_kernel(),
                       dim3(block_count(plan_.support.width, kSpatialWidth),
                            block_count(plan_.support.height, kSpatialHeight)),
                       dim3(kSpatialThreads), spatial_bytes(),
                       with_frame(spatial_, slot, plan_.filter_only)));
  }
  if (plan_.filter_only) return {};

  OCELLUS_TRY(launch(cuda, stream, window_.kernel, window_.grid, window_.block,
                     window_.shared_bytes, with_frame(window_.arguments, slot, !plan_.deviation)));
  if (!plan_.deviation) return {};
  return launch(cuda, stream, deviation_kernel(FlowMethod::kKernels),
                dim3(block_count(plan_.roi.width, kPyramidTileWidth),
                     block_count(plan_.roi.height, kDeviationTileHeight)),
                dim3(kPyramidThreads), 0, with_frame(deviation_, slot, true));
}

}  // namespace ocellus::cuda
