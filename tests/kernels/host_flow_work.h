// The kernels of optical flow with uniform kernels, and of WindowFlow, as work of the host, for the
// fake driver.
#pragma once

#include <cstddef>
#include <functional>

namespace ocellus::test {

/// What a launch of such a kernel does; empty for another kernel.
std::function<void()> host_flow_work(const void* kernel, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned threads, std::size_t shared_bytes,
                                     void** arguments);

}  // namespace ocellus::test
