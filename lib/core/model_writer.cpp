#include "core/model_writer.h"

#include <algorithm>
#include <cstring>

#include "core/failure.h"

namespace ocellus::detail {

Expected<void> ModelWriter::named(const Expected<void>& done) const noexcept {
  if (done) return done;
  return failure(done.error().status, "%s \"%.120s\": %s", kind_->name, path_, done.error().text);
}

Expected<void> ModelWriter::open(const ModelKind& kind, const char* path, const void* table,
                                 std::uint32_t table_bytes) noexcept {
  kind_ = &kind;
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the %s is empty", kind.name);
  const std::size_t length = std::strlen(path);
  if (length >= FileWriter::kPathBytes) {
    return invalid_argument("the path of the %s has %zu characters; it must have at most %zu",
                            kind.name, length, FileWriter::kPathBytes - 1);
  }
  if (table_bytes > kMaxTableBytes) {
    return invalid_argument("the table of the %s has %u bytes; it must have at most %u", kind.name,
                            table_bytes, kMaxTableBytes);
  }
  path_ = path;
  std::memcpy(table_, table, table_bytes);
  table_bytes_ = table_bytes;
  XXH64_reset(&hash_, 0);
  return named(file_.open(path, {.random_access = true, .durable = true, .stops = nullptr}));
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
    OCELLUS_TRY(flush());
  }
  return {};
}

Expected<void> ModelWriter::align() noexcept {
  constexpr std::uint8_t kZeros[kModelAlignment] = {};
  const std::uint64_t over = array_bytes_ % kModelAlignment;
  return over == 0 ? Expected<void>() : write(kZeros, kModelAlignment - over);
}

Expected<void> ModelWriter::finish() noexcept {
  OCELLUS_TRY(flush());
  std::uint8_t head[model_arrays_at(kMaxTableBytes)];
  write_model_header(*kind_, table_, table_bytes_, array_bytes_, XXH64_digest(&hash_), head);
  if (Expected<void> done = file_.write_at(head, model_arrays_at(table_bytes_), 0); !done)
    return named(done);
  return named(file_.commit());
}

Expected<void> ModelWriter::flush() noexcept {
  XXH64_update(&hash_, buffer_, buffered_);
  const std::uint64_t at = model_arrays_at(table_bytes_) + array_bytes_ - buffered_;
  const std::size_t count = buffered_;
  buffered_ = 0;
  return named(file_.write_at(buffer_, count, at));
}

}  // namespace ocellus::detail
