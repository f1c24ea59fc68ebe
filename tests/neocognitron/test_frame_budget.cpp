// The time of a frame of digits against that of fixed work on the same threads, so that a slower
// program fails on any machine. Other programs may take most of the processors' time: of the frames
// with equal pixels, those count that were hardly disturbed.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "apps/io/digit_sequence.h"
#include "apps/measure/fixed_work.h"
#include "ocellus/neocognitron.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Time of a frame by that of the fixed work, on two CPUs. Measured of undisturbed frames: 3.4
/// to 3.7 without other programs, 4.4 to 5.6 with five to nine; of twice the work 6.3 to 6.7
/// without.
constexpr double kMostRatio = 5.9;
/// Of all frames. Measured: 4.0 to 5.7; of twice the work 7.8 to 8.1.
constexpr double kMostMedianRatio = 7.0;

/// Share of the processors' time that other programs may have for each frame to count.
constexpr double kQuiet = 0.1;

constexpr std::size_t kScenes = 30;

/// The fixed work on two threads at once, as a frame has them. They sleep in the meantime.
class TwoThreads {
 public:
  TwoThreads() : helper_([this] { help(); }) {}
  ~TwoThreads() {
    begin(kEnd);
    helper_.join();
  }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

  /// Milliseconds of the slower thread.
  double run() {
    begin(turn_ + 1);
    const double own = work(works_[0], turn_);
    while (done_ != turn_) std::this_thread::yield();
    return std::max(own, other_);
  }

 private:
  static constexpr int kEnd = -1;

  void begin(int turn) {
    turn_ = turn;
    turn_.notify_one();
  }
  double work(app::FixedWork& work, int turn) {
    // Both begin together: a thread alone may be faster than one of two.
    ++arrived_;
    while (arrived_ < 2 * turn) std::this_thread::yield();
    const Clock::time_point begun = Clock::now();
    sum_ += work.run();
    return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
  }
  void help() {
    for (int before = 0;; before = done_) {
      turn_.wait(before);
      if (turn_ == kEnd) return;
      other_ = work(works_[1], turn_);
      done_ = turn_.load();
    }
  }

  std::vector<app::FixedWork> works_ = std::vector<app::FixedWork>(2);
  std::atomic<std::uint32_t> sum_{0};
  std::atomic<int> turn_{0};
  std::atomic<int> arrived_{0};
  std::atomic<int> done_{0};
  double other_ = 0.0;
  std::thread helper_;
};

/// Seconds of CPU time.
struct CpuTime {
  double process = 0.0;
  double machine = NAN;  ///< of all programs, and what a hypervisor took; NaN: not known
  Clock::time_point at = Clock::now();

  CpuTime() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    process = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    std::ifstream file("/proc/stat");
    std::string name;
    // user, nice, system, idle, iowait, irq, softirq, steal
    std::array<double, 8> ticks{};
    file >> name;
    for (double& value : ticks) file >> value;
    if (file)
      machine = (std::accumulate(ticks.begin(), ticks.end(), 0.0) - ticks[3] - ticks[4]) /
                static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  /// The share of all processors' time that other programs have had since then.
  double others_since(const CpuTime& begin) const {
    const double seconds = std::chrono::duration<double>(at - begin.at).count();
    return (machine - begin.machine - (process - begin.process)) /
           (seconds * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
  }
};

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

struct Ratios {
  double undisturbed = 0.0;
  double median = 0.0;
  double others = 0.0;  ///< share of the processors' time
};

/// Computes each of the scenes of `test:digits` in `rounds` rounds, `repeats` times one after the
/// other, between two runs of the fixed work, of which the faster one counts.
Ratios measure(int rounds, int repeats) {
  static const std::vector<app::DigitScene> scenes = [] {
    const app::DigitSequence sequence(app::DigitSequenceConfig::parse("test:digits"));
    std::vector<app::DigitScene> made;
    for (std::size_t i = 0; i < kScenes; ++i) made.push_back(sequence.frame(static_cast<int>(i)));
    return made;
  }();
  NeocognitronConfig config;
  config.size = scenes[0].image.size;
  auto rig = Rig<Neocognitron>::make(config, 2);
  const ImageSize rows = rig.op.info().planes[0].size;
  std::vector<float> scores(static_cast<std::size_t>(rows.width) *
                            static_cast<std::size_t>(rows.height));
  const ImageView out =
      float_plane(scores.data(), rows, static_cast<std::ptrdiff_t>(sizeof(float)) * rows.width,
                  MemorySpace::kHost);
  NeocognitronRecord record;
  TwoThreads fixed;
  std::vector<double> frame_ms;
  std::vector<double> fixed_ms;
  std::array<std::vector<double>, kScenes> ratios;
  std::vector<double> all;
  const CpuTime begin;
  double before = fixed.run();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kScenes; ++i) {
      const Frame frame = scenes[i].image.view(frame_ms.size(), 0);
      const Clock::time_point begun = Clock::now();
      for (int repeat = 0; repeat < repeats; ++repeat)
        must(rig.op.wait(must(rig.op.submit(frame, out, &record)), Deadline::never()));
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
      const double after = fixed.run();
      frame_ms.push_back(ms);
      fixed_ms.push_back(after);
      ratios[i].push_back(ms / std::min(before, after));
      all.push_back(ratios[i].back());
      before = after;
    }
  }
  // A twentieth of the frames of a scene runs undisturbed, however much other programs have to do.
  constexpr double kUndisturbed = 0.05;
  std::vector<double> of_scenes;
  for (const std::vector<double>& own : ratios) of_scenes.push_back(quantile(own, kUndisturbed));
  const Ratios found{quantile(of_scenes, 0.5), quantile(all, 0.5), CpuTime().others_since(begin)};
  std::printf("%zu frames, median %.2f ms; fixed work, median %.3f ms\n", frame_ms.size(),
              quantile(frame_ms, 0.5), quantile(fixed_ms, 0.5));
  std::printf("ratio %.2f of undisturbed frames, %.2f of all, other programs %.0f %%\n",
              found.undisturbed, found.median, 100.0 * found.others);
  return found;
}

class DigitsBudget : public testing::Test {
 protected:
  void SetUp() override {
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    if (CPU_COUNT(&cpus) < 2) GTEST_SKIP() << "one CPU";
  }
};

// Fails when a frame takes much longer than it did: because of more work, or because one of the two
// threads has less of it.
TEST_F(DigitsBudget, AFrameTakesAsLongAsItDid) {
  const Ratios found = measure(100, 1);
  EXPECT_LE(found.undisturbed, kMostRatio);
  // What undisturbed frames do not show are delays that only some frames have.
  if (found.others <= kQuiet) {
    EXPECT_LE(found.median, kMostMedianRatio);
  }
}

// Fails when the test above would not see a program that takes twice as long.
TEST_F(DigitsBudget, TwiceTheTimeIsSeen) {
  EXPECT_GT(measure(12, 2).undisturbed, kMostRatio);
}

}  // namespace
}  // namespace ocellus::test
