// Sockets of the program: where it sends lines and notifications, and where it answers.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ocellus::app {

/// A file descriptor that is closed at the end; -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor();

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// The address of a Unix socket.
struct UnixAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

/// A path, or @ and an abstract name. Nothing if it is empty or too long.
std::optional<UnixAddress> unix_address(std::string_view path);

/// A host and a port.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  std::string text() const;
};

/// Parses "PORT", "HOST:PORT" and "[IPv6]:PORT". `host`: that of a port alone. Nothing if the text
/// is none of them, as a path is not.
std::optional<HostPort> host_port(std::string_view text, const char* host);

/// Connect to a stream socket. On failure, the reason is in `errno`, or in `reason` if it is that
/// of a name.
Descriptor connect_unix(const UnixAddress& address);
Descriptor connect_tcp(const HostPort& to, std::string& reason);
/// Listens on a TCP socket. Port 0 is one that is free, which `at` has then.
Descriptor listen_tcp(HostPort& at, std::string& reason);

/// Sends all bytes, without SIGPIPE. False after an error, whose reason is in `errno`.
bool send_all(int to, std::string_view bytes);

}  // namespace ocellus::app
