#include "kernels/cortical_network/network_launch.h"

namespace ocellus::cuda {

Expected<void> launch_part(DeviceWork& work, Scope& cuda, const NetworkArguments& network,
                           const NetworkPart& part, bool counts) noexcept {
  LaunchOrder order = LaunchOrder::kAfter;
  return for_each_kernel(
      network, part,
      [&](auto kernel, unsigned blocks, int threads, const auto& argument) {
        const LaunchOrder own = order;
        order = LaunchOrder::kOverlapping;
        return work.launch(cuda, kernel, dim3(blocks), dim3(static_cast<unsigned>(threads)), 0,
                           argument, own);
      },
      counts);
}

}  // namespace ocellus::cuda
