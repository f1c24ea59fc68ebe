// Monitor: what it costs a frame.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <tuple>

#include "apps/common/sockets.h"
#include "apps/io/monitor.h"
#include "realtime/interpose.h"

namespace ocellus::test {
namespace {

// Example failure: a count or a notification takes memory in the loop that processes frames.
TEST(Monitor, AFrameTakesNoMemory) {
  if (!interposer_present()) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const std::string name = "@ocellus-monitor-" + std::to_string(getpid());
  const app::UnixAddress address = *app::unix_address(name);
  const app::Descriptor manager(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  ASSERT_EQ(bind(manager.get(), reinterpret_cast<const sockaddr*>(&address.address), address.bytes),
            0);
  setenv("NOTIFY_SOCKET", name.c_str(), 1);
  setenv("WATCHDOG_USEC", "2", 1);
  app::Monitor monitor("0", "frames");
  app::OperatorMetrics& metrics = monitor.add_operator("flow", "cpu", "frames");
  monitor.ready();
  arm_interposer();
  for (int frame = 1; frame <= 1000; ++frame) {
    metrics.record(1'000'000LL * frame, FrameInfo{});
    monitor.frame_done(frame, 0);
  }
  const AllocationCounts counts = disarm_interposer();
  EXPECT_EQ(counts.allocations, 0u);
  EXPECT_EQ(counts.frees, 0u);
  // The notifications were sent.
  std::array<char, 256> state;
  std::string all;
  for (ssize_t bytes; (bytes = recv(manager.get(), state.data(), state.size(), 0)) > 0;)
    all.append(state.data(), static_cast<std::size_t>(bytes));
  EXPECT_NE(all.find("WATCHDOG=1\nSTATUS=1 frames of frames"), std::string::npos) << all;
}

// Example failure: a time of hours is too large, so the service manager ends a service that works.
TEST(ServiceNotifier, KnowsTheTimeOfTheWatchdog) {
  setenv("NOTIFY_SOCKET", "/none", 1);
  const std::string own = std::to_string(getpid());
  for (const auto& [time, process, expected] :
       {std::tuple{"7200000000", own, 7'200'000'000LL}, {"10", "1", 0}, {"-", own, 0}}) {
    setenv("WATCHDOG_USEC", time, 1);
    setenv("WATCHDOG_PID", process.c_str(), 1);
    EXPECT_EQ(app::ServiceNotifier().watchdog().count(), expected) << time << " " << process;
  }
  unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace ocellus::test
