#include "apps/io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <streambuf>
#include <utility>

#include "apps/common/input_guard.h"
#include "apps/common/printable.h"
#include "apps/io/output_file.h"
#include "core/option_table.h"

namespace ocellus::app {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

/// O_NONBLOCK: opening a pipe must not wait for a writer.
int open_to_read(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool is_standard_input(const struct stat& file) {
  struct stat in = {};
  return fstat(STDIN_FILENO, &in) == 0 && in.st_dev == file.st_dev && in.st_ino == file.st_ino;
}

}  // namespace

// ---- files

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  const int descriptor = open_to_read(path_);
  if (descriptor < 0) fail(std::strerror(errno));
  file_.reset(fdopen(descriptor, "rb"));
  if (!file_) {
    close(descriptor);
    fail(std::strerror(errno));
  }
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) fail(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail("is a folder; name a file");
  if (!S_ISREG(status.st_mode))
    fail("is a device or a pipe; write its data to a file and give the name of the file");
  if (status.st_size == 0) fail("the file is empty");
  size_ = static_cast<std::uint64_t>(status.st_size);
  note_input(path_);
  std::setvbuf(file_.get(), nullptr, _IOFBF, kBufferBytes);
}

std::uint64_t InputFile::left() const {
  const off_t at = ftello(file_.get());
  if (at < 0) fail(std::strerror(errno));
  return size_ - std::min(size_, static_cast<std::uint64_t>(at));
}

void InputFile::seek(std::uint64_t position) {
  if (fseeko(file_.get(), static_cast<off_t>(position), SEEK_SET) != 0) fail(std::strerror(errno));
}

std::size_t InputFile::read_some(void* to, std::size_t count) {
  const std::size_t got = std::fread(to, 1, count, file_.get());
  if (got < count && std::ferror(file_.get())) fail(std::strerror(errno));
  return got;
}

void InputFile::read(void* to, std::size_t count) {
  if (read_some(to, count) != count) fail("the file became shorter while it was read");
}

void InputFile::fail(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", path_, what));
}

std::string first_bytes(const std::string& path, std::size_t count) {
  const int descriptor = open_to_read(path);
  if (descriptor < 0) return "";
  struct stat status = {};
  std::string bytes(count, '\0');
  ssize_t got = 0;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
    got = pread(descriptor, bytes.data(), count, 0);
  close(descriptor);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

// ---- texts

class InputText::Buffer : public std::streambuf {
 public:
  Buffer(int descriptor, bool waits, std::chrono::milliseconds patience)
      : descriptor_(descriptor), waits_(waits), patience_(patience) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() override {
    if (descriptor_ != STDIN_FILENO) close(descriptor_);
  }

 protected:
  int_type underflow() override {
    for (;;) {
      const ssize_t got = ::read(descriptor_, bytes_.data(), bytes_.size());
      if (got > 0) {
        begun_ = true;
        setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
        return traits_type::to_int_type(bytes_[0]);
      }
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno != EAGAIN) throw InputError(std::strerror(errno));
      // A read returns 0 both at the end of a pipe and while no writer has opened it.
      if (got == 0 && (begun_ || !waits_ || ended())) return traits_type::eof();
      if (got < 0 && !wait()) nothing();
    }
  }

 private:
  /// Waits for data. Returns false after the time limit.
  bool wait() const {
    pollfd look{descriptor_, POLLIN, 0};
    for (;;) {
      const int ready = poll(&look, 1, waits_ ? static_cast<int>(patience_.count()) : -1);
      if (ready >= 0) return ready > 0;
      if (errno != EINTR) throw InputError(std::strerror(errno));
    }
  }
  /// Whether a writer has opened and closed the pipe since it was opened here.
  bool ended() const {
    if (!wait()) nothing();
    pollfd look{descriptor_, POLLIN, 0};
    return poll(&look, 1, 0) > 0 && (look.revents & POLLIN) == 0;
  }
  [[noreturn]] void nothing() const {
    throw InputError(fmt::format(
        "gave no data for {:g} s; another process must write to it, or use - for standard input",
        std::chrono::duration<double>(patience_).count()));
  }

  int descriptor_;
  bool waits_;  ///< whether to wait, at most `patience_`, for a pipe or a device
  std::chrono::milliseconds patience_;
  bool begun_ = false;
  std::array<char, kBufferBytes> bytes_;
};

InputText::InputText(const std::string& path, std::chrono::milliseconds patience)
    : std::istream(nullptr), name_(path == "-" ? "standard input" : path) {
  const auto fail = [this](const char* what) {
    throw InputError(fmt::format("{}: {}", name_, what));
  };
  int descriptor = STDIN_FILENO;
  bool waits = false;
  if (path != "-") {
    descriptor = open_to_read(path);
    if (descriptor < 0) fail(std::strerror(errno));
    struct stat status = {};
    if (fstat(descriptor, &status) != 0 || S_ISDIR(status.st_mode)) {
      close(descriptor);
      fail("is a folder; name the file that holds the text");
    }
    waits = !S_ISREG(status.st_mode);
    note_input(path);
    if (waits && is_standard_input(status)) {  // /dev/stdin is treated as -
      close(descriptor);
      descriptor = STDIN_FILENO;
      waits = false;
    }
  }
  buffer_ = std::make_unique<Buffer>(descriptor, waits, patience);
  rdbuf(buffer_.get());
  // Lets exceptions of the buffer reach the caller.
  exceptions(std::ios::badbit);
}

InputText::~InputText() = default;

std::string read_text(std::istream& from, std::size_t most) {
  std::string text;
  std::array<char, 4096> part;
  while (from.read(part.data(), part.size()), from.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(from.gcount()));
    if (text.size() > most)
      throw InputError(fmt::format("has more than {}, which is the limit", bytes_text(most)));
  }
  return std::string(detail::without_byte_order_mark(text));
}

}  // namespace ocellus::app
