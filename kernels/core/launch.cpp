#include "kernels/core/launch.h"

namespace ocellus::cuda {

Expected<void> launch_code(Scope& cuda, cudaStream_t stream, const void* kernel, dim3 grid,
                           dim3 block, std::size_t shared_bytes, void* argument,
                           LaunchOrder order) noexcept {
  // Graph capture supports overlapping kernels since CUDA 12.3.
  constexpr bool kGraphsOverlap = CUDART_VERSION >= 12030;
  if (order == LaunchOrder::kOverlapping &&
      (!kGraphsOverlap || cuda.device().traits().compute_capability < 90))
    order = LaunchOrder::kAfter;
  cudaLaunchAttribute attribute{};
  if (order == LaunchOrder::kTogether) {
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  } else {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = order == LaunchOrder::kAfter ? 0 : 1;
  return cuda(kCudaCalls.launch_kernel, &config, kernel, &argument);
}

}  // namespace ocellus::cuda
