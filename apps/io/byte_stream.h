// ByteStream: bytes from a file, a pipe or standard input, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "apps/common/input_error.h"
#include "apps/common/interrupt.h"

namespace ocellus::app {

/// Memory grows with the bytes that have come, whatever a header claims. All calls throw InputError
/// that names the stream, and Stopped.
class ByteStream {
 public:
  /// `path`: a file, or "-" for standard input. `timeout_s`: how long it may give no data.
  ByteStream(const std::string& path, double timeout_s);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// The path, or "standard input".
  const std::string& name() const { return name_; }

  /// The next byte, or EOF.
  int take() { return there(1) > 0 ? static_cast<unsigned char>(bytes_[at_++]) : -1; }
  /// The byte that was taken last.
  void put_back(int) { --at_; }
  /// Waits until `most` bytes are there or the stream ends. Returns how many are there, which may
  /// be more.
  std::uint64_t there(std::uint64_t most);
  /// The next `count` bytes, fewer at the end; valid until the next call.
  std::string_view peek(std::size_t count);
  void skip(std::size_t count) { at_ += count; }
  /// Takes a line of at most `most` bytes without its end. Throws InputError if it is longer or the
  /// stream ends in it.
  std::string line(std::size_t most);

  [[noreturn]] void fail(const std::string& what) const;

 private:
  bool fill(std::size_t count);
  void wait() const;

  std::string name_;
  int descriptor_ = -1;
  double timeout_s_;
  std::string bytes_;
  std::size_t at_ = 0;  ///< of the next byte in `bytes_`
  bool ended_ = false;
};

}  // namespace ocellus::app
