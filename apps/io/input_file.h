// What the program reads: files of images and fields, whose size is known beforehand, and texts,
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

/// A regular file that is open for reading, never in memory as a whole. All calls throw InputError
/// that names it.
class InputFile {
 public:
  /// Also when it is a folder, a device, a pipe, or empty: a device may never end, and a pipe's end
  /// is not known beforehand.
  explicit InputFile(std::string path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// From where it is read to its end.
  std::uint64_t left() const;
  void seek(std::uint64_t position);
  /// As many bytes as there are, at most `count`.
  std::size_t read_some(void* to, std::size_t count);
  /// Exactly so many.
  void read(void* to, std::size_t count);
  /// For libraries that read by themselves.
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

/// The first bytes of a regular file, at most `count`; empty when it cannot be read.
std::string first_bytes(const std::string& path, std::size_t count);

/// A text to be read from a file, a device or a pipe, or for "-" from standard input. A pipe or a
/// device that gives nothing for as long as `patience` is an error, because nobody may ever write
/// to it; standard input is waited for, as somebody may type. Throws InputError that names it; one
/// while it is read is for the reader to complete with name() and what it knows of the place.
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

/// Templates, as text or JSON, have at most so many bytes.
inline constexpr std::size_t kMostTemplateText = std::size_t{1} << 20;

/// All of a text. Throws InputError as soon as it has more than `most` bytes.
std::string read_text(std::istream& from, std::size_t most);

}  // namespace ocellus::app
