// Bands with states in global memory, for images that are too large for shared memory.
#include "kernels/halftone/bands.cuh"

namespace ocellus::cuda {

Kernel<BandArguments> large_band_kernel(int radius) noexcept {
  return band_kernel_for<StatePlace::kGlobal>(radius);
}

}  // namespace ocellus::cuda
