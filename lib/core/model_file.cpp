#include "core/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace ocellus::detail {

static_assert(std::endian::native == std::endian::little, "files are read as they are");

tl::unexpected<Error> corrupt_file(const char* format, ...) noexcept {
  Error error;
  error.status = Status::kCorruptFile;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error.text, sizeof(error.text), format, arguments);
  va_end(arguments);
  return tl::unexpected(error);
}

ModelFile::~ModelFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<void> ModelFile::open(const char* kind, const char* path) noexcept {
  const auto failed = [kind, path](const char* what) noexcept {
    return tl::unexpected(make_error(Status::kIoError, "%s \"%.120s\": %s", kind, path, what));
  };
  // Non-blocking, because opening a FIFO would otherwise wait for a writer.
  descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) return failed(strerror(errno));
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0) return failed(strerror(errno));
  if (!S_ISREG(status.st_mode)) return failed("is not a regular file");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  return {};
}

ssize_t ModelFile::read(void* buffer, std::size_t bytes, std::uint64_t at) const noexcept {
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = pread(descriptor_, static_cast<char*>(buffer) + have, bytes - have,
                              static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(have);
}

std::uint32_t read_u32(const unsigned char* bytes) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

std::uint64_t read_u64(const unsigned char* bytes) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void copy_note(char* to, std::size_t capacity, const char* note, std::size_t bytes) noexcept {
  const std::size_t count = std::min(bytes, capacity - 1);
  for (std::size_t i = 0; i < count; ++i) to[i] = note[i] >= ' ' && note[i] <= '~' ? note[i] : '?';
  to[count] = '\0';
}

}  // namespace ocellus::detail
