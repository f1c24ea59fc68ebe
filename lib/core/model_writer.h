// Writes a model file piece by piece, without memory for all of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model_file.h"

namespace ocellus::detail {

/// Call `open`, then `write` and `align`, then `finish`. The bytes go to a file beside `path`,
/// whose name ends in ".part". `finish` renames it, so that `path` is always a complete file;
/// without `finish`, the destructor removes it. Does not allocate.
class ModelWriter {
 public:
  static constexpr std::uint32_t kMaxTableBytes = 16320;

  ModelWriter() noexcept = default;
  ~ModelWriter();
  ModelWriter(const ModelWriter&) = delete;
  ModelWriter& operator=(const ModelWriter&) = delete;

  /// Creates the file. `kind` must outlive the object; `table` has at most kMaxTableBytes bytes and
  /// is copied. Errors: InvalidArgument (an empty or too long path), IoError with the path.
  Expected<void> open(const ModelKind& kind, const char* path, const void* table,
                      std::uint32_t table_bytes) noexcept;

  /// The next bytes of the arrays. Errors: IoError.
  Expected<void> write(const void* bytes, std::size_t count) noexcept;

  /// Writes zeros up to the next multiple of kModelAlignment. Errors: IoError.
  Expected<void> align() noexcept;

  /// Writes the header, waits until the storage has the file, and renames it. Errors: IoError.
  Expected<void> finish() noexcept;

 private:
  tl::unexpected<Error> failed() const noexcept;
  Expected<void> flush() noexcept;
  Expected<void> write_at(const void* bytes, std::size_t count, std::uint64_t at) noexcept;

  static constexpr std::size_t kPathBytes = 4096;
  static constexpr std::size_t kBufferBytes = 32768;

  const ModelKind* kind_ = nullptr;
  int descriptor_ = -1;
  std::uint32_t table_bytes_ = 0;
  std::uint64_t array_bytes_ = 0;  // written, with those in the buffer
  std::size_t buffered_ = 0;
  XXH64_state_t hash_;
  char path_[kPathBytes] = {};
  char part_[kPathBytes] = {};
  std::uint8_t table_[kMaxTableBytes];
  std::uint8_t buffer_[kBufferBytes];
};

}  // namespace ocellus::detail
