#include "apps/io/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

ByteStream::ByteStream(const std::string& path, double timeout_s)
    : name_(is_standard_stream(path) ? "standard input" : path), timeout_s_(timeout_s) {
  if (is_standard_stream(path)) {
    descriptor_ = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  } else {
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    note_input(path);
  }
  if (descriptor_ < 0) fail(std::strerror(errno));
}

ByteStream::~ByteStream() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint64_t ByteStream::there(std::uint64_t most) {
  while (!ended_ && bytes_.size() - at_ < most) {
    const std::uint64_t missing = most - (bytes_.size() - at_);
    if (!fill(static_cast<std::size_t>(std::min<std::uint64_t>(missing, kPiece)))) ended_ = true;
  }
  return bytes_.size() - at_;
}

std::string_view ByteStream::peek(std::size_t count) {
  there(count);
  return std::string_view(bytes_).substr(at_, count);
}

std::string ByteStream::line(std::size_t most) {
  std::string text;
  for (;;) {
    const int c = take();
    if (c == '\n') return text;
    if (c < 0) fail(fmt::format("truncated: it ends in the header \"{}\"", text));
    text += static_cast<char>(c);
    if (text.size() > most) fail(fmt::format("damaged: a header has more than {} bytes", most));
  }
}

/// Appends at least one byte. Returns false at the end.
bool ByteStream::fill(std::size_t count) {
  // What was taken is dropped when it is most of the memory, so that each byte moves once at most.
  if (at_ > bytes_.size() / 2) {
    bytes_.erase(0, at_);
    at_ = 0;
  }
  const std::size_t before = bytes_.size();
  // At least a page, although fewer bytes may be asked for.
  bytes_.resize(before + std::max<std::size_t>(count, 4096));
  for (;;) {
    wait();
    const ssize_t got = read(descriptor_, bytes_.data() + before, bytes_.size() - before);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) fail(std::strerror(errno));
    bytes_.resize(before + static_cast<std::size_t>(got));
    return got > 0;
  }
}

void ByteStream::wait() const {
  using Clock = std::chrono::steady_clock;
  constexpr int kStepMs = 50;  // after which a signal is noticed
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (stop_signal() != 0) throw Stopped();
    pollfd ready = {descriptor_, POLLIN, 0};
    if (poll(&ready, 1, kStepMs) > 0) return;
    if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_s_) {
      fail(fmt::format("no data came within {:g} s; --source-timeout sets this time", timeout_s_));
    }
  }
}

void ByteStream::fail(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", name_, what));
}

}  // namespace ocellus::app
