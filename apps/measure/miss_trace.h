// MissTrace: the last second before the first missed deadline, for --break-on-miss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/measure/latency_run.h"
#include "ocellus/trace.h"

namespace ocellus::app {

/// What the threads did before a frame missed its deadline. All memory is taken at the creation.
class MissTrace {
 public:
  static constexpr const char* kMarker = "/sys/kernel/tracing/trace_marker";

  /// `path`: the file to write. `marker`: where the kernel takes notes for its own trace; a file
  /// that cannot be written gets none.
  explicit MissTrace(std::string path, const char* marker = kMarker);
  ~MissTrace();
  MissTrace(const MissTrace&) = delete;
  MissTrace& operator=(const MissTrace&) = delete;

  /// The engine's parts are recorded until `write` or `stop`.
  void start(Engine& engine);
  void stop();
  /// The work of operator number `op` on a frame.
  void add(std::size_t op, std::int64_t frame, std::int64_t begin_ns, std::int64_t end_ns,
           const FrameInfo& times);
  /// Writes the note for the kernel's trace. Called at once, because the kernel's own records are
  /// overwritten, too.
  void mark(const LatencyTimes& missed, std::int64_t budget_ns);
  /// Writes the file. `start_ns`: the time from which `missed` counts. `sequence`: of that frame.
  /// Throws InputError.
  void write(const LatencyTimes& missed, std::int64_t start_ns, std::int64_t sequence,
             const std::vector<std::string>& operators);

 private:
  struct Work {
    std::size_t op = 0;
    std::int64_t frame = 0, begin_ns = 0, end_ns = 0, queue_ns = 0, copy_ns = 0, compute_ns = 0;
  };

  std::string path_;
  int marker_ = -1;
  Engine* engine_ = nullptr;
  std::vector<TraceEvent> parts_;
  std::vector<Work> work_;
  std::uint64_t works_ = 0;  // of which the last ones are in work_
};

}  // namespace ocellus::app
