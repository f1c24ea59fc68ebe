// The kernels of a cortical network as work of the host, for the fake driver.
#pragma once

#include <functional>

namespace ocellus::test {

/// What a launch of a kernel of the network does; empty for another kernel.
std::function<void()> host_network_work(const void* kernel, unsigned blocks, unsigned threads,
                                        void** arguments);

}  // namespace ocellus::test
