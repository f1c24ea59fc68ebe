// A CUDA driver that is none: the table of CUDA's functions as the library sees it, on host memory,
// with everything that is made counted and any call made to fail. Needs no GPU.
//
// Streams are queues. By default their work is done at once; with `lazy` it stays where it is until
// somebody waits for it, and then no more of it is done than that needs: the slowest device that
// keeps to CUDA's rules. What relies on more than the rules say is found out by it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/cuda_calls.h"

namespace ocellus::test {

struct FakeEvent {
  long recorded = 0;  ///< times, by the host
  long done = 0;      ///< of these, by the device
  unsigned capture = 0;
};

/// A piece of work in a stream.
struct FakeWork {
  std::string what;
  std::shared_ptr<FakeEvent> awaits;  ///< may not begin before its `version`
  std::shared_ptr<FakeEvent> records;
  long version = 0;
  std::function<void()> run;
};

struct FakeStream {
  std::deque<FakeWork> work;
  bool held = false;     ///< by the test: does nothing
  unsigned capture = 0;  ///< number of the capture that it is in
  bool invalidated = false;
};

struct FakeDriver {
  // What the test tells it.
  int devices = 1;
  long fail_at = -1;  ///< number of the call, from 0; -1 = none
  cudaError_t failure = cudaErrorInvalidValue;
  bool stays_failed = false;  ///< all later calls fail as well and no work is done, as on a lost
                              ///< device
  bool context_goes = false;  ///< after the failing call the context cannot be made current
  bool lazy = false;
  /// What a launched graph does, by the order in which they were made; nothing when empty.
  std::function<void(int)> graph;
  /// Called before each call, on its thread.
  std::function<void(const std::string&)> on_call;
  cudaStream_t bad_stream = nullptr;  ///< one that is not valid, unless null
  /// A neighbor in another thread captures in the global mode: unsafe calls are refused, and break
  /// its capture.
  bool neighbor_captures = false;
  struct Range {
    const char* begin;
    const char* end;
  };
  std::vector<Range> callers;  ///< memory that the device may not touch any more

  // What it saw.
  long calls = 0;
  std::string failed_call;
  std::vector<std::string> names;  ///< of all calls, in order
  long after_failure = 0;          ///< calls made after the failing one that free nothing
  long launched_graphs = 0;
  long without_context = 0;  ///< calls that would have made a context of their own, on device 0
  long broken_captures = 0;  ///< of others
  std::vector<std::string> touched;  ///< work that touched what is the caller's

  // What exists now.
  std::set<void*> device_blocks;
  std::set<void*> host_blocks;
  std::map<void*, std::size_t> block_bytes;
  std::set<void*> streams;
  std::set<void*> events;
  std::set<void*> graphs;
  std::set<void*> execs;
  std::map<void*, int> exec_numbers;
  std::map<const void*, int> shared_limits;  ///< of kernels that have another than the default
  int contexts = 0;
  int pushed = 0;
  unsigned captures = 0;
  int made_execs = 0;
  std::map<void*, FakeStream> queues;  ///< of streams, those of others and the default one, too
  std::map<void*, std::shared_ptr<FakeEvent>> marks;
  std::vector<FakeStream> orphans;  ///< of streams that were destroyed with work in them

  bool empty() const {
    return device_blocks.empty() && host_blocks.empty() && streams.empty() && events.empty() &&
           graphs.empty() && execs.empty() && contexts == 0 && pushed == 0;
  }
  /// Memory is the caller's again.
  void give(const void* begin, std::size_t bytes) {
    callers.push_back({static_cast<const char*>(begin), static_cast<const char*>(begin) + bytes});
  }
};

/// The one that kCudaCalls speaks to.
FakeDriver& fake_driver();
/// Anew, for the next case; what a call that was made to fail has not freed goes now.
void reset_fake_driver();

/// Work of the caller's in a stream of the caller's.
void queue_work(void* stream, const std::string& what, std::function<void()> work);
/// The device does what a stream has, and no more than that needs.
void run_stream(void* stream);
/// The device does all that it may do. True when nothing is left.
bool run_all();
/// The device's work touches memory; for `graph`.
void touch(const std::string& what, const void* begin, std::size_t bytes);
/// This thread's last error of the runtime, which the library may not leave behind.
cudaError_t& last_error();

}  // namespace ocellus::test
