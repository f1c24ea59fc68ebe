// A fake CUDA driver: the table of CUDA functions that the library calls, on host memory. It counts
// all objects and can make any call fail. Needs no GPU.
//
// Streams are queues. By default their work is done at once. With `lazy` work stays in its queue
// until somebody waits for it, and then no more is done than that needs. This is the slowest device
// that CUDA's rules allow, so it shows code that relies on more than the rules.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/cuda_calls.h"

namespace ocellus::test {

struct FakeEvent {
  int device = 0;
  long recorded = 0;  ///< times, by the host
  long done = 0;      ///< of these, by the device
  unsigned capture = 0;
};

/// A piece of work in a stream.
struct FakeWork {
  std::string what;
  std::shared_ptr<FakeEvent> awaits;  ///< the work begins after `version` of this event
  std::shared_ptr<FakeEvent> records;
  long version = 0;
  std::function<void()> run;
};

struct FakeStream {
  std::deque<FakeWork> work;
  int device = 0;
  std::vector<std::function<void()>> captured;  ///< kernels that the test runs
  bool held = false;                            ///< does no work
  unsigned capture = 0;                         ///< number of its capture; 0 = none
  bool invalidated = false;
};

struct FakeDriver {
  // Set by the test.
  int devices = 1;
  long fail_at = -1;  ///< number of the call, from 0; -1 = none
  cudaError_t failure = cudaErrorInvalidValue;
  bool stays_failed = false;  ///< all later calls fail as well and no work is done, as on a lost
                              ///< device
  bool context_goes = false;  ///< after the failing call the context cannot be made current
  bool lazy = false;
  /// Runs in place of a launched graph. The argument counts the graphs in the order of creation.
  std::function<void(int)> graph;
  /// Called when a kernel is launched or captured. Returns the work that it does, which runs in the
  /// order of its stream, or each time that its graph runs.
  std::function<std::function<void()>(const cudaLaunchConfig_t&, const void*, void**)> kernel;
  int multiprocessors = 4;
  int resident_blocks = 1;  ///< of a kernel whose shared memory is in its limit, per multiprocessor
  bool integrated = false;
  bool maps_host_memory = true;
  bool peers = true;  ///< devices can access each other's memory
  /// Other processes can open device memory that is allocated while this is set.
  bool shares_memory = false;
  /// Called before each call, on its thread.
  std::function<void(const std::string&)> on_call;
  int stream_priority = 0;            ///< of the stream that was made last
  cudaStream_t bad_stream = nullptr;  ///< an invalid stream; null = none
  /// Another thread captures in the global mode. Unsafe calls fail and break its capture.
  bool neighbor_captures = false;
  struct Range {
    const char* begin;
    const char* end;
  };
  std::vector<Range> callers;  ///< memory of the caller, which the device must not touch

  // Recorded.
  long calls = 0;
  std::string failed_call;
  std::vector<std::string> names;  ///< of all calls, in order
  long after_failure = 0;          ///< calls made after the failing one that free nothing
  long launched_graphs = 0;
  long without_context = 0;  ///< calls that would have made a context of their own, on device 0
  long broken_captures = 0;  ///< of other threads
  std::vector<std::string> touched;  ///< work that touched memory of the caller
  /// Calls for a device while another one was current, and copies to or from the memory of another
  /// device than that of their stream.
  std::vector<std::string> misplaced;
  long peer_copies = 0;
  long freed_while_open = 0;        ///< blocks that another process still had open
  long copies_between_devices = 0;  ///< of rows
  std::size_t bytes_to_device = 0;  ///< of copies from the host that were queued
  std::size_t bytes_to_host = 0;

  // Existing objects.
  std::set<void*> device_blocks;
  std::set<void*> host_blocks;
  std::map<void*, std::size_t> block_bytes;
  std::map<void*, int> block_devices;      ///< of device_blocks
  std::map<void*, int> shared_files;       ///< descriptors, of device_blocks that are shared
  std::map<void*, std::size_t> opened;     ///< bytes of memory of other processes
  std::set<std::pair<int, int>> accesses;  ///< enabled: from a device to another one
  std::set<void*> streams;
  std::set<void*> events;
  std::set<void*> graphs;
  std::set<void*> execs;
  std::map<void*, int> exec_numbers;
  std::map<void*, std::vector<std::function<void()>>> kernels;  ///< of graphs and execs
  std::map<const void*, int> shared_limits;  ///< of kernels with a limit other than the default
  int contexts = 0;
  int pushed = 0;
  unsigned captures = 0;
  int made_execs = 0;
  std::map<void*, FakeStream> queues;  ///< of all streams, also of the caller's and the default one
  std::map<void*, std::shared_ptr<FakeEvent>> marks;
  std::vector<FakeStream> orphans;  ///< of streams that were destroyed with work in them

  bool empty() const {
    return device_blocks.empty() && host_blocks.empty() && streams.empty() && events.empty() &&
           graphs.empty() && execs.empty() && opened.empty() && contexts == 0 && pushed == 0;
  }
  /// From now on this memory belongs to the caller.
  void give(const void* begin, std::size_t bytes) {
    callers.push_back({static_cast<const char*>(begin), static_cast<const char*>(begin) + bytes});
  }
};

/// The driver behind kCudaCalls.
FakeDriver& fake_driver();
/// Resets everything for the next case, and frees what failed calls left.
void reset_fake_driver();
/// Whether a call only releases something. Destructors, which make these calls, report no errors.
bool only_releases(const std::string& call);

/// Adds work of the caller to a stream.
void queue_work(void* stream, const std::string& what, std::function<void()> work);
/// Does the work of a stream, and no more work than that needs.
void run_stream(void* stream);
/// Does all work that can be done. True when nothing is left.
bool run_all();
/// Records that work touches memory. For `graph`.
void touch(const std::string& what, const void* begin, std::size_t bytes);
/// The runtime's last error of this thread. The library must not leave one.
cudaError_t& last_error();

}  // namespace ocellus::test
