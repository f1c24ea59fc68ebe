#include "kernels/optical_flow/ring_filter.cuh"

namespace ocellus::cuda {

Kernel<RingArguments> ring_filter_of_floats(const RingVariant& variant) noexcept {
  return some_ring_filter<float, 2>(variant);
}

Kernel<RingArguments> ring_filter_kernel(const RingVariant& variant) noexcept {
  return variant.storage == CoefficientStorage::kHalf ? ring_filter_of_halves(variant)
                                                      : ring_filter_of_floats(variant);
}

std::size_t ring_shared_bytes(const RingVariant& variant, int warps) noexcept {
  const int tap_bytes = variant.storage == CoefficientStorage::kHalf ? 2 : 4;
  const RingWarpLayout layout(tap_bytes, variant.copy, variant.lane_pixels, variant.nx, variant.ny,
                              variant.nt);
  return static_cast<std::size_t>(kBarrierBytes + warps * layout.bytes());
}

}  // namespace ocellus::cuda
