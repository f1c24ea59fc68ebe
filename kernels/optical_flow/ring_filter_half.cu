#include "kernels/optical_flow/ring_filter.cuh"

namespace ocellus::cuda {

Kernel<RingArguments> ring_filter_of_halves(const RingVariant& variant) noexcept {
  if (variant.nx > kNarrowTaps) return wide_ring_filter<__half>(variant);
  return variant.lane_pixels == 4 ? narrow_ring_filter<__half, 4>(variant)
                                  : narrow_ring_filter<__half, 2>(variant);
}

}  // namespace ocellus::cuda
