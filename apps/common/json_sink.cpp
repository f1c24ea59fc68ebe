#include "apps/common/json_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "apps/common/input_error.h"
#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/common/json_text.h"

namespace ocellus::app {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kTcp = "tcp:";

/// Of the process, as standard output is.
std::string& given_target() {
  static std::string target;
  return target;
}

}  // namespace

JsonSink::JsonSink(const std::string& target) : target_(target) {
  const std::string_view text = target;
  std::string reason;
  if (text == "-") {
    own_ = Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  } else if (text.starts_with(kUnix)) {
    socket_ = true;
    const auto address = unix_address(text.substr(kUnix.size()));
    if (!address) fail("is no name of a socket, such as unix:/run/lines.sock or unix:@lines");
    own_ = connect_unix(*address);
  } else if (text.starts_with(kTcp)) {
    socket_ = true;
    const auto to = host_port(text.substr(kTcp.size()), "127.0.0.1");
    if (!to) fail("is no address, such as tcp:127.0.0.1:9000");
    own_ = connect_tcp(*to, reason);
  } else if (struct stat status{}; stat(target.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
    check_not_input(target);
    constexpr int kReadableByAll = 0666;
    own_ =
        Descriptor(open(target.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kReadableByAll));
  } else {
    const auto opened = writer_.open(target.c_str(), {.stops = [] { return stop_signal() != 0; }});
    if (!opened) fail(opened.error().text);
    return;
  }
  if (own_) return;
  if (reason.empty()) reason = std::strerror(errno);
  fail(fmt::format("{}: {}", socket_ ? "cannot be connected" : "cannot be written", reason));
}

void JsonSink::write(const nlohmann::ordered_json& object) {
  const std::string line = json_line(object) + "\n";
  if (socket_) {
    if (!send_all(own_.get(), line))
      fail(fmt::format("cannot be written: {}", std::strerror(errno)));
  } else {
    const int to = own_ ? own_.get() : writer_.descriptor();
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t wrote = ::write(to, line.data() + at, line.size() - at);
      if (wrote < 0 && errno != EINTR)
        fail(fmt::format("cannot be written: {}", std::strerror(errno)));
      if (wrote > 0) at += static_cast<std::size_t>(wrote);
    }
  }
}

void JsonSink::fail(const std::string& reason) const {
  throw InputError(fmt::format("--json-to {}: {}", target_, reason));
}

const std::string& json_target() {
  return given_target();
}

void set_json_target(const std::string& target) {
  given_target() = target;
}

JsonSink* json_sink() {
  static std::unique_ptr<JsonSink> sink;
  if (sink == nullptr && !json_target().empty()) sink = std::make_unique<JsonSink>(json_target());
  return sink.get();
}

}  // namespace ocellus::app
