#include "core/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

/// Memory that the system can give, or the largest number if it does not tell.
std::size_t available_bytes() noexcept {
  char text[512] = "";
  const int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return SIZE_MAX;
  const ssize_t count = read(file, text, sizeof(text) - 1);
  close(file);
  const char* const found = count > 0 ? std::strstr(text, "MemAvailable:") : nullptr;
  unsigned long long kilobytes = 0;
  if (found == nullptr || std::sscanf(found, "MemAvailable: %llu", &kilobytes) != 1)
    return SIZE_MAX;
  return static_cast<std::size_t>(kilobytes) * 1024;
}

}  // namespace

HostArena::~HostArena() {
  if (block_ != nullptr) munmap(block_, mapped_);
}

Expected<void> HostArena::create(std::size_t bytes, bool lock) noexcept {
  if (bytes == 0) return {};
  // Use whole huge pages. A kernel bank is streamed once per frame and would otherwise cause a TLB
  // miss for every 4 KiB.
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (bytes > SIZE_MAX - kHugePage) {
    return failure(Status::kOutOfMemory, "memory.host is %zu bytes, more than can be addressed",
                   bytes);
  }
  // The system would give more than it has, and end the process when it touches the pages.
  constexpr std::size_t kLarge = std::size_t{1} << 30;
  if (const std::size_t available = bytes >= kLarge ? available_bytes() : bytes;
      bytes > available) {
    return failure(Status::kOutOfMemory,
                   "memory.host is %zu bytes; the system has %zu bytes of memory available", bytes,
                   available);
  }
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t mapped = align_up(bytes, bytes >= kHugePage ? kHugePage : page);
  void* block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    return failure(Status::kOutOfMemory, "the system gave no host block of %zu bytes: %s", mapped,
                   strerror(errno));
  }
  madvise(block, mapped, MADV_HUGEPAGE);  // a hint: the block works without huge pages
  if (lock && mlock(block, mapped) != 0) {
    const int reason = errno;
    munmap(block, mapped);
    return failure(
        Status::kSystem,
        "lock_memory: the system refused to lock %zu bytes (%s); raise the memlock limit", mapped,
        strerror(reason));
  }
  std::memset(block, 0, mapped);
  block_ = static_cast<char*>(block);
  mapped_ = mapped;
  begin(bytes);
  return {};
}

void* HostArena::take(std::size_t bytes) noexcept {
  const std::optional<std::size_t> offset = PieceMap::take(bytes);
  return offset ? block_ + *offset : nullptr;
}

void HostArena::give_back(void* piece) noexcept {
  if (piece != nullptr)
    PieceMap::give_back(static_cast<std::size_t>(static_cast<char*>(piece) - block_));
}

}  // namespace ocellus::detail
