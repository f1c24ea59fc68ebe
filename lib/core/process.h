// OwnerProcess: whether the calling process is the one that made an object, or a child that fork()
// made of it.
#pragma once

#include <sys/types.h>

#include "ocellus/status.h"

namespace ocellus::detail {

/// Threads and devices do not come along into a child; a mutex may come along locked, for good.
class OwnerProcess {
 public:
  OwnerProcess() noexcept;
  /// Called once. Errors: OutOfMemory.
  Expected<void> create() noexcept;
  ~OwnerProcess();
  OwnerProcess(const OwnerProcess&) = delete;
  OwnerProcess& operator=(const OwnerProcess&) = delete;

  /// True in a child. No system call, where the kernel can clear a page of a child.
  bool is_child() const noexcept;
  /// Nothing, or in a child the Error that every call returns there.
  Expected<void> check() const noexcept;

 private:
  const pid_t pid_;
  std::size_t page_bytes_ = 0;
  volatile char* page_ = nullptr;  // its first byte is 1, and 0 in a child; null: compare pid_
};

}  // namespace ocellus::detail
