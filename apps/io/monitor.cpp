#include "apps/io/monitor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/common/threads.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

/// The time between two notifications if there is no watchdog.
constexpr std::chrono::seconds kStatusEvery{5};
constexpr int kFileEveryMs = 1000;
/// A client that sends or takes nothing for so long is left.
constexpr std::chrono::seconds kClientPatience{2};

/// The value of a label. Control characters and bytes that are not UTF-8 are escaped by
/// `printable`, whose backslashes are then characters of the value.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : printable(text, kMostOfValue)) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

bool ends_like_port(std::string_view text) {
  if (text.find('/') != std::string_view::npos) return false;
  text = text.substr(text.rfind(':') + 1);  // the whole text without a colon
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

double seconds_of(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

void add_family(std::string& text, std::string_view name, std::string_view type,
                std::string_view help) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

template <typename Value>
void add_sample(std::string& text, std::string_view name, std::string_view labels, Value value) {
  fmt::format_to(std::back_inserter(text), "{}{{{}}} {}\n", name, labels, value);
}

}  // namespace

// ---- ServiceNotifier

ServiceNotifier::ServiceNotifier() {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  const auto address = path == nullptr ? std::nullopt : unix_address(path);
  if (!address) return;
  to_ = *address;
  socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // The watchdog may be that of another process, such as a shell that started this one.
  const char* const process = std::getenv("WATCHDOG_PID");
  if (process != nullptr && number_of<pid_t>(process) != getpid()) return;
  const char* const time = std::getenv("WATCHDOG_USEC");
  if (time == nullptr) return;
  watchdog_ = std::chrono::microseconds(number_of<std::int64_t>(time).value_or(0));
}

void ServiceNotifier::send(std::string_view state) const noexcept {
  if (!socket_) return;
  // A service manager that takes nothing must not delay a frame, so a failure is ignored.
  sendto(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&to_.address), to_.bytes);
}

// ---- OperatorMetrics

void OperatorMetrics::record(std::int64_t latency_ns, const FrameInfo& done) noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const auto bucket = static_cast<std::size_t>(
      std::lower_bound(kBounds.begin(), kBounds.end(), seconds_of(latency_ns)) - kBounds.begin());
  buckets_[bucket].fetch_add(1, kRelaxed);
  latency_ns_.fetch_add(static_cast<std::uint64_t>(latency_ns), kRelaxed);
  compute_ns_.fetch_add(static_cast<std::uint64_t>(done.compute_ns), kRelaxed);
  if (done.bad_pixels()) bad_.fetch_add(1, kRelaxed);
}

// ---- Monitor

Monitor::Monitor(const std::string& metrics, const std::string& input)
    : input_(printable(input, kMostOfValue)),
      input_label_(fmt::format("name=\"{}\"", label_value(input))),
      notify_every_(notifier_.watchdog().count() > 0 ? notifier_.watchdog() / 2 : kStatusEvery) {
  active_ = notifier_.connected() || !metrics.empty();
  if (metrics.empty()) return;
  if (auto at = host_port(metrics, "127.0.0.1")) {
    std::string reason;
    const bool any = at->port == 0;
    listener_ = listen_tcp(*at, reason);
    if (!listener_)
      throw InputError(fmt::format("--metrics {}: {}: {}", metrics, at->text(), reason));
    if (any) tell(fmt::format("ocellus: metrics at http://{}/metrics\n", at->text()));
  } else {
    file_ = metrics;
    if (ends_like_port(file_)) {
      throw InputError(fmt::format(
          "--metrics is '{0}'; a port is 0 to 65535; a file of this name is ./{0}", file_));
    }
    if (is_standard_stream(file_) || is_special_file(file_))
      throw InputError(
          fmt::format("--metrics is '{}'; it must be a regular file or a port", file_));
    write_file();
  }
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  thread_ = start_thread("the thread that publishes metrics", [this] { run(); });
}

Monitor::~Monitor() {
  stopping();
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  const ssize_t woken = ::write(wake_.get(), &one, sizeof(one));
  static_cast<void>(woken);  // cannot fail: the counter is 0
  thread_.join();
}

OperatorMetrics& Monitor::add_operator(std::string_view op, std::string_view backend,
                                       std::string_view name) {
  const std::string labels =
      fmt::format(R"(operator="{}",backend="{}",name="{}")", op, backend, label_value(name));
  const std::lock_guard<std::mutex> lock(mutex_);
  for (OperatorMetrics& one : operators_)
    if (one.labels_ == labels) return one;
  return operators_.emplace_back(labels);
}

void Monitor::ready() {
  if (state_ != State::kStarting) return;
  state_ = State::kReady;
  notified_ = Clock::now();
  notifier_.send(fmt::format("READY=1\nSTATUS=Processes {}", input_));
}

void Monitor::frame_done(std::int64_t read, std::int64_t dropped, std::int64_t missed) {
  if (!active_) return;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  read_.store(read, kRelaxed);
  dropped_.store(dropped, kRelaxed);
  missed_.store(missed, kRelaxed);
  last_ns_.store(wall_clock_ns(), kRelaxed);
  if (!notifier_.connected()) return;
  const Clock::time_point now = Clock::now();
  if (now - notified_ < notify_every_) return;
  notified_ = now;
  char state[kMostOfValue + 200];
  const auto end = fmt::format_to_n(state, sizeof(state), "{}STATUS={} frames of {}, {} dropped",
                                    notifier_.watchdog().count() > 0 ? "WATCHDOG=1\n" : "", read,
                                    input_, dropped);
  notifier_.send({state, std::min(end.size, sizeof(state))});
}

void Monitor::stopping() {
  if (state_ != State::kReady) return;
  state_ = State::kStopping;
  notifier_.send("STOPPING=1");
}

void Monitor::run() {
  // A signal must end the waits of the threads that process frames, not those of this one.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const bool writes = !file_.empty();
  for (;;) {
    pollfd events[2] = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    poll(events, 2, writes ? kFileEveryMs : -1);
    const bool ends = events[0].revents != 0;
    try {
      if (writes) write_file();
      if (events[1].revents != 0) {
        const Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client)
          serve(client.get());
        else
          poll(nullptr, 0, kFileEveryMs / 10);  // such as without free descriptors
      }
    } catch (const std::exception& error) {
      // Frames go on, and the file may be written again later.
      tell_once("--metrics", error.what());
    }
    if (ends) return;
  }
}

void Monitor::serve(int client) const {
  const timeval patience{kClientPatience.count(), 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const Clock::time_point end = Clock::now() + kClientPatience;
  char bytes[4096];
  std::size_t count = 0;
  std::string_view request;
  while (request.find("\r\n\r\n") == std::string_view::npos) {
    if (count == sizeof(bytes) || Clock::now() > end) return;
    const ssize_t more = recv(client, bytes + count, sizeof(bytes) - count, 0);
    if (more <= 0) return;
    count += static_cast<std::size_t>(more);
    request = {bytes, count};
  }
  const std::string_view target = request.substr(request.find(' ') + 1);
  const bool is_get = request.starts_with("GET ");
  const bool found = target.starts_with("/metrics ") || target.starts_with("/metrics?");
  const std::string body = !is_get ? "only GET\n" : found ? text() : "only /metrics\n";
  send_all(client, fmt::format("HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; "
                               "charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                               !is_get ? "405 Method Not Allowed\r\nAllow: GET"
                               : found ? "200 OK"
                                       : "404 Not Found",
                               body.size()) +
                       body);
}

void Monitor::write_file() const {
  const std::string now = text();
  OutputFile file(file_);
  file.write(now.data(), now.size());
  file.commit();
}

std::string Monitor::text() const {
  std::string out;
  const std::lock_guard<std::mutex> lock(mutex_);
  constexpr const char* kLatency = "ocellus_latency_seconds";
  add_family(out, kLatency, "histogram", "Time from the submission of a frame to its result.");
  for (const OperatorMetrics& one : operators_) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < one.buckets_.size(); ++i) {
      sum += one.buckets_[i].load();
      const std::string bound = i < OperatorMetrics::kBounds.size()
                                    ? fmt::format("{}", OperatorMetrics::kBounds[i])
                                    : "+Inf";
      add_sample(out, fmt::format("{}_bucket", kLatency),
                 fmt::format("{},le=\"{}\"", one.labels_, bound), sum);
    }
    add_sample(out, fmt::format("{}_sum", kLatency), one.labels_,
               seconds_of(static_cast<std::int64_t>(one.latency_ns_.load())));
    add_sample(out, fmt::format("{}_count", kLatency), one.labels_, sum);
  }
  const auto add_operators = [&](const char* name, const char* help, auto value) {
    add_family(out, name, "counter", help);
    for (const OperatorMetrics& one : operators_) add_sample(out, name, one.labels_, value(one));
  };
  add_operators("ocellus_frames_total", "Frames that the operator has processed.",
                [](const OperatorMetrics& one) {
                  std::uint64_t sum = 0;
                  for (const auto& bucket : one.buckets_) sum += bucket.load();
                  return sum;
                });
  add_operators("ocellus_bad_frames_total", "Frames with values that are not finite.",
                [](const OperatorMetrics& one) { return one.bad_.load(); });
  add_operators("ocellus_compute_seconds_total", "Time of computation.",
                [](const OperatorMetrics& one) {
                  return seconds_of(static_cast<std::int64_t>(one.compute_ns_.load()));
                });
  const auto add_input = [&](const char* name, const char* type, const char* help, auto value) {
    add_family(out, name, type, help);
    add_sample(out, name, input_label_, value);
  };
  add_input("ocellus_frames_read_total", "counter", "Frames that were read.", read_.load());
  add_input("ocellus_frames_dropped_total", "counter",
            "Frames of a camera that a newer one replaced before they were read.", dropped_.load());
  add_input("ocellus_missed_deadlines_total", "counter", "Frames that missed the budget.",
            missed_.load());
  add_input("ocellus_last_result_timestamp_seconds", "gauge",
            "Time of the last result since 1970; 0 before the first one.",
            seconds_of(last_ns_.load()));
  add_family(out, "ocellus_build_info", "gauge", "The version of Ocellus; the value is 1.");
  add_sample(out, "ocellus_build_info", fmt::format("version=\"{}\"", version()), 1);
  return out;
}

}  // namespace ocellus::app
