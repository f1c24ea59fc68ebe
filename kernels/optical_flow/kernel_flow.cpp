#include "kernels/optical_flow/kernel_flow.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "core/failure.h"
#include "image/pixel_rows.h"
#include "kernels/optical_flow/window_launch.h"
#include "optical_flow/kernel_source.h"

namespace ocellus::cuda {
namespace {

std::size_t coefficient_bytes(CoefficientStorage storage) {
  return storage == CoefficientStorage::kHalf ? sizeof(__half) : sizeof(float);
}

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
  tiles_x_ = (support.width + kTileWidth - 1) / kTileWidth;
  const int tiles_y = (support.height + tile_rows - 1) / tile_rows;
  tiles_ = tiles_x_ * tiles_y;
  const int left = std::max(0, support.x - (plan.nx - 1 - plan.nx / 2));
  const int top = std::max(0, support.y - (plan.ny - 1 - plan.ny / 2));
  reach_ = {left, top, std::min(plan.size.width, support.x + support.width + plan.nx / 2) - left,
            std::min(plan.size.height, support.y + support.height + plan.ny / 2) - top};
  // Whole tiles, which are written without checking for the edge of the support.
  derivative_stride_ = detail::align_up(static_cast<std::size_t>(tiles_x_ * kTileWidth), 32);
  derivative_plane_ = derivative_stride_ * static_cast<std::size_t>(tiles_y * tile_rows);
  solved_stride_ = detail::align_up(static_cast<std::size_t>(plan.flow.width), 32);
  solved_plane_ = solved_stride_ * static_cast<std::size_t>(plan.flow.height);
}

void KernelFlow::layout(LayoutBuilder& device) noexcept {
  const auto pairs = static_cast<std::size_t>(plan_.convolutions * plan_.terms);
  if (per_pixel()) {
    const std::size_t value = static_cast<std::size_t>(tile_pixels(ring_variant_.lane_pixels)) *
                              coefficient_bytes(plan_.storage);
    bank_tile_bytes_ = pairs * static_cast<std::size_t>(plan_.nx + plan_.ny + plan_.nt) * value;
    const auto tiles = static_cast<std::size_t>(tiles_);
    bank_ = device.take<char>(tiles * bank_tile_bytes_);
    ring_ = device.take<char>(tiles * pairs * static_cast<std::size_t>(plan_.nt) * value);
  } else {
    const auto rows = static_cast<std::size_t>(reach_.height);
    const auto pixel = static_cast<std::size_t>(bytes_per_pixel(plan_.format));
    taps_ = device.take<UniformTaps>(1);
    kept_stride_ = detail::align_up(static_cast<std::size_t>(reach_.width), 64);
    kept_ = device.take<char>(static_cast<std::size_t>(plan_.nt) * rows * kept_stride_ * pixel);
    // The number of distinct profiles is known only after the kernels were read. Reserve memory for
    // the largest possible number.
    sums_stride_ = detail::align_up(static_cast<std::size_t>(reach_.width), 32);
    sums_ = device.take<float>(pairs * rows * sums_stride_);
  }
  if (!plan_.filter_only)
    derivatives_ =
        device.take<float>(static_cast<std::size_t>(plan_.convolutions) * derivative_plane_);
  if (plan_.deviation) solved_ = device.take<float>(3 * solved_plane_);
}

Expected<void> KernelFlow::load_uniform(Scope& cuda, const KernelConfig& kernels,
                                        detail::KernelNoise& noise) noexcept {
  OCELLUS_TRY(uniform_.load(plan_, kernels, noise));
  const std::unique_ptr<UniformTaps> taps(new (std::nothrow) UniformTaps{});
  if (!taps) return detail::no_memory_for_kernels();
  for (int t = 0; t < uniform_.temporal_count; ++t)
    std::copy_n(uniform_.temporal[t], plan_.nt, taps->temporal[t]);
  for (int h = 0; h < uniform_.horizontal_count; ++h)
    std::copy_n(uniform_.horizontal[h].taps, plan_.nx, taps->horizontal[h]);
  for (int v = 0; v < uniform_.vertical_count; ++v)
    std::copy_n(uniform_.vertical[v].taps, plan_.ny, taps->vertical[v]);
  return upload(cuda, taps_, taps.get(), sizeof(UniformTaps));
}

Expected<void> KernelFlow::load_per_pixel(Scope& cuda, const KernelConfig& kernels,
                                          detail::KernelNoise& noise) noexcept {
  const int pairs = plan_.convolutions * plan_.terms;
  const int taps = plan_.nx + plan_.ny + plan_.nt;
  const int tile_rows = tile_height(ring_variant_.lane_pixels);
  const auto pixels = static_cast<std::size_t>(tile_pixels(ring_variant_.lane_pixels));
  const bool half = plan_.storage == CoefficientStorage::kHalf;
  const std::size_t row_bytes = static_cast<std::size_t>(tiles_x_) * bank_tile_bytes_;
  const std::unique_ptr<char[]> row(new (std::nothrow) char[row_bytes]());
  if (!row) return detail::no_memory_for_kernels();
  const auto take = [&](int x, int y, int pair, const float* wx, const float* wy, const float* wt) {
    const int pixel = y % tile_rows * kTileWidth + x % kTileWidth;
    std::size_t at = static_cast<std::size_t>((x / kTileWidth * pairs + pair) * taps) * pixels +
                     static_cast<std::size_t>(pixel);
    const auto put = [&](float tap) {
      if (half) {
        reinterpret_cast<__half*>(row.get())[at] = __float2half_rn(tap);
      } else {
        reinterpret_cast<float*>(row.get())[at] = tap;
      }
      at += pixels;
    };
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

ResultPlanes KernelFlow::result_planes() const noexcept {
  return {derivatives_, static_cast<std::int64_t>(derivative_stride_),
          static_cast<std::int64_t>(derivative_plane_), std::numeric_limits<float>::quiet_NaN()};
}

std::size_t KernelFlow::spatial_bytes() const noexcept {
  return spatial_shared_bytes(plan_.nx, plan_.ny, uniform_.horizontal_count,
                              uniform_.vertical_count);
}

RingArguments KernelFlow::ring_arguments(int slot) const noexcept {
  RingArguments a{};
  a.frame = params(slot);
  a.state = state();
  a.outcome = outcome_of_convolutions(slot);
  a.format = plan_.format;
  a.image_width = plan_.size.width;
  a.image_height = plan_.size.height;
  a.x = plan_.support.x;
  a.y = plan_.support.y;
  a.width = plan_.support.width;
  a.height = plan_.support.height;
  a.tiles_x = tiles_x_;
  a.tiles = tiles_;
  a.nx = plan_.nx;
  a.ny = plan_.ny;
  a.nt = plan_.nt;
  a.convolutions = plan_.convolutions;
  a.terms = plan_.terms;
  a.bank = bank_;
  a.ring = ring_;
  a.result = result_planes();
  a.scale = detail::gray_scale(plan_.format);
  return a;
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
  const std::int64_t items = static_cast<std::int64_t>(tiles_) * plan_.convolutions;
  const std::int64_t most = std::max(1, *at_once * traits.multiprocessors);
  ring_blocks_ = static_cast<unsigned>(std::min(items, most));
  return {};
}

Expected<void> KernelFlow::load(Scope& cuda, const KernelConfig& kernels) noexcept {
  OCELLUS_TRY(load_check_kernel(cuda));
  if (!plan_.filter_only) {
    const WindowLaunch window = window_launch(plan_, WindowSource::kKernels);
    OCELLUS_TRY(load_kernel(cuda, window.kernel, window.shared_bytes));
  }
  if (plan_.deviation) {
    OCELLUS_TRY(
        load_kernel(cuda, deviation_kernel(FlowMethod::kKernels), deviation_shared_bytes()));
  }
  detail::KernelNoise noise;
  if (per_pixel()) {
    OCELLUS_TRY(choose_ring_filter(cuda));
    OCELLUS_TRY(load_per_pixel(cuda, kernels, noise));
  } else {
    OCELLUS_TRY(load_kernel(cuda, temporal_sums_kernel(plan_.format), 0));
    OCELLUS_TRY(load_uniform(cuda, kernels, noise));
    OCELLUS_TRY(load_kernel(cuda, spatial_sums_kernel(), spatial_bytes()));
  }
  deviation_ = detail::kernel_deviation(plan_, noise);
  return {};
}

Expected<void> KernelFlow::record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  OCELLUS_TRY(launch_check(cuda, slot, stream));
  OCELLUS_TRY(per_pixel() ? record_per_pixel(cuda, slot, stream)
                          : record_uniform(cuda, slot, stream));
  if (plan_.filter_only) return {};

  WindowArguments a = window_arguments(plan_);
  a.frame = params(slot);
  a.state = state();
  a.outcome = plan_.deviation ? nullptr : outcome(slot);
  a.derivatives = derivatives_;
  a.stride = static_cast<std::int64_t>(derivative_stride_);
  a.plane = static_cast<std::int64_t>(derivative_plane_);
  if (plan_.deviation) {
    a.solved = solved_;
    a.solved_stride = static_cast<std::int64_t>(solved_stride_);
    a.solved_plane = static_cast<std::int64_t>(solved_plane_);
    a.invalid = std::numeric_limits<float>::quiet_NaN();
  }
  const WindowLaunch window = window_launch(plan_, WindowSource::kKernels);
  OCELLUS_TRY(
      launch(cuda, stream, window.kernel, window.grid, window.block, window.shared_bytes, a));
  return plan_.deviation ? record_deviation(cuda, slot, stream) : Expected<void>{};
}

Expected<void> KernelFlow::record_deviation(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  const Rect& flow = plan_.flow;
  DeviationArguments a = deviation_arguments(slot, flow);
  a.model = deviation_;
  const std::size_t first =
      static_cast<std::size_t>(flow.y - plan_.support.y) * derivative_stride_ +
      static_cast<std::size_t>(flow.x - plan_.support.x);
  a.kernels = {solved_,
               static_cast<std::int64_t>(solved_stride_),
               static_cast<std::int64_t>(solved_plane_),
               derivatives_ + first,
               static_cast<std::int64_t>(derivative_stride_),
               static_cast<std::int64_t>(derivative_plane_)};
  return launch(
      cuda, stream, deviation_kernel(FlowMethod::kKernels),
      dim3(block_count(a.width, kPyramidTileWidth), block_count(a.height, kDeviationTileHeight)),
      dim3(kPyramidThreads), deviation_shared_bytes(), a);
}

Expected<void> KernelFlow::record_per_pixel(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  const RingArguments a = ring_arguments(slot);
  return launch(cuda, stream, ring_kernel_, dim3(ring_blocks_),
                dim3(static_cast<unsigned>(32 * ring_warps_)),
                ring_shared_bytes(ring_variant_, ring_warps_), a);
}

Expected<void> KernelFlow::record_uniform(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  TemporalArguments t{};
  t.frame = params(slot);
  t.state = state();
  t.taps = taps_;
  t.x = reach_.x;
  t.y = reach_.y;
  t.width = reach_.width;
  t.height = reach_.height;
  t.nt = plan_.nt;
  t.profiles = uniform_.temporal_count;
  t.kept = kept_;
  t.kept_stride = static_cast<std::int64_t>(kept_stride_);
  t.sums = sums_;
  t.sums_stride = static_cast<std::int64_t>(sums_stride_);
  t.sums_plane = static_cast<std::int64_t>(sums_stride_) * reach_.height;
  const dim3 grid(block_count(t.width, kTemporalWidth), block_count(t.height, kTemporalHeight),
                  block_count(t.profiles, kTemporalProfiles));
  OCELLUS_TRY(
      launch(cuda, stream, temporal_sums_kernel(plan_.format), grid, dim3(kTemporalThreads), 0, t));

  SpatialArguments s{};
  s.frame = params(slot);
  s.state = state();
  s.outcome = outcome_of_convolutions(slot);
  s.taps = taps_;
  s.sums_width = reach_.width;
  s.sums_height = reach_.height;
  s.x = plan_.support.x - reach_.x;
  s.y = plan_.support.y - reach_.y;
  s.width = plan_.support.width;
  s.height = plan_.support.height;
  s.nx = plan_.nx;
  s.ny = plan_.ny;
  s.nt = plan_.nt;
  s.horizontals = uniform_.horizontal_count;
  s.kernels = uniform_.vertical_count;
  for (int v = 0; v < uniform_.vertical_count; ++v) {
    const detail::UniformKernels::Vertical& vertical = uniform_.vertical[v];
    s.pass[v] = {static_cast<std::uint8_t>(uniform_.horizontal[vertical.horizontal].temporal),
                 static_cast<std::uint8_t>(vertical.horizontal),
                 static_cast<std::uint8_t>(vertical.convolution)};
  }
  s.sums = sums_;
  s.sums_stride = t.sums_stride;
  s.sums_plane = t.sums_plane;
  s.result = result_planes();
  return launch(cuda, stream, spatial_sums_kernel(),
                dim3(block_count(s.width, kSpatialWidth), block_count(s.height, kSpatialHeight)),
                dim3(kSpatialThreads), spatial_bytes(), s);
}

}  // namespace ocellus::cuda
