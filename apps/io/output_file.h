// OutputFile: a file that is there whole or not at all. All files of the program are written
// through it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "apps/common/input_error.h"
#include "apps/common/interrupt.h"

namespace ocellus::app {

/// Goes to a temporary file beside the target, which `commit` puts in its place; without it, and
/// after an error or a signal, what stood there before is untouched and nothing else is left. What
/// is not a regular file (a device, a FIFO, /dev/stdout) is written itself.
/// All calls throw InputError that names the target.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// What is written to until `commit`, for those who open it themselves.
  const std::string& part_path() const { return part_path_; }
  std::FILE* stream() const { return file_; }

  void write(const void* bytes, std::size_t count);
  /// What is written next replaces the file's first bytes.
  void seek_to_start();
  void commit();

  /// Throws InputError with `errno`'s reason.
  [[noreturn]] void fail() const;

 private:
  void open_in_place();
  void open_part();

  std::string path_;
  std::string target_;  ///< path_ with its symbolic links followed
  std::string part_path_;
  std::optional<mode_t> replaced_mode_;  ///< of the regular file that stands there
  std::optional<UnfinishedFile> unfinished_;
  std::FILE* file_ = nullptr;
};

/// Throws InputError when the file system of `path` has no room for `bytes` more.
void require_free_space(const std::string& path, std::uint64_t bytes);

/// Whether `path` is there and is something else than a regular file.
bool is_special_file(const std::string& path);

/// "1.5 GiB" and the like.
std::string bytes_text(std::uint64_t bytes);

}  // namespace ocellus::app
