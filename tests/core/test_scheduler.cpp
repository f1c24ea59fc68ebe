// The scheduler: order, barriers, slots, deadlines, cancellation and destruction.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/scheduler.h"
#include "core/scheduler_fixture.h"
#include "support/cpu_time.h"
#include "support/threads.h"

namespace ocellus::detail {
namespace {

using std::chrono::milliseconds;
using test::Gate;
using test::SlotWatch;
using test::spin_for;
using test::TestJob;
using test::thread_cpu_ns;

std::unique_ptr<Scheduler> start(int workers) {
  auto scheduler = std::make_unique<Scheduler>();
  const Expected<void> started = scheduler->start(EngineConfig{}, workers);
  EXPECT_TRUE(started) << started.error().text;
  return scheduler;
}

class SchedulerWorkers : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, SchedulerWorkers, testing::Values(1, 2, 3, 8, 64));

// Fails when a part is skipped, run twice, or gets a number outside its step.
TEST_P(SchedulerWorkers, EveryPartRunsOnce) {
  const auto scheduler = start(GetParam());
  EXPECT_EQ(scheduler->workers(), GetParam());
  for (const std::vector<int>& shape :
       {std::vector<int>{1}, {7}, {0, 5}, {5, 0, 3}, {0, 0, 4, 0}, {64, 1, 64}, {1000}, {-1, 2}}) {
    std::vector<std::vector<std::atomic<int>>> runs;
    TestJob job;
    std::atomic<int> strange{0};
    for (const int parts : shape) runs.emplace_back(static_cast<std::size_t>(std::max(parts, 0)));
    for (std::size_t s = 0; s < shape.size(); ++s) {
      job.stage(shape[s], [&, s](int part, int) {
        if (part < 0 || part >= shape[s]) {
          ++strange;
        } else {
          ++runs[s][static_cast<std::size_t>(part)];
        }
      });
    }
    for (int round = 1; round <= 20; ++round) {
      scheduler->submit(job);
      ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
      for (const auto& stage : runs) {
        for (const auto& count : stage) ASSERT_EQ(count.load(), round);
      }
    }
    EXPECT_EQ(strange.load(), 0);
  }
}

// Fails when a trace lacks a part, names another step, worker or frame, overlaps on a worker,
// writes beyond its memory, or goes on after its end.
TEST_P(SchedulerWorkers, ATraceHasTheLastParts) {
  const auto scheduler = start(GetParam());
  TestJob job;
  job->name = "an operator";
  for (const int parts : {3, 0, 5})
    job.stage(parts, [](int, int) { spin_for(std::chrono::microseconds(20)); });
  const auto run = [&](std::uint64_t sequence) {
    job->sequence = sequence;
    scheduler->submit(job);
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
  };
  run(0);
  std::vector<TraceEvent> events(11);
  const std::int64_t begin = now_ns();
  EXPECT_EQ(scheduler->trace(std::span(events).first(10)), 0u);
  for (const std::uint64_t sequence : {1, 2, 3}) run(sequence);
  EXPECT_EQ(scheduler->trace({}), 24u);
  EXPECT_STREQ(events.back().operator_name, "") << "it is behind the memory";
  events.pop_back();
  // Events 14 to 23: number 20 is at the beginning.
  std::rotate(events.begin(), events.begin() + 4, events.end());
  std::set<std::string> seen;
  for (const TraceEvent& event : events) {
    EXPECT_STREQ(event.operator_name, "an operator");
    EXPECT_LE(begin, event.begin_ns);
    EXPECT_LE(event.begin_ns + 20'000, event.end_ns);
    EXPECT_LT(event.worker, GetParam());
    EXPECT_LT(event.part, event.step == 0 ? 3 : 5);
    EXPECT_TRUE(event.step == 0 || event.step == 2) << event.step;
    EXPECT_TRUE(seen.insert(std::to_string(event.sequence) + " " + std::to_string(event.step) +
                            " " + std::to_string(event.part))
                    .second);
    for (const TraceEvent& other : events) {
      if (&other == &event || other.worker != event.worker) continue;
      EXPECT_TRUE(other.end_ns <= event.begin_ns || event.end_ns <= other.begin_ns);
    }
  }
  // The last frame as a whole, and two parts of the one before.
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const TraceEvent& event) { return event.sequence == 3; }),
            8);
  const TraceEvent first = events[0];
  run(4);
  EXPECT_EQ(events[0].sequence, first.sequence);
  EXPECT_EQ(scheduler->trace({}), 0u);
}

// Fails when a part of a step begins before all parts of the step before have ended.
TEST_P(SchedulerWorkers, AStepEndsBeforeTheNextBegins) {
  const auto scheduler = start(GetParam());
  constexpr int kStages = 6;
  constexpr int kParts = 17;
  std::atomic<int> ended[kStages]{};
  std::atomic<int> early{0};
  TestJob job;
  for (int s = 0; s < kStages; ++s) {
    job.stage(kParts, [&, s](int part, int) {
      if (s > 0 && ended[s - 1].load() != kParts) ++early;
      if (part % 5 == 0) spin_for(std::chrono::microseconds(20));
      ++ended[s];
    });
  }
  for (int round = 0; round < 50; ++round) {
    for (auto& count : ended) count = 0;
    scheduler->submit(job);
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    ASSERT_EQ(ended[kStages - 1].load(), kParts);
  }
  EXPECT_EQ(early.load(), 0);
}

// Fails when fewer than `workers` parts can run at once. Each part waits until all others have
// arrived.
TEST_P(SchedulerWorkers, AllWorkersComputeAtOnce) {
  const int workers = GetParam();
  const auto scheduler = start(workers);
  Gate gate;
  TestJob job;
  job.stage(workers, [&](int, int) { gate.pass(); });
  scheduler->submit(job);
  // The caller does not compute here. The threads alone must use every slot.
  EXPECT_TRUE(gate.await_arrivals(workers));
  gate.open();
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
}

// Fails when a part of a later job runs before the last part of an earlier job has ended.
// Promises: RT-008.
TEST_P(SchedulerWorkers, JobsRunInTheOrderOfSubmission) {
  const auto scheduler = start(GetParam());
  constexpr int kJobs = 40;
  std::vector<std::unique_ptr<TestJob>> jobs;
  std::atomic<int> ended[kJobs]{};
  std::atomic<int> overtaken{0};
  for (int k = 0; k < kJobs; ++k) {
    jobs.push_back(std::make_unique<TestJob>());
    for (int s = 0; s < 2; ++s) {
      jobs.back()->stage(5, [&, k](int, int) {
        if (k > 0 && ended[k - 1].load() != 10) ++overtaken;
        ++ended[k];
      });
    }
  }
  for (auto& job : jobs) scheduler->submit(*job);
  // The order of waiting must not change the order of the work.
  std::vector<int> order(kJobs);
  for (int k = 0; k < kJobs; ++k) order[static_cast<std::size_t>(k)] = k;
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (const int k : order) {
    ASSERT_EQ(scheduler->wait(*jobs[static_cast<std::size_t>(k)], Deadline::never()), Status::kOk);
    ASSERT_EQ(ended[k].load(), 10);
  }
  EXPECT_EQ(overtaken.load(), 0);
}

/// A scheduler with one worker that computes the first step of a job; the step ends when the gate
/// opens. Jobs write their numbers when a step runs.
struct BusyWorker {
  std::unique_ptr<Scheduler> scheduler = start(1);
  Gate gate;
  std::vector<int> log;  // the worker alone writes it
  TestJob first;

  BusyWorker(OperatorPriority priority, int number) {
    first->priority = priority;
    first.stage(1, [this](int, int) { gate.pass(); }).stage(1, [this, number](int, int) {
      log.push_back(number);
    });
    scheduler->submit(first);
    EXPECT_TRUE(gate.await_arrivals(1));
  }
  std::unique_ptr<TestJob> submit(OperatorPriority priority, int number) {
    auto job = std::make_unique<TestJob>();
    (*job)->priority = priority;
    for (int s = 0; s < 2; ++s) job->stage(1, [this, number](int, int) { log.push_back(number); });
    scheduler->submit(*job);
    return job;
  }
  void finish(const std::vector<std::unique_ptr<TestJob>>& jobs) {
    gate.open();
    // With a deadline, the caller does not compute.
    const Deadline soon = Deadline::after(std::chrono::seconds(20));
    EXPECT_EQ(scheduler->wait(first, soon), Status::kOk);
    for (const auto& job : jobs) EXPECT_EQ(scheduler->wait(*job, soon), Status::kOk);
  }
};

// Fails when a job waits for the end of one of lower priority, when jobs of one priority change
// their order, or when a job that was interrupted repeats or loses a step.
// Promises: RT-008.
TEST(Scheduler, AJobOfHigherPriorityRunsAtTheNextStep) {
  BusyWorker busy(OperatorPriority::kNormal, 0);
  std::vector<std::unique_ptr<TestJob>> jobs;
  jobs.push_back(busy.submit(OperatorPriority::kLow, 1));
  jobs.push_back(busy.submit(OperatorPriority::kNormal, 2));
  jobs.push_back(busy.submit(OperatorPriority::kHigh, 3));
  jobs.push_back(busy.submit(OperatorPriority::kHigh, 4));
  busy.finish(jobs);
  EXPECT_EQ(busy.log, (std::vector<int>{3, 3, 4, 4, 0, 2, 2, 1, 1}));
}

// Fails when a job that waits, or one that was interrupted, is overtaken more often than the bound
// says, or less often.
// Promises: RT-008.
TEST(Scheduler, OnlySoManyJobsOvertakeAnother) {
  for (const bool interrupted : {false, true}) {
    BusyWorker busy(interrupted ? OperatorPriority::kLow : OperatorPriority::kHigh, 100);
    std::vector<std::unique_ptr<TestJob>> jobs;
    if (!interrupted) jobs.push_back(busy.submit(OperatorPriority::kLow, 100));
    for (int k = 0; k < 3 * kMaxOvertakes; ++k)
      jobs.push_back(
          busy.submit(k % 3 == 0 ? OperatorPriority::kNormal : OperatorPriority::kHigh, k));
    busy.finish(jobs);
    std::set<int> before;
    for (const int number : busy.log) {
      if (number == 100 && !(before.empty() && !interrupted)) break;
      if (number != 100) before.insert(number);
    }
    EXPECT_EQ(before.size(), static_cast<std::size_t>(kMaxOvertakes)) << interrupted;
  }
}

// Fails when a job that leaves the queue takes others with it or keeps its place.
TEST(Scheduler, AJobThatIsWithdrawnOvertakesNoOther) {
  BusyWorker busy(OperatorPriority::kNormal, 0);
  std::vector<std::unique_ptr<TestJob>> jobs;
  jobs.push_back(busy.submit(OperatorPriority::kLow, 1));
  const auto gone = busy.submit(OperatorPriority::kHigh, 2);
  jobs.push_back(busy.submit(OperatorPriority::kLow, 3));
  EXPECT_EQ(busy.scheduler->withdraw(*gone), CancelOutcome::kCanceled);
  busy.finish(jobs);
  EXPECT_EQ(busy.log, (std::vector<int>{0, 1, 1, 3, 3}));
}

// Fails when waiting callers increase the number of threads that compute at once, or share a slot
// (and its scratch memory) with a worker.
TEST_P(SchedulerWorkers, SlotsAreExclusiveWithManyWaitingThreads) {
  const int workers = GetParam();
  const auto scheduler = start(workers);
  SlotWatch watch(workers);
  constexpr int kThreads = 4;
  std::atomic<int> parts{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      TestJob job;
      for (int s = 0; s < 3; ++s) {
        job.stage(6, [&](int, int slot) {
          watch.enter(slot);
          ++parts;
          watch.leave(slot);
        });
      }
      for (int round = 0; round < 100; ++round) {
        scheduler->submit(job);
        if (scheduler->wait(job, Deadline::never()) != Status::kOk) ++failed;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(watch.violations(), 0);
  EXPECT_LE(watch.most(), workers);
  EXPECT_EQ(parts.load(), kThreads * 100 * 3 * 6);
  EXPECT_EQ(failed.load(), 0);
}

// Fails when a waiting caller only sleeps and does not compute.
TEST(Scheduler, AWaitingCallerComputes) {
  const auto scheduler = start(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> by_caller{0};
  TestJob job;
  job.stage(64, [&](int, int) {
    if (std::this_thread::get_id() == caller) ++by_caller;
    spin_for(std::chrono::microseconds(20));
  });
  for (int round = 0; round < 500 && by_caller.load() == 0; ++round) {
    scheduler->submit(job);
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    // The workers fall asleep in this time, so that the caller computes first.
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GT(by_caller.load(), 0);
}

// Fails when work needs a waiting caller. Without one, the threads must do it.
TEST(Scheduler, WorkNeedsNoWaitingCaller) {
  const auto scheduler = start(1);
  std::atomic<bool> done{false};
  TestJob job;
  job.stage(3, [](int, int) {}).finished([&] { done = true; });
  scheduler->submit(job);
  const Deadline limit = Deadline::after(std::chrono::seconds(20));
  while (!done.load() && !limit.passed()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(done.load());
  EXPECT_EQ(scheduler->wait(job, Deadline::after(std::chrono::seconds(20))), Status::kOk);
}

// Fails when a running job is reported as done, when a wait with a past deadline blocks, or when
// the job cannot be waited for again.
TEST(Scheduler, AJobCanBeWaitedForAgainAfterADeadline) {
  const auto scheduler = start(2);
  Gate gate;
  TestJob job;
  job.stage(1, [&](int, int) { gate.pass(); });
  scheduler->submit(job);
  ASSERT_TRUE(gate.await_arrivals(1));

  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(scheduler->wait(job, Deadline::immediate()), Status::kDeadlineMissed);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));

  for (const int ms : {1, 5, 30}) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(scheduler->wait(job, Deadline::after(milliseconds(ms))), Status::kDeadlineMissed);
    const auto waited = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(waited, milliseconds(ms)) << "wait returned too early";
    EXPECT_LT(waited, milliseconds(ms) + std::chrono::seconds(5)) << "wait returned too late";
  }
  gate.open();
  EXPECT_EQ(scheduler->wait(job, Deadline::after(std::chrono::seconds(20))), Status::kOk);
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kInvalidTicket)
      << "a job that was waited for must be idle";
}

// Fails when a caller that has finished its own job leaves with the only slot and does not wake a
// worker for the next job.
TEST(Scheduler, ACallerHandsOtherJobsToTheWorkers) {
  const auto scheduler = start(1);
  const std::thread::id caller = std::this_thread::get_id();
  int by_caller = 0;
  for (int round = 0; round < 300; ++round) {
    // the worker falls asleep in this time
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    bool mine = false;
    std::atomic<bool> done{false};
    TestJob own;
    own.stage(1, [&](int, int) {
      mine = std::this_thread::get_id() == caller;
      // the worker wakes up, finds no slot and sleeps again
      spin_for(std::chrono::microseconds(200));
    });
    TestJob next;
    next.stage(1, [](int, int) {}).finished([&] { done = true; });
    scheduler->submit(own);
    scheduler->submit(next);
    ASSERT_EQ(scheduler->wait(own, Deadline::never()), Status::kOk);
    by_caller += mine;
    const Deadline limit = Deadline::after(std::chrono::seconds(5));
    while (!done.load() && !limit.passed()) std::this_thread::yield();
    ASSERT_TRUE(done.load()) << "round " << round;
    ASSERT_EQ(scheduler->wait(next, Deadline::never()), Status::kOk);
  }
  EXPECT_GT(by_caller, 0) << "the worker was always first, so nothing was tested";
}

// Fails when a past deadline hides that the job is already done.
TEST(Scheduler, AnImmediateDeadlineReportsADoneJob) {
  const auto scheduler = start(2);
  std::atomic<bool> done{false};
  TestJob job;
  job.stage(4, [](int, int) {}).finished([&] { done = true; });
  scheduler->submit(job);
  Status status = Status::kDeadlineMissed;
  const Deadline limit = Deadline::after(std::chrono::seconds(20));
  while (status == Status::kDeadlineMissed && !limit.passed())
    status = scheduler->wait(job, Deadline::immediate());
  EXPECT_EQ(status, Status::kOk);
  EXPECT_TRUE(done.load());
}

// Fails when waiting for a job that was never submitted blocks.
TEST(Scheduler, WaitingForAnIdleJobIsAnError) {
  const auto scheduler = start(2);
  TestJob job;
  job.stage(1, [](int, int) {});
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kInvalidTicket);
  scheduler->cancel(job);
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kInvalidTicket);
}

// Fails when a canceled job runs, when other jobs are lost, or when it cannot be submitted again.
TEST(Scheduler, CancelRemovesAQueuedJob) {
  for (const int victim : {0, 1, 2}) {
    const auto scheduler = start(2);
    Gate gate;
    TestJob blocker;
    blocker.stage(1, [&](int, int) { gate.pass(); });
    scheduler->submit(blocker);
    ASSERT_TRUE(gate.await_arrivals(1));

    std::atomic<int> runs[4]{};
    TestJob jobs[4];
    for (int k = 0; k < 4; ++k) jobs[k].stage(2, [&, k](int, int) { ++runs[k]; });
    for (int k = 0; k < 3; ++k) scheduler->submit(jobs[k]);
    scheduler->cancel(jobs[victim]);
    EXPECT_EQ(scheduler->wait(jobs[victim], Deadline::never()), Status::kInvalidTicket);
    scheduler->submit(jobs[3]);  // the end of the queue may have been the canceled job
    gate.open();
    EXPECT_EQ(scheduler->wait(blocker, Deadline::never()), Status::kOk);
    for (int k = 0; k < 4; ++k) {
      if (k == victim) continue;
      EXPECT_EQ(scheduler->wait(jobs[k], Deadline::after(std::chrono::seconds(20))), Status::kOk);
      EXPECT_EQ(runs[k].load(), 2);
    }
    EXPECT_EQ(runs[victim].load(), 0);
    scheduler->submit(jobs[victim]);
    EXPECT_EQ(scheduler->wait(jobs[victim], Deadline::after(std::chrono::seconds(20))),
              Status::kOk);
    EXPECT_EQ(runs[victim].load(), 2);
  }
}

// Fails when a job of which a part has begun is withdrawn, when one that was withdrawn runs, when
// its successor does not run, or when `withdraw` waits.
TEST(Scheduler, WithdrawRemovesOnlyAJobThatHasNotBegun) {
  const auto scheduler = start(1);
  Gate gate;
  TestJob blocker;
  blocker.stage(1, [&](int, int) { gate.pass(); });
  std::atomic<int> runs[2]{};
  TestJob jobs[2];
  for (int k = 0; k < 2; ++k) jobs[k].stage(2, [&, k](int, int) { ++runs[k]; });
  EXPECT_EQ(scheduler->withdraw(blocker), std::nullopt);
  scheduler->submit(blocker);
  ASSERT_TRUE(gate.await_arrivals(1));
  for (auto& job : jobs) scheduler->submit(job);
  EXPECT_EQ(scheduler->withdraw(blocker), CancelOutcome::kBegun);
  EXPECT_EQ(scheduler->withdraw(jobs[0]), CancelOutcome::kCanceled);
  EXPECT_EQ(scheduler->withdraw(jobs[0]), std::nullopt);
  gate.open();
  EXPECT_EQ(scheduler->wait(jobs[1], Deadline::never()), Status::kOk);
  EXPECT_EQ(scheduler->withdraw(blocker), CancelOutcome::kDone);
  EXPECT_EQ(scheduler->wait(blocker, Deadline::never()), Status::kOk);
  EXPECT_EQ(runs[0].load(), 0);
  EXPECT_EQ(runs[1].load(), 2);
}

// Fails when the first job of the queue, which a worker is about to take, is withdrawn and runs
// nevertheless, or when the jobs behind it wait forever.
TEST_P(SchedulerWorkers, TheFirstJobCanBeWithdrawn) {
  const auto scheduler = start(GetParam());
  int withdrawn = 0;
  for (int round = 0; round < 20'000 && (round < 300 || withdrawn == 0); ++round) {
    std::atomic<int> runs[2]{};
    TestJob jobs[2];
    for (int k = 0; k < 2; ++k) jobs[k].stage(3, [&, k](int, int) { ++runs[k]; });
    for (auto& job : jobs) scheduler->submit(job);
    const bool gone = scheduler->withdraw(jobs[0]) == CancelOutcome::kCanceled;
    withdrawn += gone;
    ASSERT_EQ(scheduler->wait(jobs[1], Deadline::after(std::chrono::seconds(20))), Status::kOk);
    ASSERT_EQ(scheduler->wait(jobs[0], Deadline::never()),
              gone ? Status::kInvalidTicket : Status::kOk);
    ASSERT_EQ(runs[0].load(), gone ? 0 : 3);
    ASSERT_EQ(runs[1].load(), 3);
  }
  EXPECT_GT(withdrawn, 0) << "every job had begun: the test shows nothing";
}

// Fails when cancel returns while a part of the job still runs. The job's memory would then be
// freed too early.
TEST(Scheduler, CancelWaitsForARunningJob) {
  const auto scheduler = start(2);
  Gate gate;
  std::atomic<bool> ended{false};
  std::atomic<int> finished{0};
  TestJob job;
  job.stage(1, [&](int, int) {
    gate.pass();
    std::this_thread::sleep_for(milliseconds(20));
    ended = true;
  });
  job.finished([&] { ++finished; });
  scheduler->submit(job);
  ASSERT_TRUE(gate.await_arrivals(1));
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(10));
    gate.open();
  });
  scheduler->cancel(job);
  EXPECT_TRUE(ended.load());
  EXPECT_EQ(finished.load(), 1);
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kInvalidTicket);
  opener.join();
}

// Fails when a finished job that was not waited for stays busy after cancel.
TEST(Scheduler, CancelMakesADoneJobIdle) {
  const auto scheduler = start(2);
  TestJob job;
  std::atomic<bool> done{false};
  job.stage(1, [](int, int) {}).finished([&] { done = true; });
  scheduler->submit(job);
  while (!done.load()) std::this_thread::yield();
  scheduler->cancel(job);
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kInvalidTicket);
}

// Fails when a job without parts never ends, or when `finished` is not called.
TEST(Scheduler, JobsWithoutPartsAreDoneAtOnce) {
  const auto scheduler = start(2);
  int finished = 0;
  TestJob empty;
  empty.finished([&] { ++finished; });
  TestJob zeros;
  zeros.stage(0, [](int, int) {}).stage(0, [](int, int) {}).finished([&] { ++finished; });
  for (TestJob* job : {&empty, &zeros}) {
    scheduler->submit(*job);
    EXPECT_EQ(scheduler->wait(*job, Deadline::immediate()), Status::kOk);
  }
  EXPECT_EQ(finished, 2);
}

// Fails when `finished` is called before the last part has ended, more than once, or after `wait`
// has returned.
TEST(Scheduler, FinishedIsCalledOnceAtTheEnd) {
  const auto scheduler = start(4);
  std::atomic<int> parts{0};
  std::atomic<int> finished{0};
  std::atomic<int> seen{0};
  TestJob job;
  job.stage(9, [&](int, int) { ++parts; }).stage(9, [&](int, int) { ++parts; }).finished([&] {
    ++finished;
    seen = parts.load();
  });
  for (int round = 1; round <= 200; ++round) {
    parts = 0;
    scheduler->submit(job);
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    ASSERT_EQ(finished.load(), round);
    ASSERT_EQ(seen.load(), 18);
  }
}

// Fails when the number of parts of a later step is read too early.
TEST(Scheduler, AStepMayChangeLaterSteps) {
  const auto scheduler = start(3);
  std::atomic<int> second{0};
  std::atomic<int> third{0};
  int wanted = 0;
  TestJob job;
  job.stage(1,
            [&](int, int) {
              job.at(1).parts = wanted;
              job.at(2).parts = wanted == 0 ? 4 : 0;
            })
      .stage(99, [&](int, int) { ++second; })
      .stage(99, [&](int, int) { ++third; });
  for (const int parts : {0, 1, 7, 0, 300}) {
    second = 0;
    third = 0;
    wanted = parts;
    scheduler->submit(job);
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    EXPECT_EQ(second.load(), parts);
    EXPECT_EQ(third.load(), parts == 0 ? 4 : 0);
  }
}

// Fails when a step cannot repeat earlier steps, when the steps in between do not run completely
// each time, or when a step without parts runs.
TEST_P(SchedulerWorkers, AStepMayRepeatEarlierSteps) {
  const auto scheduler = start(GetParam());
  for (int job_number = 0; job_number < 50; ++job_number) {
    std::atomic<int> before{0};
    std::atomic<int> inside{0};
    std::atomic<int> behind{0};
    int rounds = 0;
    TestJob job;
    job.stage(3, [&](int, int) { ++before; });
    job.stage(7, [&](int, int) { ++inside; });
    job.stage(0, [&](int, int) { FAIL() << "this step has no parts"; });
    job.at(2).next = -2;
    job.stage(1, [&](int, int) {
      EXPECT_EQ(inside.load(), 7 * ++rounds);
      job.at(3).next = rounds < 5 ? -2 : 1;
    });
    job.stage(2, [&](int, int) { ++behind; });
    scheduler->submit(job);
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    EXPECT_EQ(before, 3);
    EXPECT_EQ(inside, 35);
    EXPECT_EQ(behind, 2);
    EXPECT_EQ(rounds, 5);
  }
}

// Fails when the times of a job are not in order, or do not belong to this run.
TEST(Scheduler, TimesAreInOrder) {
  const auto scheduler = start(2);
  TestJob job;
  job.stage(2, [](int, int) { std::this_thread::sleep_for(milliseconds(2)); });
  const std::int64_t before = now_ns();
  scheduler->submit(job);
  ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
  EXPECT_GE(job->submitted_ns(), before);
  EXPECT_GE(job->started_ns(), job->submitted_ns());
  EXPECT_GE(job->done_ns() - job->started_ns(), 2'000'000);
  EXPECT_LE(job->done_ns(), now_ns());
}

// Fails when a job counts as started while the workers are still waking up. Then its time in the
// queue would be reported as computing time. The test compares medians, because a single run may be
// delayed anywhere.
TEST(Scheduler, AJobBeginsWithItsFirstPart) {
  const auto scheduler = start(1);
  std::atomic<std::int64_t> began{0};
  TestJob job;
  job.stage(1, [&](int, int) { began = now_ns(); });
  std::vector<std::int64_t> told;
  std::vector<std::int64_t> untold;
  for (int round = 0; round < 101; ++round) {
    std::this_thread::sleep_for(milliseconds(1));  // the worker falls asleep in this time
    began = 0;
    scheduler->submit(job);
    while (began.load() == 0) std::this_thread::yield();  // the caller must not compute
    ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    told.push_back(job->started_ns() - job->submitted_ns());
    untold.push_back(began.load() - job->started_ns());
  }
  std::sort(told.begin(), told.end());
  std::sort(untold.begin(), untold.end());
  EXPECT_GE(untold.front(), 0);
  EXPECT_LT(untold[50], told[50]) << "the wake-up of the worker must not count as computing time";
}

// Fails when a caller continues to look for work after its deadline. The test uses the median,
// because a single run may be delayed anywhere.
// Promises: RT-004.
TEST(Scheduler, ADeadlineEndsTheSearchForWork) {
  const auto scheduler = start(2);
  Gate gate;
  TestJob job;
  job.stage(1, [&](int, int) { gate.pass(); });
  scheduler->submit(job);
  ASSERT_TRUE(gate.await_arrivals(1));
  std::vector<std::int64_t> late;
  for (int round = 0; round < 101; ++round) {
    const Deadline deadline = Deadline::after(std::chrono::microseconds(3));
    ASSERT_EQ(scheduler->wait(job, deadline), Status::kDeadlineMissed);
    late.push_back((Deadline::Clock::now() - deadline.time()).count());
  }
  std::sort(late.begin(), late.end());
  EXPECT_GE(late.front(), 0) << "wait returned too early";
  EXPECT_LT(late[50], 15'000) << "nanoseconds";
  gate.open();
  EXPECT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
}

/// Computes for this time, measured by the thread's own clock.
void compute_for(std::chrono::microseconds time) {
  const std::int64_t until = thread_cpu_ns() + std::chrono::nanoseconds(time).count();
  while (thread_cpu_ns() < until) relax();
}

// Fails when workers_only is ignored, when the caller polls while it waits, or when it misses the
// end of the job.
TEST(Scheduler, WithWorkersOnlyACallerDoesNotCompute) {
  EngineConfig config;
  config.workers_only = true;
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.start(config, 2));
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> by_caller{0};
  std::atomic<int> parts{0};
  TestJob job;
  for (int stage = 0; stage < 5; ++stage) {
    job.stage(4, [&](int, int) {
      by_caller += std::this_thread::get_id() == caller;
      ++parts;
      compute_for(milliseconds(2));
    });
  }
  std::int64_t own = 0;
  for (int round = 0; round < 10; ++round) {
    scheduler.submit(job);
    const std::int64_t before = thread_cpu_ns();
    ASSERT_EQ(scheduler.wait(job, Deadline::never()), Status::kOk);
    own += thread_cpu_ns() - before;
  }
  EXPECT_EQ(parts.load(), 10 * 5 * 4);
  EXPECT_EQ(by_caller.load(), 0);
  // The parts took 400 ms.
  EXPECT_LT(own, 10'000'000) << "nanoseconds of the caller";
}

// Fails when a caller with a deadline computes a part of its own or an earlier job. The time of a
// part depends on the picture, so short parts before do not predict the next one.
// Promises: RT-004.
TEST(Scheduler, ADeadlineKeepsTheCallerFromComputing) {
  const auto scheduler = start(1);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> by_caller{0};
  std::atomic<int> part_us{10};
  const auto part = [&](int, int) {
    by_caller += std::this_thread::get_id() == caller;
    compute_for(std::chrono::microseconds(part_us.load()));
  };
  TestJob other;
  other.stage(20, part);
  TestJob own;
  own.stage(2, part);
  for (int round = 0; round < 24; ++round) {
    part_us = round % 8 < 7 ? 10 : 8000;
    scheduler->submit(other);
    scheduler->submit(own);
    Status status = Status::kDeadlineMissed;
    while (status == Status::kDeadlineMissed)
      status = scheduler->wait(own, Deadline::after(milliseconds(1)));
    ASSERT_EQ(status, Status::kOk);
    ASSERT_EQ(scheduler->wait(other, Deadline::after(std::chrono::seconds(20))), Status::kOk);
  }
  EXPECT_EQ(by_caller.load(), 0);
}

// Fails when the destructor hangs on queued jobs, returns while a part runs, or leaves threads
// running.
TEST(Scheduler, CanBeDestroyedWithQueuedWork) {
  for (const int workers : {1, 4}) {
    const test::NewThreads threads;
    Gate gate;
    std::atomic<int> inside{0};
    TestJob running;
    running.stage(workers, [&](int, int) {
      ++inside;
      gate.pass();
      std::this_thread::sleep_for(milliseconds(5));
      --inside;
    });
    TestJob queued[3];
    for (auto& job : queued) {
      job.stage(2, [&](int, int) {
        ++inside;
        --inside;
      });
    }
    auto scheduler = start(workers);
    scheduler->submit(running);
    for (auto& job : queued) scheduler->submit(job);
    ASSERT_TRUE(gate.await_arrivals(1));
    std::thread opener([&] {
      std::this_thread::sleep_for(milliseconds(10));
      gate.open();
    });
    scheduler.reset();
    EXPECT_EQ(inside.load(), 0);
    opener.join();
    EXPECT_TRUE(threads.left().empty());
  }
}

// Fails when starting and ending repeatedly leaks threads or hangs.
TEST(Scheduler, CanBeStartedAndEndedRepeatedly) {
  const test::NewThreads threads;
  for (int round = 0; round < 100; ++round) {
    const auto scheduler = start(1 + round % 8);
    if (round % 2 == 0) {
      TestJob job;
      job.stage(3, [](int, int) {});
      scheduler->submit(job);
      ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
    }
  }
  EXPECT_TRUE(threads.left().empty());
  Scheduler never_started;  // destroying a scheduler that was never started must work, too
}

// Fails when a caller that computes shares its CPU with a worker while another CPU is free. The
// system may wake a sleeping thread on the CPU of the thread that wakes it. A caller that other
// programs delay is replaced by the worker of its CPU, which must remain an exception.
TEST(Scheduler, ACallerAndAWorkerComputeOnDifferentCpus) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one CPU";
  const auto scheduler = start(2);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    const pthread_t caller = pthread_self();
    int apart = 0;
    for (int frame = 0; frame < 40; ++frame) {
      // The workers sleep, as between two frames of a camera.
      std::this_thread::sleep_for(milliseconds(2));
      Gate gate;
      std::atomic<int> other_cpu{-1};
      TestJob job;
      job.stage(2, [&](int, int) {
        if (pthread_equal(pthread_self(), caller) == 0) {
          other_cpu = sched_getcpu();
          gate.open();
        }
        gate.pass();
      });
      scheduler->submit(job);
      ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
      apart += other_cpu.load() != static_cast<int>(cpu);
    }
    EXPECT_GE(apart, 30) << "CPU " << cpu;
  }
  sched_setaffinity(0, sizeof(before), &before);
}

// Fails when a frame waits for a caller that computed before and now does not.
TEST(Scheduler, WorkersReplaceACallerThatDoesNotComputeAnyMore) {
  const auto scheduler = start(2);
  TestJob first;
  first.stage(2, [](int, int) {});
  scheduler->submit(first);
  ASSERT_EQ(scheduler->wait(first, Deadline::never()), Status::kOk);
  // Both parts end only if both workers compute.
  Gate gate;
  std::atomic<int> arrived{0};
  TestJob job;
  job.stage(2, [&](int, int) {
    if (++arrived == 2) gate.open();
    gate.pass();
  });
  scheduler->submit(job);
  EXPECT_TRUE(gate.await_arrivals(2));
  EXPECT_EQ(scheduler->wait(job, Deadline::after(std::chrono::seconds(20))), Status::kOk);
}

// Fails when a thread that cannot be started is ignored, or when the threads started before it
// remain.
// Promises: ERR-001.
TEST(Scheduler, AThreadThatCannotBeStartedIsAnError) {
  const test::NewThreads threads;
  {
    Scheduler scheduler;
    EngineConfig config;
    config.affinity[2] = CPU_SETSIZE - 1;
    const Expected<void> started = scheduler.start(config, 4);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().status, Status::kSystem);
    EXPECT_NE(std::strstr(started.error().text, "worker 2"), nullptr) << started.error().text;
  }
  EXPECT_TRUE(threads.left().empty());
}

// ---- jobs that are stopped

// Fails when a part or a step begins after the job was stopped, when the job ends before the parts
// that run have ended, or when it does not tell that it is not whole.
// Promises: RT-009.
TEST_P(SchedulerWorkers, AStoppedJobEndsAfterThePartsThatRun) {
  const int workers = GetParam();
  const auto scheduler = start(workers);
  std::atomic<bool> stop{false};
  Gate gate;
  std::atomic<int> began{0};
  std::atomic<int> ended{0};
  std::atomic<int> later{0};
  std::atomic<bool> finished{false};
  TestJob job;
  job.stage(1000,
            [&](int, int) {
              ++began;
              gate.pass();
              ++ended;
            })
      .stage(3, [&](int, int) { ++later; })
      .finished([&] { finished = true; });
  job->stop = &stop;
  scheduler->submit(job);
  ASSERT_TRUE(gate.await_arrivals(workers));
  stop = true;
  EXPECT_EQ(scheduler->wait(job, Deadline::immediate()), Status::kDeadlineMissed);
  EXPECT_FALSE(finished);
  gate.open();
  ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
  EXPECT_TRUE(finished);
  EXPECT_TRUE(job->is_cut_short());
  EXPECT_EQ(began, workers);
  EXPECT_EQ(ended, workers);
  EXPECT_EQ(later, 0);
  // The job runs again, whole.
  stop = false;
  scheduler->submit(job);
  ASSERT_EQ(scheduler->wait(job, Deadline::never()), Status::kOk);
  EXPECT_FALSE(job->is_cut_short());
  EXPECT_EQ(ended, workers + 1000);
  EXPECT_EQ(later, 3);
}

// Fails when a loop of steps, which never ends by itself, goes on after the job was stopped, or
// when a job behind it waits.
// Promises: RT-009.
TEST_P(SchedulerWorkers, AStoppedLoopEnds) {
  const auto scheduler = start(GetParam());
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  TestJob endless;
  endless.stage(2, [](int, int) {}).stage(1, [&](int, int) { ++rounds; });
  endless.at(1).next = -1;
  endless->stop = &stop;
  TestJob behind;
  std::atomic<int> ran{0};
  behind.stage(5, [&](int, int) { ++ran; });
  scheduler->submit(endless);
  scheduler->submit(behind);
  while (rounds < 10) std::this_thread::yield();
  stop = true;
  EXPECT_EQ(scheduler->wait(behind, Deadline::after(std::chrono::seconds(20))), Status::kOk);
  EXPECT_EQ(scheduler->wait(endless, Deadline::immediate()), Status::kOk);
  EXPECT_TRUE(endless->is_cut_short());
  EXPECT_EQ(ran, 5);
  // A job that is to stop when its turn comes runs no part.
  const int before = rounds;
  scheduler->submit(endless);
  EXPECT_EQ(scheduler->wait(endless, Deadline::never()), Status::kOk);
  EXPECT_EQ(rounds, before);
}

}  // namespace
}  // namespace ocellus::detail
