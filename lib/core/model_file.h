// Model files (*.ocellus): one container for all data that operators read from files. All numbers
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
// A file is not trusted. The checks are made in this order, before anything else is read: length of
// the header, magic, kind, version of the container, version of the kind, lengths, hash of the
// header, FlatBuffers verifier. The versions are checked before the hash, so that a file of a
// future version is not reported as damaged.
#pragma once

// Inlined, so that the library does not need another shared library for one function.
#define XXH_INLINE_ALL
#include <flatbuffers/flatbuffers.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/failure.h"
#include "ocellus/record.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Describes a kind of model file. Each module defines a constant for its kind.
struct ModelKind {
  const char* id;                 ///< identifier in the file: 1 to 8 printable ASCII characters
  const char* name;               ///< name in error texts, such as "kernel bank"
  int version;                    ///< version that is written and accepted
  std::uint32_t max_table_bytes;  ///< largest accepted length of the table
};

inline constexpr int kModelVersion = 1;  ///< version of the container
inline constexpr std::uint64_t kModelTableAt = 64;
inline constexpr std::uint64_t kModelAlignment = 64;

/// Offset of the arrays. If the file has no arrays, this is its length.
constexpr std::uint64_t model_arrays_at(std::uint32_t table_bytes) {
  return (kModelTableAt + table_bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
}

/// The fields of a header that has passed the checks.
struct ModelHeader {
  std::uint32_t table_bytes = 0;
  std::uint64_t arrays_at = 0;
  std::uint64_t array_bytes = 0;
  std::uint64_t array_hash = 0;
};

/// Puts the path behind the kind's name, with which the text of `error` begins.
tl::unexpected<Error> with_path(const ModelKind& kind, const char* path,
                                const Error& error) noexcept;

/// Makes all checks except those of the table and of the arrays. `bytes` are the first `available`
/// bytes of a file of `file_bytes` bytes. They must be the whole file or at least
/// model_arrays_at(kind.max_table_bytes) bytes. Errors: CorruptFile.
Expected<ModelHeader> parse_model_header(const ModelKind& kind, const void* bytes,
                                         std::uint64_t available,
                                         std::uint64_t file_bytes) noexcept;

/// Runs the FlatBuffers verifier and returns the table. parse_model_header must have checked the
/// file. The result points into `bytes`, which must be aligned to 8 bytes. Errors: CorruptFile.
template <typename Table>
Expected<const Table*> model_table(const ModelKind& kind, const void* bytes,
                                   const ModelHeader& header) noexcept {
  const auto* const table = static_cast<const std::uint8_t*>(bytes) + kModelTableAt;
  flatbuffers::Verifier verifier(table, header.table_bytes, /*max_depth=*/4, /*max_tables=*/256);
  if (!verifier.VerifyBuffer<Table>(nullptr))
    return corrupt_file("%s: damaged (its table is not valid)", kind.name);
  return flatbuffers::GetRoot<Table>(table);
}

/// Computes header_hash from the first `arrays_at` bytes of a file.
std::uint64_t model_header_hash(const void* bytes, std::uint64_t arrays_at) noexcept;

/// Writes the header, the table and zeros to `bytes`, which has model_arrays_at(table_bytes) bytes.
void write_model_header(const ModelKind& kind, const void* table, std::uint32_t table_bytes,
                        std::uint64_t array_bytes, std::uint64_t array_hash, void* bytes) noexcept;

/// A model file that is open for reading. Call `open`, then `header`, then `read` until no bytes
/// are left. Plain I/O into the caller's buffers makes a file that becomes shorter an error and not
/// a signal. Does not allocate.
class ModelFile {
 public:
  ModelFile() noexcept = default;
  ~ModelFile();
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  /// Opens the file. `kind` must outlive the object. Errors: IoError with the path, also if the
  /// path is not a regular file.
  Expected<void> open(const ModelKind& kind, const char* path) noexcept;

  /// Reads everything before the arrays into `buffer` and checks it as parse_model_header does.
  /// `capacity` must be at least model_arrays_at(kind.max_table_bytes). Errors: IoError,
  /// CorruptFile.
  Expected<ModelHeader> header(void* buffer, std::size_t capacity) noexcept;

  /// Reads all arrays through a buffer of fixed size, compares their checksum, and goes back to
  /// their begin. A caller that takes memory for the arrays calls it first, so a damaged file costs
  /// none. Errors: IoError, CorruptFile.
  Expected<void> verify_arrays() noexcept;

  /// Reads the next bytes of the arrays, at most `left()`. Reading the last byte completes the
  /// checksum. Do not use the data before all of it has been read. Errors: IoError, CorruptFile.
  Expected<void> read(void* buffer, std::size_t bytes) noexcept;

  /// Number of bytes of the arrays that have not been read yet.
  std::uint64_t left() const noexcept { return left_; }

 private:
  void begin_arrays() noexcept;
  Expected<void> read_at(void* buffer, std::size_t bytes, std::uint64_t at) const noexcept;

  const ModelKind* kind_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;  // length of the file
  std::uint64_t at_ = 0;     // offset of the next byte to read
  std::uint64_t left_ = 0;
  std::uint64_t arrays_at_ = 0;
  std::uint64_t array_bytes_ = 0;
  std::uint64_t array_hash_ = 0;
  XXH64_state_t hash_;
};

/// Copies a note and truncates it at the capacity. Characters that are not printable become '?',
/// because programs print the note on terminals.
void copy_note(char* to, std::size_t capacity, const char* note, std::size_t bytes) noexcept;

/// 1 to kMaxClassName printable ASCII characters without spaces.
bool is_class_name(std::string_view name) noexcept;

}  // namespace ocellus::detail
