#include "core/model_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/failure.h"

namespace ocellus::detail {

ModelWriter::~ModelWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(part_);
}

tl::unexpected<Error> ModelWriter::failed() const noexcept {
  return tl::unexpected(make_error(Status::kIoError, "%s \"%.120s\": cannot be written: %s",
                                   kind_->name, path_, strerror(errno)));
}

Expected<void> ModelWriter::open(const ModelKind& kind, const char* path, const void* table,
                                 std::uint32_t table_bytes) noexcept {
  kind_ = &kind;
  constexpr char kEnding[] = ".part";
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the %s is empty", kind.name);
  const std::size_t length = std::strlen(path);
  if (length + sizeof(kEnding) > kPathBytes) {
    return invalid_argument("the path of the %s has %zu characters; it must have at most %zu",
                            kind.name, length, kPathBytes - sizeof(kEnding));
  }
  if (table_bytes > kMaxTableBytes) {
    return invalid_argument("the table of the %s has %u bytes; it must have at most %u", kind.name,
                            table_bytes, kMaxTableBytes);
  }
  std::memcpy(path_, path, length + 1);
  std::memcpy(part_, path, length);
  std::memcpy(part_ + length, kEnding, sizeof(kEnding));
  std::memcpy(table_, table, table_bytes);
  table_bytes_ = table_bytes;
  XXH64_reset(&hash_, 0);
  descriptor_ = ::open(part_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return failed();
  return {};
}

Expected<void> ModelWriter::write(const void* bytes, std::size_t count) noexcept {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  while (count > 0) {
    const std::size_t part = std::min(count, kBufferBytes - buffered_);
    std::memcpy(buffer_ + buffered_, from, part);
    buffered_ += part;
    array_bytes_ += part;
    from += part;
    count -= part;
    if (buffered_ < kBufferBytes) continue;
    if (Expected<void> done = flush(); !done) return done;
  }
  return {};
}

Expected<void> ModelWriter::align() noexcept {
  constexpr std::uint8_t kZeros[kModelAlignment] = {};
  const std::uint64_t over = array_bytes_ % kModelAlignment;
  return over == 0 ? Expected<void>() : write(kZeros, kModelAlignment - over);
}

Expected<void> ModelWriter::finish() noexcept {
  if (Expected<void> done = flush(); !done) return done;
  std::uint8_t head[model_arrays_at(kMaxTableBytes)];
  write_model_header(*kind_, table_, table_bytes_, array_bytes_, XXH64_digest(&hash_), head);
  if (Expected<void> done = write_at(head, model_arrays_at(table_bytes_), 0); !done) return done;
  if (::fsync(descriptor_) != 0) return failed();
  if (::rename(part_, path_) != 0) return failed();
  ::close(descriptor_);
  descriptor_ = -1;
  return {};
}

Expected<void> ModelWriter::flush() noexcept {
  XXH64_update(&hash_, buffer_, buffered_);
  const std::uint64_t at = model_arrays_at(table_bytes_) + array_bytes_ - buffered_;
  const std::size_t count = buffered_;
  buffered_ = 0;
  return write_at(buffer_, count, at);
}

Expected<void> ModelWriter::write_at(const void* bytes, std::size_t count,
                                     std::uint64_t at) noexcept {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t wrote = ::pwrite(descriptor_, static_cast<const char*>(bytes) + done,
                                   count - done, static_cast<off_t>(at + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return failed();
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

}  // namespace ocellus::detail
