#include "kernels/optical_flow/ring_filter.cuh"

namespace ocellus::cuda {

Kernel<RingArguments> ring_filter_of_halves(const RingVariant& variant) noexcept {
  return variant.lane_pixels == 4 ? some_ring_filter<__half, 4>(variant)
                                  : some_ring_filter<__half, 2>(variant);
}

}  // namespace ocellus::cuda
