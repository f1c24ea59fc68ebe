// Writes a model file piece by piece, without memory for all of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/file_writer.h"
#include "core/model_file.h"

namespace ocellus::detail {

/// The builder of a table that lies in the object itself. `builder` allocates nothing as long as
/// the table has at most kMaxBytes bytes; a longer one is a bug and ends the program.
class ModelTable {
 public:
  static constexpr std::uint32_t kMaxBytes = 16320;

  ModelTable() noexcept : builder(kMaxBytes, &memory_) {}
  ModelTable(const ModelTable&) = delete;
  ModelTable& operator=(const ModelTable&) = delete;

 private:
  class Memory final : public flatbuffers::Allocator {
   public:
    std::uint8_t* allocate(std::size_t bytes) override {
      if (bytes > sizeof(bytes_)) __builtin_trap();
      return bytes_;
    }
    void deallocate(std::uint8_t*, std::size_t) override {}

   private:
    alignas(8) std::uint8_t bytes_[kMaxBytes];
  };

  Memory memory_;

 public:
  flatbuffers::FlatBufferBuilder builder;
};

/// Call `open`, then `write` and `align`, then `finish`. `path` is always a complete file
/// (FileWriter); without `finish`, nothing changes. The header is written last, so the target must
/// be a regular file or a device that can be written out of order. Does not allocate.
class ModelWriter {
 public:
  static constexpr std::uint32_t kMaxTableBytes = ModelTable::kMaxBytes;

  ModelWriter() noexcept = default;
  ModelWriter(const ModelWriter&) = delete;
  ModelWriter& operator=(const ModelWriter&) = delete;

  /// Creates the file. `kind` and `path` must outlive the object; `table` has at most
  /// kMaxTableBytes bytes and is copied. Errors: InvalidArgument (an empty or too long path),
  /// IoError with the path.
  Expected<void> open(const ModelKind& kind, const char* path, const void* table,
                      std::uint32_t table_bytes) noexcept;

  /// The next bytes of the arrays. Errors: IoError.
  Expected<void> write(const void* bytes, std::size_t count) noexcept;

  /// Writes zeros up to the next multiple of kModelAlignment. Errors: IoError.
  Expected<void> align() noexcept;

  /// Writes the header, waits until the storage has the file, and puts it in its place. Errors:
  /// IoError.
  Expected<void> finish() noexcept;

 private:
  /// Adds the kind and the path to an error of the file.
  Expected<void> named(const Expected<void>& done) const noexcept;
  Expected<void> flush() noexcept;

  static constexpr std::size_t kBufferBytes = 32768;

  const ModelKind* kind_ = nullptr;
  const char* path_ = nullptr;
  FileWriter file_;
  std::uint32_t table_bytes_ = 0;
  std::uint64_t array_bytes_ = 0;  // written, with those in the buffer
  std::size_t buffered_ = 0;
  XXH64_state_t hash_;
  std::uint8_t table_[kMaxTableBytes];
  std::uint8_t buffer_[kBufferBytes];
};

}  // namespace ocellus::detail
