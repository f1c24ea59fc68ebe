// Model files (*.ocellus): one container for everything that operators read from files. All numbers
// are little-endian.
//
//   offset  0   8 bytes  magic: 0x89 "OCELLUS"
//           8   8 bytes  kind: ASCII, padded with zeros ("kernels", "template")
//          16   uint16   version of the container: 1
//          18   uint16   version of the kind
//          20   uint32   table_bytes, length of the table
//          24   uint64   array_bytes, length of all arrays
//          32   uint64   array_hash, of all bytes of the arrays (of no byte when there are none)
//          40   uint64   header_hash, of the bytes [0, 40) followed by [48, arrays_at)
//          48   16 bytes zeros
//          64   the table: a FlatBuffer of the kind's schema, without length and identifier
//               zeros up to the next multiple of 64, which is arrays_at
//   arrays_at   the arrays, each at a multiple of 64, up to the end of the file
//
// Both hashes are xxHash64 of seed 0. A schema (lib/<module>/*.fbs) describes the table of a kind
// and its arrays. Arrays are outside of the table, because FlatBuffers end at 2 GiB.
//
// A file is not trusted. The checks come in this order, before anything else is read: length of the
// header, magic, kind, version of the container, version of the kind, lengths, hash of the header,
// FlatBuffers verifier. The versions come before the hash: a file of a future version is not
// reported as damaged.
#pragma once

// Inlined, so that the library has no run-time dependency for one function.
#define XXH_INLINE_ALL
#include <flatbuffers/flatbuffers.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

#include "ocellus/status.h"

namespace ocellus::detail {

/// What a file holds. Each module has a constant of its own.
struct ModelKind {
  const char* id;                 ///< in the file: 1 to 8 printable ASCII characters
  const char* name;               ///< in error texts: "kernel bank"
  int version;                    ///< the version that is written and read
  std::uint32_t max_table_bytes;  ///< longest table that is read
};

inline constexpr int kModelVersion = 1;  ///< of the container
inline constexpr std::uint64_t kModelTableAt = 64;
inline constexpr std::uint64_t kModelAlignment = 64;

/// Offset of the arrays; the length of the file when it has none.
constexpr std::uint64_t model_arrays_at(std::uint32_t table_bytes) {
  return (kModelTableAt + table_bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
}

/// The header, once it has been checked.
struct ModelHeader {
  std::uint32_t table_bytes = 0;
  std::uint64_t arrays_at = 0;
  std::uint64_t array_bytes = 0;
  std::uint64_t array_hash = 0;
};

/// An Error of kCorruptFile; printf's format.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> corrupt_file(const char* format,
                                                                         ...) noexcept;

/// Makes all checks but those of the table and of the arrays. `bytes` are the first `available`
/// bytes of a file of `file_bytes`: all of it, or at least model_arrays_at(kind.max_table_bytes).
/// Errors: CorruptFile.
Expected<ModelHeader> parse_model_header(const ModelKind& kind, const void* bytes,
                                         std::uint64_t available,
                                         std::uint64_t file_bytes) noexcept;

/// The table of a file that parse_model_header has checked, after the FlatBuffers verifier. It
/// points into `bytes`, which are aligned to 8. Errors: CorruptFile.
template <typename Table>
Expected<const Table*> model_table(const ModelKind& kind, const void* bytes,
                                   const ModelHeader& header) noexcept {
  const auto* const table = static_cast<const std::uint8_t*>(bytes) + kModelTableAt;
  flatbuffers::Verifier verifier(table, header.table_bytes, /*max_depth=*/4, /*max_tables=*/256);
  if (!verifier.VerifyBuffer<Table>(nullptr))
    return corrupt_file("%s: damaged (its table is not valid)", kind.name);
  return flatbuffers::GetRoot<Table>(table);
}

/// header_hash of `bytes`, which reach to `arrays_at`.
std::uint64_t model_header_hash(const void* bytes, std::uint64_t arrays_at) noexcept;

/// Fills `bytes`, of model_arrays_at(table_bytes), with the header, the table and zeros.
void write_model_header(const ModelKind& kind, const void* table, std::uint32_t table_bytes,
                        std::uint64_t array_bytes, std::uint64_t array_hash, void* bytes) noexcept;

/// A file that is open for reading: `open`, then `header`, then `read` until nothing is left. Plain
/// I/O into the caller's buffers: a file that becomes shorter is an error and not a signal.
/// Allocates nothing.
class ModelFile {
 public:
  ModelFile() noexcept = default;
  ~ModelFile();
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  /// `kind` outlives the object. Errors: IoError (also of what is not a regular file), with the
  /// path.
  Expected<void> open(const ModelKind& kind, const char* path) noexcept;

  /// Reads everything before the arrays into `buffer`, of at least
  /// model_arrays_at(kind.max_table_bytes), and checks it as parse_model_header does. Errors:
  /// IoError, CorruptFile.
  Expected<ModelHeader> header(void* buffer, std::size_t capacity) noexcept;

  /// Reads the next bytes of the arrays, at most `left()`. The last of them complete the checksum,
  /// so what was read counts only when all of it was. Errors: IoError, CorruptFile.
  Expected<void> read(void* buffer, std::size_t bytes) noexcept;

  /// Bytes of the arrays that have not been read yet.
  std::uint64_t left() const noexcept { return left_; }

 private:
  Expected<void> read_at(void* buffer, std::size_t bytes, std::uint64_t at) const noexcept;

  const ModelKind* kind_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;  // length of the file
  std::uint64_t at_ = 0;     // offset of what is read next
  std::uint64_t left_ = 0;
  std::uint64_t array_hash_ = 0;
  XXH64_state_t hash_;
};

/// A note for people, cut off at the capacity. Characters that are not printable become '?',
/// because a note is printed on terminals.
void copy_note(char* to, std::size_t capacity, const char* note, std::size_t bytes) noexcept;

}  // namespace ocellus::detail
