// OutputFile: a file that appears only when it is complete. The program writes all its files
// through this class.
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

/// Writes to a temporary file beside the target. `commit` moves it to the target. Without `commit`,
/// and after an error or a signal, the target is unchanged and no temporary file remains. A target
/// that is not a regular file (a device, a FIFO, /dev/stdout) is written directly, and so is "-",
/// standard output. All calls throw InputError that names the target.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// The file that is written until `commit`, for callers that open it themselves.
  const std::string& part_path() const { return part_path_; }
  std::FILE* stream() const { return file_; }

  void write(const void* bytes, std::size_t count);
  /// Passes on what was written so far, for a reader of a pipe.
  void flush();
  /// The next write replaces the first bytes of the file.
  void seek_to_start();
  void commit();

  /// Throws InputError with the reason in `errno`.
  [[noreturn]] void fail() const;

 private:
  void open_in_place();
  /// -1: the call that should have given it failed.
  void open_descriptor(int descriptor);
  void open_part();

  std::string path_;
  std::string target_;  ///< path_ with symbolic links resolved
  std::string part_path_;
  std::optional<mode_t> replaced_mode_;  ///< the mode of the regular file that is replaced
  std::optional<UnfinishedFile> unfinished_;
  std::FILE* file_ = nullptr;
};

/// Whether the name means standard output or standard input.
inline bool is_standard_stream(const std::string& path) {
  return path == "-";
}
/// Keeps standard output for the data of OutputFile("-"). What the program prints goes to standard
/// error from now on. Called before the first print.
void reserve_standard_output();

/// From now on, no OutputFile replaces a file that the process has read or will read. Without this
/// call, the following two functions do nothing.
void protect_inputs();
/// Marks a file as an input. Links and other spellings of the path mean the same file.
void note_input(const std::string& path);
/// Throws InputError if `path` is an input.
void check_not_input(const std::string& path);

/// Throws InputError if the file system of `path` has less than `bytes` bytes free.
void require_free_space(const std::string& path, std::uint64_t bytes);

/// Whether `path` exists and is not a regular file.
bool is_special_file(const std::string& path);

/// For example "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace ocellus::app
