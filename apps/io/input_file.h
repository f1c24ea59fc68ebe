// Input files of the program: images and fields, which are regular files of known size, and texts,
// which may come through a pipe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <memory>
#include <string>

#include "apps/common/input_error.h"

namespace ocellus::app {

/// A regular file, open for reading, which is never in memory as a whole. All calls throw
/// InputError that names the file.
class InputFile {
 public:
  /// Throws also for a folder, a device, a pipe and an empty file. A device may never end, and the
  /// size of a pipe's data is not known in advance.
  explicit InputFile(std::string path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// The number of bytes from the current position to the end.
  std::uint64_t left() const;
  void seek(std::uint64_t position);
  /// Reads up to `count` bytes, fewer only at the end of the file.
  std::size_t read_some(void* to, std::size_t count);
  /// Reads exactly `count` bytes.
  void read(void* to, std::size_t count);
  /// The next byte, or EOF.
  int take() { return getc_unlocked(file_.get()); }
  void put_back(int byte) { std::ungetc(byte, file_.get()); }
  /// `left`, as readers of streams ask for it.
  std::uint64_t there(std::uint64_t) const { return left(); }
  /// For libraries that read the file themselves.
  std::FILE* stream() { return file_.get(); }

  /// Throws InputError: "path: what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t size_ = 0;
};

/// The first bytes of a regular file, at most `count`. Empty if it cannot be read.
std::string first_bytes(const std::string& path, std::size_t count);

/// A text from a file, a device or a pipe, or, for "-", from standard input. If a pipe or a device
/// gives no data for `patience`, that is an error, because perhaps no process writes to it.
/// Standard input has no time limit, because a user may be typing. Errors at opening are
/// InputErrors that name the text. Errors while reading lack the name; the reader adds name() and
/// the position.
class InputText : public std::istream {
 public:
  static constexpr std::chrono::milliseconds kPatience{10'000};

  explicit InputText(const std::string& path, std::chrono::milliseconds patience = kPatience);
  ~InputText() override;

  /// The path, or "standard input".
  const std::string& name() const { return name_; }

 private:
  class Buffer;

  std::string name_;
  std::unique_ptr<Buffer> buffer_;
};

/// The size limit of templates as JSON.
inline constexpr std::size_t kMostTemplateText = std::size_t{1} << 20;

/// Reads a whole text. Throws InputError as soon as it has more than `most` bytes.
std::string read_text(std::istream& from, std::size_t most);

}  // namespace ocellus::app
