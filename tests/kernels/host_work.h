// Kernels as work of the host, for the fake driver. Each program links one definition:
// host_flow_work.cpp, host_cells_work.cpp, host_digits_work.cpp or host_network_operator_work.cpp.
#pragma once

#include <cstddef>
#include <functional>

namespace ocellus::test {

struct HostLaunch {
  const void* kernel;
  unsigned grid_x;
  unsigned grid_y;
  unsigned grid_z;
  unsigned threads;  ///< of a block
  std::size_t shared_bytes;
  void** arguments;
};

/// Blocks on a multiprocessor of kernels whose number of blocks the library asks for; 0: such
/// kernels do not run on the host.
extern const int kHostResidentBlocks;
/// What the launch does; empty if the kernel does not run on the host.
std::function<void()> host_work(const HostLaunch& launch);

}  // namespace ocellus::test
