#include "core/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

namespace ocellus::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they are");

constexpr unsigned char kMagic[8] = {0x89, 'O', 'C', 'E', 'L', 'L', 'U', 'S'};

/// The first 64 bytes of a file.
struct Prefix {
  unsigned char magic[8];
  char kind[8];
  std::uint16_t version;
  std::uint16_t kind_version;
  std::uint32_t table_bytes;
  std::uint64_t array_bytes;
  std::uint64_t array_hash;
  std::uint64_t header_hash;
  unsigned char zeros[16];
};
static_assert(sizeof(Prefix) == kModelTableAt && offsetof(Prefix, version) == 16 &&
              offsetof(Prefix, array_bytes) == 24 && offsetof(Prefix, header_hash) == 40);

void put_kind(const char* id, char (&to)[sizeof(Prefix::kind)]) noexcept {
  const std::size_t length = std::min(std::strlen(id), sizeof(to));
  std::fill(std::copy(id, id + length, to), std::end(to), '\0');
}

}  // namespace

tl::unexpected<Error> with_path(const ModelKind& kind, const char* path,
                                const Error& error) noexcept {
  const std::size_t name = std::strlen(kind.name);
  const char* const rest = std::strncmp(error.text, kind.name, name) == 0 ? error.text + name : "";
  return failure(error.status, "%s \"%.80s\"%s", kind.name, path, rest);
}

Expected<ModelHeader> parse_model_header(const ModelKind& kind, const void* bytes,
                                         std::uint64_t available,
                                         std::uint64_t file_bytes) noexcept {
  const auto printed = static_cast<unsigned long long>(file_bytes);
  if (available < sizeof(Prefix))
    return corrupt_file("%s: the file has %llu bytes, which is too short", kind.name, printed);
  Prefix prefix;
  std::memcpy(&prefix, bytes, sizeof(prefix));
  if (std::memcmp(prefix.magic, kMagic, sizeof(kMagic)) != 0) {
    return corrupt_file("%s: not a model file of Ocellus (the magic number does not match)",
                        kind.name);
  }

  char wanted[sizeof(prefix.kind)];
  put_kind(kind.id, wanted);
  if (std::memcmp(prefix.kind, wanted, sizeof(wanted)) != 0) {
    std::size_t length = sizeof(prefix.kind);
    while (length > 0 && prefix.kind[length - 1] == '\0') --length;
    char found[sizeof(prefix.kind) + 1];
    copy_note(found, sizeof(found), prefix.kind, length);
    return corrupt_file("%s: the file is of the kind \"%s\"; it must be of the kind \"%s\"",
                        kind.name, found, kind.id);
  }
  if (prefix.version != kModelVersion) {
    return corrupt_file("%s: the container has version %d; this library reads version %d",
                        kind.name, prefix.version, kModelVersion);
  }
  if (prefix.kind_version != kind.version) {
    return corrupt_file("%s: the contents have version %d; this library reads version %d",
                        kind.name, prefix.kind_version, kind.version);
  }

  if (prefix.table_bytes > kind.max_table_bytes) {
    return corrupt_file("%s: the table has %u bytes; at most %u are allowed", kind.name,
                        prefix.table_bytes, kind.max_table_bytes);
  }
  const std::uint64_t arrays_at = model_arrays_at(prefix.table_bytes);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t whole =
      prefix.array_bytes > kMost - arrays_at ? kMost : arrays_at + prefix.array_bytes;
  if (whole != file_bytes || arrays_at > available) {
    return corrupt_file("%s: %s: the file has %llu bytes, its header says %llu", kind.name,
                        file_bytes > whole ? "data after its end" : "truncated", printed,
                        static_cast<unsigned long long>(whole));
  }

  if (model_header_hash(bytes, arrays_at) != prefix.header_hash)
    return corrupt_file("%s: damaged (the checksum of its header does not match)", kind.name);
  if (prefix.array_bytes == 0 && XXH64(bytes, 0, 0) != prefix.array_hash)
    return corrupt_file("%s: damaged (the checksum of its arrays does not match)", kind.name);
  return ModelHeader{prefix.table_bytes, arrays_at, prefix.array_bytes, prefix.array_hash};
}

std::uint64_t model_header_hash(const void* bytes, std::uint64_t arrays_at) noexcept {
  constexpr std::size_t kHashAt = offsetof(Prefix, header_hash);
  constexpr std::size_t kHashEnd = kHashAt + sizeof(Prefix::header_hash);
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, bytes, kHashAt);
  XXH64_update(&state, static_cast<const unsigned char*>(bytes) + kHashEnd, arrays_at - kHashEnd);
  return XXH64_digest(&state);
}

void write_model_header(const ModelKind& kind, const void* table, std::uint32_t table_bytes,
                        std::uint64_t array_bytes, std::uint64_t array_hash, void* bytes) noexcept {
  const std::uint64_t arrays_at = model_arrays_at(table_bytes);
  Prefix prefix = {};
  std::memcpy(prefix.magic, kMagic, sizeof(kMagic));
  put_kind(kind.id, prefix.kind);
  prefix.version = kModelVersion;
  prefix.kind_version = static_cast<std::uint16_t>(kind.version);
  prefix.table_bytes = table_bytes;
  prefix.array_bytes = array_bytes;
  prefix.array_hash = array_hash;
  auto* const to = static_cast<unsigned char*>(bytes);
  std::memcpy(to, &prefix, sizeof(prefix));
  std::copy_n(static_cast<const unsigned char*>(table), table_bytes, to + kModelTableAt);
  std::fill(to + kModelTableAt + table_bytes, to + arrays_at, static_cast<unsigned char>(0));
  prefix.header_hash = model_header_hash(bytes, arrays_at);
  std::memcpy(to, &prefix, sizeof(prefix));
}

ModelFile::~ModelFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<void> ModelFile::open(const ModelKind& kind, const char* path) noexcept {
  kind_ = &kind;
  const auto failed = [&kind, path](const char* what) noexcept {
    return failure(Status::kIoError, "%s \"%.120s\": %s", kind.name, path, what);
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

Expected<ModelHeader> ModelFile::header(void* buffer, std::size_t capacity) noexcept {
  const auto available = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_, capacity));
  OCELLUS_TRY(read_at(buffer, available, 0));
  OCELLUS_TRY_ASSIGN(header, parse_model_header(*kind_, buffer, available, bytes_));
  arrays_at_ = header->arrays_at;
  array_bytes_ = header->array_bytes;
  array_hash_ = header->array_hash;
  begin_arrays();
  return header;
}

void ModelFile::begin_arrays() noexcept {
  at_ = arrays_at_;
  left_ = array_bytes_;
  XXH64_reset(&hash_, 0);
}

Expected<void> ModelFile::verify_arrays() noexcept {
  std::uint8_t piece[16384];
  while (left_ > 0) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(piece), left_));
    OCELLUS_TRY(read(piece, bytes));
  }
  begin_arrays();
  return {};
}

Expected<void> ModelFile::read(void* buffer, std::size_t bytes) noexcept {
  if (bytes > left_) {
    return invalid_argument("%s: all arrays have been read", kind_->name);
  }
  OCELLUS_TRY(read_at(buffer, bytes, at_));
  XXH64_update(&hash_, buffer, bytes);
  at_ += bytes;
  left_ -= bytes;
  if (left_ == 0 && XXH64_digest(&hash_) != array_hash_)
    return corrupt_file("%s: damaged (the checksum of its arrays does not match)", kind_->name);
  return {};
}

Expected<void> ModelFile::read_at(void* buffer, std::size_t bytes,
                                  std::uint64_t at) const noexcept {
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = pread(descriptor_, static_cast<char*>(buffer) + have, bytes - have,
                              static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return failure(Status::kIoError, "%s: cannot be read: %s", kind_->name, strerror(errno));
    }
    if (got == 0) return corrupt_file("%s: the file became shorter while it was read", kind_->name);
    have += static_cast<std::size_t>(got);
  }
  return {};
}

void copy_note(char* to, std::size_t capacity, const char* note, std::size_t bytes) noexcept {
  const std::size_t count = std::min(bytes, capacity - 1);
  for (std::size_t i = 0; i < count; ++i) to[i] = note[i] >= ' ' && note[i] <= '~' ? note[i] : '?';
  to[count] = '\0';
}

bool is_class_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMaxClassName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace ocellus::detail
