#include "image/pgm.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

constexpr std::size_t kHeaderBytes = 4096;     // including comments; longer headers are refused
constexpr std::int64_t kMostNumber = 1000000;  // larger numbers are read as this one

/// A file with a read buffer.
class Reader {
 public:
  Reader() noexcept = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (file_ >= 0) close(file_);
  }

  Expected<void> open_file(const char* path) noexcept {
    // Non-blocking, because opening a FIFO would otherwise wait for a writer.
    file_ = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status = {};
    if (file_ < 0 || fstat(file_, &status) != 0) return failed(path, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) return failed(path, "it is not a regular file");
    return {};
  }
  /// Returns the next byte, or -1 at the end and after a system error. `error` then tells which.
  int next() noexcept {
    if (at_ == have_ && !fill()) return -1;
    ++position_;
    return bytes_[at_++];
  }
  std::size_t position() const noexcept { return position_; }
  int error() const noexcept { return error_; }

  static tl::unexpected<Error> failed(const char* path, const char* why) noexcept {
    return failure(Status::kIoError, "cannot read \"%.120s\": %s", path, why);
  }

 private:
  bool fill() noexcept {
    ssize_t got = 0;
    do {
      got = pread(file_, bytes_.data(), bytes_.size(), offset_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno;
    at_ = 0;
    have_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    offset_ += static_cast<off_t>(have_);
    return got > 0;
  }

  int file_ = -1;
  int error_ = 0;
  off_t offset_ = 0;  ///< offset of the next read
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  std::size_t position_ = 0;
  std::array<std::uint8_t, 8192> bytes_{};
};

bool is_blank(int byte) noexcept {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/// Reads a number of the header and the one byte after it: blanks and comments, then digits.
/// Returns a negative value if there is no number.
std::int64_t next_number(Reader& reader) noexcept {
  int byte = reader.next();
  while (is_blank(byte) || byte == '#') {
    if (byte == '#')
      while (byte >= 0 && byte != '\n' && reader.position() <= kHeaderBytes) byte = reader.next();
    if (reader.position() > kHeaderBytes) return -1;
    byte = reader.next();
  }
  std::int64_t value = -1;
  for (; byte >= '0' && byte <= '9' && reader.position() <= kHeaderBytes; byte = reader.next())
    value = std::min(std::max<std::int64_t>(value, 0) * 10 + (byte - '0'), kMostNumber);
  return is_blank(byte) ? value : -1;
}

struct Header {
  ImageSize size;
  int largest = 0;  ///< of the values
};

/// The error of a file that is open: what is wrong with it, unless the system refused to read it.
tl::unexpected<Error> corrupt(const Reader& reader, const char* path, const char* what) noexcept {
  if (reader.error() != 0) return Reader::failed(path, std::strerror(reader.error()));
  return failure(Status::kCorruptFile, "\"%.120s\": %s", path, what);
}

/// Opens a file and reads up to its first value.
Expected<Header> open_pgm(Reader& reader, const char* path) noexcept {
  OCELLUS_TRY(reader.open_file(path));
  if (reader.next() != 'P' || reader.next() != '5') {
    if (reader.error() != 0) return corrupt(reader, path, "");
    return invalid_argument("\"%.120s\" is not a binary PGM file (P5, 8 or 16 bits)", path);
  }
  std::array<std::int64_t, 3> header{};  // width, height, largest value
  for (std::int64_t& number : header) number = next_number(reader);
  const auto [width, height, largest] = header;
  if (reader.position() > kHeaderBytes)
    return corrupt(reader, path, "its header is longer than 4096 bytes");
  if (width < 1 || height < 1 || largest < 1 || largest > 65535) {
    return corrupt(reader, path,
                   "its header is damaged; it must be P5, width, height and 1 to 65535");
  }
  return Header{{static_cast<int>(width), static_cast<int>(height)}, static_cast<int>(largest)};
}

}  // namespace

Expected<ImageSize> read_pgm_size(const char* path) noexcept {
  Reader reader;
  OCELLUS_TRY_ASSIGN(header, open_pgm(reader, path));
  return header->size;
}

Expected<void> read_pgm(const char* path, ImageSize size, float* values) noexcept {
  Reader reader;
  OCELLUS_TRY_ASSIGN(header, open_pgm(reader, path));
  const auto [found, largest] = *header;
  if (found != size) {
    const bool huge = found.width == kMostNumber || found.height == kMostNumber;
    return invalid_argument("\"%.120s\" is %s%dx%d; it must be %dx%d", path,
                            huge ? "at least " : "", found.width, found.height, size.width,
                            size.height);
  }
  const std::size_t count =
      static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  for (std::size_t i = 0; i < count; ++i) {
    int value = reader.next();
    if (largest > 255 && value >= 0) {
      const int low = reader.next();
      value = low < 0 ? -1 : value << 8 | low;
    }
    if (value < 0) return corrupt(reader, path, "it is truncated");
    if (value > largest) return corrupt(reader, path, "a value is larger than its header says");
    values[i] = static_cast<float>(value) / static_cast<float>(largest);
  }
  return {};
}

}  // namespace ocellus::detail
