// OutputFile: a file that appears only when it is complete. The program writes all its files
// through this class, and what it reads is protected from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/input_error.h"
#include "ocellus/status.h"

namespace ocellus::detail {
class FileWriter;
}

namespace ocellus::app {

/// A file of the library's FileWriter as a stream. Without `commit`, and after an error or a
/// signal, the target is unchanged and no temporary file remains. "-" is standard output. All calls
/// throw InputError that names the target.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// The file that is written until `commit`, for callers that open it themselves.
  const char* part_path() const;
  std::FILE* stream() const { return file_; }

  void write(const void* bytes, std::size_t count);
  /// Passes on what was written so far, for a reader of a pipe.
  void flush();
  void commit();

  /// Throws InputError with the reason in `errno`.
  [[noreturn]] void fail() const;

 private:
  /// Opens a descriptor of its own for the same file.
  void open_stream(int descriptor);
  void check(const Expected<void>& done) const;

  std::string path_;
  std::unique_ptr<detail::FileWriter> writer_;  ///< null: standard output
  std::FILE* file_ = nullptr;
};

/// Writes a whole file. Throws InputError.
void write_file(const std::string& path, std::span<const std::uint8_t> bytes);

/// Whether the name means standard output or standard input.
inline bool is_standard_stream(const std::string& path) {
  return path == "-";
}
/// Keeps standard output for the data of OutputFile("-"). What the program prints goes to standard
/// error from now on. Called before the first print.
void reserve_standard_output();

/// Whether both paths lead to the same file, which need not exist.
bool same_file(const std::string& a, const std::string& b);

/// Throws InputError if two of these options name the same file. Each is the option and its path,
/// which may be empty.
void check_distinct_outputs(const std::vector<std::pair<const char*, std::string>>& outputs);
/// Removes a regular file; where `path` is a link, the file that it leads to. It may be gone.
void remove_file(const std::string& path);

/// Throw InputError before a long computation if the file could not be written after it.
void require_writable(const std::string& path);
/// The same for a model that the library writes, which takes no pipe. `from`: the model that the
/// new one continues, which it may replace.
void require_writable_model(const std::string& path, const std::string& from = "");

/// Throws InputError if the file system of `path` has less than `bytes` bytes free.
void require_free_space(const std::string& path, std::uint64_t bytes);

/// Whether `path` exists and is not a regular file.
bool is_special_file(const std::string& path);

}  // namespace ocellus::app
