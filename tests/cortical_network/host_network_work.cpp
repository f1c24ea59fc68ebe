#include "kernels/simt.h"
// Must come after simt.h.
#include "cortical_network/host_network_work.h"
#include "kernels/cortical_network/network.h"

namespace ocellus::test {
namespace {

template <typename Argument>
bool match(cuda::Kernel<Argument> known, const void* kernel, unsigned blocks, unsigned threads,
           void** arguments, std::function<void()>& work) {
  if (reinterpret_cast<const void*>(known) != kernel) return false;
  const Argument argument = *static_cast<const Argument*>(arguments[0]);
  work = [=] { simt::launch(known, blocks, 1, threads, argument); };
  return true;
}

}  // namespace

std::function<void()> host_network_work(const void* kernel, unsigned blocks, unsigned threads,
                                        void** arguments) {
  std::function<void()> work;
  const auto is = [&](auto known) {
    return match(known, kernel, blocks, threads, arguments, work);
  };
  static_cast<void>(is(cuda::kNetworkStartRangeKernel) || is(cuda::kNetworkLevelKernel) ||
                    is(cuda::kNetworkTopKernel) || is(cuda::network_subtree_kernel(1)) ||
                    is(cuda::network_subtree_kernel(2)) || is(cuda::network_subtree_kernel(4)));
  return work;
}

}  // namespace ocellus::test
