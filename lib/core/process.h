// The process: whether it is a child that fork() made, and its limits of CPU time and memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "ocellus/status.h"

namespace ocellus::detail {

/// UsableCpus::quota. `root` precedes the paths of all files that are read, for tests; "": the
/// system's own.
double cpu_quota(const char* root) noexcept;

/// The least limit of memory in bytes that the control groups of the process set. 0: no limit.
/// Nothing if the system does not tell. `root` as above.
std::optional<std::uint64_t> memory_limit(const char* root) noexcept;

/// UsableCpus::count.
int whole_cpus(int affinity, double quota) noexcept;

/// Tells whether the calling process created an object or is a child that fork() made.
///
/// A child process has neither the threads nor the devices of its parent. A mutex that was locked
/// during fork() remains locked in the child.
class OwnerProcess {
 public:
  OwnerProcess() noexcept;
  /// Called once. Errors: OutOfMemory.
  Expected<void> create() noexcept;
  ~OwnerProcess();
  OwnerProcess(const OwnerProcess&) = delete;
  OwnerProcess& operator=(const OwnerProcess&) = delete;

  /// True in a child. Needs no system call if the kernel can clear a page in the child
  /// (MADV_WIPEONFORK).
  bool is_child() const noexcept;
  /// Returns an error in a child; every call there returns this error.
  Expected<void> check() const noexcept;

 private:
  const pid_t pid_;
  std::size_t page_bytes_ = 0;
  volatile char* page_ = nullptr;  // its first byte is 1, but 0 in a child; null: compare pid_
};

}  // namespace ocellus::detail
