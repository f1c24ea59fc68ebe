// FileWriter: writes a file that appears only when it is complete. The library and the program
// write all their files through this class.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "ocellus/status.h"
#include "ocellus/unfinished_files.h"

namespace ocellus::detail {

/// Call `open`, then `write` or `write_at`, then `commit`.
///
/// The bytes go to a new file of a unique name beside the target, and `commit` renames it. Before
/// that, and after an error, the target is unchanged. Several writers of one target, in any number
/// of processes, each leave a complete file. A link is followed. A file that is replaced keeps its
/// permissions, and its owner where the process may give files away; a file that the process may
/// not write is not replaced, although the permissions of its folder alone would allow it.
///
/// A target that is not a regular file (a device, a pipe) and standard output are written in place.
///
/// Errors are IoError with a text such as "cannot be written: No space left on device", without the
/// path. No call allocates.
class FileWriter {
 public:
  static constexpr std::size_t kPathBytes = 4096;  ///< with the NUL

  struct Options {
    /// The caller uses `write_at`. Refuses pipes, terminals and standard output.
    bool random_access = false;
    /// `commit` waits until the storage has a new file. It always waits if it replaces one, because
    /// a crash could otherwise lose both.
    bool durable = false;
    /// A pipe without a reader: `open` asks every 20 ms whether to stop waiting for one. Null: it
    /// does not wait.
    bool (*stops)() = nullptr;
  };

  FileWriter() noexcept = default;
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Called once.
  Expected<void> open(const char* path, const Options& options) noexcept;

  int descriptor() const noexcept { return descriptor_; }
  /// The file that is written until `commit`.
  const char* part_path() const noexcept { return part_; }

  Expected<void> write(const void* bytes, std::size_t count) noexcept;
  Expected<void> write_at(const void* bytes, std::size_t count, std::uint64_t at) noexcept;
  Expected<void> commit() noexcept;

 private:
  Expected<void> open_in_place(const char* path, const struct stat& status) noexcept;
  Expected<void> create_part() noexcept;
  Expected<void> keep_attributes() noexcept;

  Options options_;
  int descriptor_ = -1;
  bool in_place_ = false;
  bool replaces_ = false;
  struct stat replaced_ {};  ///< the regular file that is replaced
  UnfinishedFile unfinished_;
  char target_[kPathBytes] = {};  ///< with links resolved
  char part_[kPathBytes] = {};
};

/// Writes the path of the file that `path` leads to, which need not exist. Errors: those of
/// FileWriter.
Expected<void> resolve_links(const char* path, char (&target)[FileWriter::kPathBytes]) noexcept;

/// Whether both paths lead to the same file, which need not exist.
bool same_file(const char* a, const char* b) noexcept;

}  // namespace ocellus::detail
