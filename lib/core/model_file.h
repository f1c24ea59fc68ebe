// What the readers of *.ocl files share: opening one, reading it, and what is said when it is
// damaged. The layouts are the rooms' own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "ocellus/status.h"

namespace ocellus::detail {

/// A size-prefixed FlatBuffer: its length, and where its identifier stands.
inline constexpr std::uint64_t kModelPrefixBytes = sizeof(std::uint32_t);
inline constexpr std::uint64_t kModelIdentifierAt = 8;
/// xxHash64.
inline constexpr std::uint64_t kModelHashBytes = sizeof(std::uint64_t);

/// An Error of kCorruptFile; printf's format.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> corrupt_file(const char* format,
                                                                         ...) noexcept;

/// A file that is open for reading.
class ModelFile {
 public:
  ModelFile() noexcept = default;
  ~ModelFile();
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  /// `kind` stands in front of the path in texts. Errors: IoError (also of what is no regular
  /// file).
  Expected<void> open(const char* kind, const char* path) noexcept;

  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Fills `buffer` as far as the file reaches; the number of bytes read, or -1 with errno.
  ssize_t read(void* buffer, std::size_t bytes, std::uint64_t at) const noexcept;

 private:
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

std::uint32_t read_u32(const unsigned char* bytes) noexcept;
std::uint64_t read_u64(const unsigned char* bytes) noexcept;

/// A note for people, cut off at the capacity; what is not printable becomes '?', because it will
/// stand on somebody's terminal.
void copy_note(char* to, std::size_t capacity, const char* note, std::size_t bytes) noexcept;

}  // namespace ocellus::detail
