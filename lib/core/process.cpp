#include "core/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/failure.h"

namespace ocellus::detail {

OwnerProcess::OwnerProcess() noexcept
    : pid_(getpid()), page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {}

Expected<void> OwnerProcess::create() noexcept {
  void* const page =
      mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return failure(Status::kOutOfMemory, "the system gave no page of memory for the engine: %s",
                   strerror(errno));
  }
#ifdef MADV_WIPEONFORK
  // Emulators may accept any advice and ignore it, so check that invalid advice is refused.
  const bool honest = madvise(page, page_bytes_, -1) != 0;
  if (honest && madvise(page, page_bytes_, MADV_WIPEONFORK) == 0) {
    page_ = static_cast<volatile char*>(page);
    *page_ = 1;
    return {};
  }
#endif
  munmap(page, page_bytes_);  // kernels before 4.14: is_child compares process IDs
  return {};
}

OwnerProcess::~OwnerProcess() {
  if (page_ != nullptr) munmap(const_cast<char*>(page_), page_bytes_);
}

bool OwnerProcess::is_child() const noexcept {
  return page_ != nullptr ? *page_ == 0 : getpid() != pid_;
}

Expected<void> OwnerProcess::check() const noexcept {
  if (!is_child()) [[likely]]
    return {};
  return failure(
      Status::kUnsupported,
      "the engine was created in process %ld; this process is a child made by fork() "
      "and has neither the engine's threads nor its device; create an engine in the child",
      static_cast<long>(pid_));
}

}  // namespace ocellus::detail
