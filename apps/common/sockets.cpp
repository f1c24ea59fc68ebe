#include "apps/common/sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

/// Calls `use` with a socket and an address of each meaning of `at`, until it succeeds.
template <typename Use>
Descriptor first_socket(const HostPort& at, std::string& reason, Use use) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(at.port);
  if (const int error = getaddrinfo(at.host.c_str(), port.c_str(), &hints, &found); error != 0) {
    reason = gai_strerror(error);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Descriptor made(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made && use(made.get(), *one)) return made;
    reason = errno == EADDRINUSE ? "another process has this port" : std::strerror(errno);
  }
  return {};
}

}  // namespace

Descriptor::~Descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<UnixAddress> unix_address(std::string_view path) {
  UnixAddress made;
  made.address.sun_family = AF_UNIX;
  const bool abstract = path.starts_with('@');
  // A path ends with a zero, an abstract name begins with one.
  if (path.size() <= (abstract ? 1u : 0u) || path.size() >= sizeof(made.address.sun_path))
    return std::nullopt;
  std::memcpy(made.address.sun_path, path.data(), path.size());
  if (abstract) made.address.sun_path[0] = '\0';
  made.bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0u : 1u));
  return made;
}

std::string HostPort::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::optional<HostPort> host_port(std::string_view text, const char* host) {
  if (text.find('/') != std::string_view::npos) return std::nullopt;
  const std::size_t colon = text.rfind(':');
  const std::size_t begin = colon == std::string_view::npos ? 0 : colon + 1;
  const auto port = number_of<std::uint16_t>(text.substr(begin));
  if (!port) return std::nullopt;
  if (begin == 0) return HostPort{host, *port};
  std::string_view name = text.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return name.empty() ? std::nullopt : std::optional(HostPort{std::string(name), *port});
}

Descriptor connect_unix(const UnixAddress& address) {
  Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.address);
  if (made && connect(made.get(), to, address.bytes) == 0) return made;
  return {};
}

Descriptor connect_tcp(const HostPort& to, std::string& reason) {
  return first_socket(to, reason, [](int made, const addrinfo& one) {
    return connect(made, one.ai_addr, one.ai_addrlen) == 0;
  });
}

Descriptor listen_tcp(HostPort& at, std::string& reason) {
  constexpr int kWaiting = 8;
  return first_socket(at, reason, [&at](int made, const addrinfo& one) {
    // Else a restart would have to wait until connections of the process before are forgotten.
    const int on = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(made, one.ai_addr, one.ai_addrlen) != 0 || listen(made, kWaiting) != 0) return false;
    sockaddr_storage bound{};
    socklen_t bytes = sizeof(bound);
    getsockname(made, reinterpret_cast<sockaddr*>(&bound), &bytes);
    // The port is at the same place in both kinds of addresses.
    at.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    return true;
  });
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace ocellus::app
