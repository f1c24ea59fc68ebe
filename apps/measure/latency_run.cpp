#include "apps/measure/latency_run.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "apps/common/interrupt.h"
#include "apps/io/frames.h"
#include "apps/measure/machine.h"
#include "apps/measure/miss_trace.h"

namespace ocellus::app {
namespace {

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Sleeps until this time, or until a signal asks to stop.
void sleep_until(std::int64_t ns) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR &&
         stop_signal() == 0) {
  }
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/// Sets up the thread that submits frames and waits for results: it gets the priority of the
/// workers, and no timer slack, which could delay the end of a sleep by up to 50 us.
class MeasuringThread {
 public:
  explicit MeasuringThread(int realtime_priority) {
    slack_ = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (realtime_priority <= 0) return;
    pthread_getschedparam(pthread_self(), &policy_, &parameters_);
    sched_param wanted{};
    wanted.sched_priority = realtime_priority;
    if (const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted); error != 0) {
      throw InputError(std::string("--realtime-priority ") + std::to_string(realtime_priority) +
                       " is not allowed: " + std::strerror(error));
    }
    realtime_ = true;
  }
  ~MeasuringThread() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
    if (realtime_) pthread_setschedparam(pthread_self(), policy_, &parameters_);
  }
  MeasuringThread(const MeasuringThread&) = delete;
  MeasuringThread& operator=(const MeasuringThread&) = delete;

 private:
  int slack_ = 0;
  bool realtime_ = false;
  int policy_ = SCHED_OTHER;
  sched_param parameters_{};
};

}  // namespace

SampleFile::SampleFile(const std::string& path) : buffer_(std::size_t{1} << 18), file_(path) {
  std::setvbuf(file_.stream(), buffer_.data(), _IOFBF, buffer_.size());
  constexpr std::string_view kHeader =
      "memory,frame,due_ns,latency_ns,wake_ns,work_ns,queue_ns,copy_ns,compute_ns\n";
  file_.write(kHeader.data(), kHeader.size());
}

void SampleFile::add(const char* memory, const LatencyTimes& row) {
  char line[8 * 21 + 16];  // eight numbers of 64 bits, commas and the name
  const char* const end =
      fmt::format_to(line, "{},{},{},{},{},{},{},{},{}\n", memory, row.frame, row.due, row.latency,
                     row.wake, row.work, row.queue, row.copy, row.compute);
  file_.write(line, static_cast<std::size_t>(end - line));
}

void WorstFrames::add(const LatencyTimes& frame) {
  if (count_ == kMost && frame.latency <= frames_.back().latency) return;
  std::size_t at = std::min(count_, kMost - 1);
  for (; at > 0 && frames_[at - 1].latency < frame.latency; --at) frames_[at] = frames_[at - 1];
  frames_[at] = frame;
  count_ = std::min(count_ + 1, kMost);
}

const char* memory_name(MemorySpace space) {
  return space == MemorySpace::kCuda ? "device" : space == MemorySpace::kPinned ? "pinned" : "host";
}

void Intervals::add(std::int64_t ns) {
  low_ = count_ == 0 ? ns : std::min(low_, ns);
  high_ = count_ == 0 ? ns : std::max(high_, ns);
  ++count_;
  const auto value = static_cast<double>(ns);
  const double before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

bool ExpectedReading::matches(const void* record, std::size_t frame) const {
  const auto& read = *static_cast<const NeocognitronRecord*>(record);
  const std::vector<std::int32_t>& wanted = labels[frame];
  if (static_cast<std::size_t>(read.count) != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (read.label[i] != wanted[i] || (read.flags[i] & kCharacterRejected) != 0) return false;
  return true;
}

double Intervals::deviation_ns() const {
  return count_ > 0 ? std::sqrt(squares_ / static_cast<double>(count_)) : 0.0;
}

/// OperatorRun::step. Nothing if a signal ended the frame early.
static std::optional<FrameInfo> step(OperatorRun& chain, std::size_t op, std::size_t index,
                                     std::int64_t number, std::int64_t due) {
  try {
    return chain.step(op, index, static_cast<std::uint64_t>(number), due);
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

/// Runs all operators on a frame and records the work of each. `now` is the time before, and then
/// after them. `frame`: its number in the trace. Returns the sums of their times, or nothing if a
/// signal ended the frame early.
static std::optional<FrameInfo> run_operators(OperatorRun& chain, std::size_t index,
                                              std::int64_t number, std::int64_t due,
                                              const LatencyPlan& plan, std::int64_t frame,
                                              LatencyResult& r, std::int64_t& now) {
  FrameInfo times;
  for (std::size_t op = 0; op < chain.size(); ++op) {
    const std::optional<FrameInfo> done = step(chain, op, index, number, due);
    if (!done) return std::nullopt;
    times.queue_ns += done->queue_ns;
    times.copy_ns += done->copy_ns;
    times.compute_ns += done->compute_ns;
    const std::int64_t begin = now;
    now = now_ns();
    r.operators[op]->record(now - begin);
    if (plan.trace != nullptr) plan.trace->add(op, frame, begin, now, *done);
    if (!plan.metrics.empty()) plan.metrics[op]->record(now - begin, *done);
  }
  return times;
}

std::unique_ptr<LatencyResult> measure_latency(const LatencyPlan& plan, MemorySpace space,
                                               const GpuMeter& meter) {
  OperatorRun chain(plan.engine, plan.operators, space, *plan.frames);
  auto result = std::make_unique<LatencyResult>();
  LatencyResult& r = *result;
  r.space = space;
  r.footprint = chain.footprint();
  r.engine = chain.engine();
  for (std::size_t op = 0; op < chain.size(); ++op) {
    r.operators.push_back(std::make_unique<LatencyHistogram>());
    r.delays.push_back(chain.op(op).info().delay_frames);
  }
  r.latencies_ms.assign(static_cast<std::size_t>(plan.o.frames), 0.0f);

  std::int64_t number = 0;
  const auto index = [&] {
    return back_and_forth(static_cast<std::size_t>(number), plan.frames->size());
  };
  for (; number < plan.o.warm_up && stop_signal() == 0; ++number) {
    for (std::size_t op = 0; op < chain.size() && step(chain, op, index(), number, 0); ++op) {
    }
  }

  if (plan.monitor != nullptr) plan.monitor->ready();

  const bool paced = plan.o.rate() > 0.0;
  const double period_ns = paced ? 1e9 / plan.o.rate() : 0.0;
  std::int64_t burst = 0;
  GpuSampler sampler(meter, std::chrono::milliseconds(plan.o.sample_ms));
  {
    const MeasuringThread thread(plan.engine.realtime_priority);
    Progress progress(plan.title, plan.o.frames);
    r.date = utc_now();
    r.at_start = MachineState::now();
    const StealMeter steal;
    const long faults = page_faults();
    if (plan.trace != nullptr) plan.trace->start(chain.engine_handle());
    const std::int64_t start = now_ns() + (paced ? 10'000'000 : 0);
    std::int64_t end = start;
    std::int64_t ready = start;  // back to back: the next frame is due
    for (std::int64_t i = 0; i < plan.o.frames && stop_signal() == 0 && !r.stopped_at_miss;
         ++i, ++number) {
      // The latency counts from the moment when the frame is due, including any wait for the frame
      // before. Back to back, a frame is due when the one before is done.
      const auto due_of = [&](std::int64_t frame) {
        return start + std::llround(static_cast<double>(frame) * period_ns);
      };
      std::int64_t due = paced ? due_of(i) : ready;
      if (paced) {
        const std::int64_t before = now_ns();
        if (before > due) ++r.late_starts;
        if (before < due) sleep_until(due);
        if (stop_signal() != 0) break;
      }
      if (plan.o.newest) {
        // The newest frame that is due. A camera would have replaced those before it.
        const auto newest =
            static_cast<std::int64_t>(static_cast<double>(now_ns() - start) / period_ns);
        const std::int64_t older = std::clamp<std::int64_t>(newest - i, 0, plan.o.frames - 1 - i);
        i += older;
        number += older;
        due = due_of(i);
        r.dropped += older;
        if (plan.budget_ns && older > 0) {
          r.misses += older;
          burst += older;
          r.longest_burst = std::max(r.longest_burst, burst);
        }
      }
      const std::int64_t begin = paced ? now_ns() : due;
      std::int64_t now = begin;
      const std::optional<FrameInfo> times =
          run_operators(chain, index(), number, due, plan, i, r, now);
      if (!times) break;
      if (r.measured > 0) r.intervals.add(now - end);
      end = now;
      r.latency.record(end - due);
      r.wake.record(begin - due);
      r.work.record(end - begin);
      r.queue.record(times->queue_ns);
      r.copy.record(times->copy_ns);
      r.compute.record(times->compute_ns);
      r.latencies_ms[static_cast<std::size_t>(r.measured)] = static_cast<float>(end - due) * 1e-6f;
      const LatencyTimes row = {i,           due - start,     end - due,      begin - due,
                                end - begin, times->queue_ns, times->copy_ns, times->compute_ns};
      r.worst.add(row);
      if (plan.budget_ns && end - due > *plan.budget_ns) {
        ++r.misses;
        r.longest_burst = std::max(r.longest_burst, ++burst);
        if (plan.trace != nullptr) {
          plan.trace->mark(row, *plan.budget_ns);
          plan.trace->write(row, start, number, plan.names);
          r.stopped_at_miss = true;
        }
      } else {
        burst = 0;
      }
      if (plan.reading && plan.reading->matches(chain.op(plan.reading->op).record(), index()))
        ++r.read_correctly;
      ++r.measured;
      if (plan.monitor != nullptr) plan.monitor->frame_done(r.due(), r.dropped, r.misses);
      progress.update(r.due());
      ready = end;
      if (plan.samples != nullptr) {
        plan.samples->add(memory_name(space), row);
        ready = now_ns();  // the writing is no part of a frame's latency
      }
    }
    if (plan.trace != nullptr && !r.stopped_at_miss) plan.trace->stop();
    r.seconds = static_cast<double>(end - start) * 1e-9;
    r.page_faults = page_faults() - faults;
    r.steal_percent = steal.percent();
  }
  r.gpu = sampler.stop();
  r.at_end = MachineState::now();
  r.latencies_ms.resize(static_cast<std::size_t>(r.measured));
  return result;
}

}  // namespace ocellus::app
