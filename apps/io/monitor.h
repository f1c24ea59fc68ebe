// Monitor: what a service manager and Prometheus learn of a command that runs for long.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "apps/common/sockets.h"
#include "ocellus/ticket.h"

namespace ocellus::app {

/// Notifications to a service manager such as systemd, in the protocol of sd_notify(3). Without
/// NOTIFY_SOCKET in the environment, the calls do nothing.
class ServiceNotifier {
 public:
  ServiceNotifier();

  /// The time within which the service manager expects a sign of life; 0: it expects none.
  std::chrono::microseconds watchdog() const { return watchdog_; }
  bool connected() const { return static_cast<bool>(socket_); }
  /// Sends assignments such as "READY=1", one a line. Never waits, and does not allocate.
  void send(std::string_view state) const noexcept;

 private:
  Descriptor socket_;
  UnixAddress to_;
  std::chrono::microseconds watchdog_{0};
};

/// What an operator has done since the start. One thread records while others read.
class OperatorMetrics {
 public:
  /// Upper bounds of the buckets of the latency, in seconds.
  static constexpr std::array<double, 16> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                     0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                                     1.0,    2.5,     5.0,    10.0};

  /// `labels`: as Prometheus has them.
  explicit OperatorMetrics(std::string labels) : labels_(std::move(labels)) {}

  /// Takes constant time and does not allocate. `latency_ns`: from the submission to the result.
  void record(std::int64_t latency_ns, const FrameInfo& done) noexcept;

 private:
  friend class Monitor;
  using Count = std::atomic<std::uint64_t>;

  std::string labels_;
  std::array<Count, kBounds.size() + 1> buckets_{};  ///< the last one has no bound
  Count latency_ns_{0};
  Count compute_ns_{0};
  Count bad_{0};
};

/// The loop of a command tells it about frames. A thread of its own publishes metrics; it exists
/// only with --metrics. Notifications come from the loop itself: where no frame ends, nothing tells
/// the watchdog that all is well.
class Monitor {
 public:
  /// `metrics`: see add_metrics_option. `input`: the name of the frames. Throws InputError if the
  /// file cannot be written or the port is taken.
  Monitor(const std::string& metrics, const std::string& input);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// `name` tells operators of a kind apart. Operators of the same three names share their metrics.
  /// They live as long as this object.
  OperatorMetrics& add_operator(std::string_view op, std::string_view backend,
                                std::string_view name);

  /// Called when the first frame can be taken.
  void ready();
  /// Called behind each frame, when its result has been passed on. Does not allocate. The numbers
  /// are those of all frames so far.
  void frame_done(std::int64_t read, std::int64_t dropped, std::int64_t missed = 0);
  /// Called behind the last frame, before what may take long at the end.
  void stopping();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void serve(int client) const;
  /// Throws InputError.
  void write_file() const;
  std::string text() const;

  bool active_ = false;  ///< whether somebody is told
  std::string input_;    ///< for a line of text
  std::string input_label_;
  ServiceNotifier notifier_;
  enum class State { kStarting, kReady, kStopping } state_ = State::kStarting;
  std::chrono::microseconds notify_every_{0};
  Clock::time_point notified_{};

  mutable std::mutex mutex_;  ///< of the list
  std::deque<OperatorMetrics> operators_;
  std::atomic<std::int64_t> read_{0};
  std::atomic<std::int64_t> dropped_{0};
  std::atomic<std::int64_t> missed_{0};
  std::atomic<std::int64_t> last_ns_{0};  ///< wall clock of the last result
  std::string file_;                      ///< empty: none
  Descriptor listener_;
  Descriptor wake_;
  std::thread thread_;
};

}  // namespace ocellus::app
