// A CUDA driver that is none: the table of CUDA's functions as the library sees it, on host memory,
// with everything that is made counted and any call made to fail. Needs no GPU.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/cuda_calls.h"

namespace ocellus::test {

struct FakeDriver {
  // What the test tells it.
  int devices = 1;
  long fail_at = -1;  ///< number of the call, from 0; -1 = none
  cudaError_t failure = cudaErrorUnknown;
  bool stays_failed = false;    ///< all later calls fail as well, as on a lost device
  std::function<void()> graph;  ///< what a launched graph does; nothing when empty

  // What it saw.
  long calls = 0;
  std::string failed_call;
  std::vector<std::string> names;  ///< of all calls, in order
  long after_failure = 0;          ///< calls made after the failing one that free nothing
  long launched_graphs = 0;
  /// Copies through one stream into what another one may still have to clear: on a device that is
  /// busy they come to nothing.
  long lost_copies = 0;

  // What exists now.
  struct Clearing {
    const char* begin;
    const char* end;
    cudaStream_t stream;
  };
  std::vector<Clearing> clearings;  ///< whose stream nobody has synchronised with
  std::set<void*> device_blocks;
  std::set<void*> host_blocks;
  std::set<void*> streams;
  std::set<void*> events;
  std::set<void*> graphs;
  std::set<void*> execs;
  int contexts = 0;
  int pushed = 0;

  bool empty() const {
    return device_blocks.empty() && host_blocks.empty() && streams.empty() && events.empty() &&
           graphs.empty() && execs.empty() && contexts == 0 && pushed == 0;
  }
};

/// The one that kCudaCalls speaks to.
FakeDriver& fake_driver();
/// Anew, for the next case; what a call that was made to fail has not freed goes now.
void reset_fake_driver();

}  // namespace ocellus::test
