// Many threads use one scheduler in all ways at once. The test fails on lost or repeated parts,
// shared slots and hanging waits. It is also built with the thread sanitizer, which then reports
// every data race in the scheduler.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "core/scheduler.h"
#include "core/scheduler_fixture.h"

namespace ocellus::detail {
namespace {

using test::SlotWatch;
using test::TestJob;

/// The work of one user thread: up to three jobs in flight, which it waits for, polls or cancels in
/// random order.
void use_at_random(Scheduler& scheduler, SlotWatch& watch, unsigned seed, int rounds,
                   std::atomic<int>& errors) {
  std::mt19937 random(seed);
  constexpr int kInFlight = 3;
  constexpr int kMaxParts = 9;
  struct Slot {
    TestJob job;
    // These are plain and not atomic, so that a barrier or a wait without memory ordering shows as
    // a race.
    int written[2][kMaxParts] = {};
    int sum = 0;
    int finished = 0;
    int parts[2] = {};
    bool busy = false;
  };
  std::vector<Slot> slots(kInFlight);
  for (Slot& slot : slots) {
    for (int s = 0; s < 2; ++s) {
      slot.job.stage(1, [&slot, &watch, s](int part, int held) {
        watch.enter(held);
        slot.written[s][part] = s == 0 ? part + 1 : slot.written[0][part] * 2;
        watch.leave(held);
      });
    }
    slot.job.stage(1, [&slot, &watch](int, int held) {
      watch.enter(held);
      for (int part = 0; part < slot.parts[1]; ++part) slot.sum += slot.written[1][part];
      watch.leave(held);
    });
    slot.job.finished([&slot] { ++slot.finished; });
  }
  for (int round = 0; round < rounds; ++round) {
    Slot& slot = slots[random() % kInFlight];
    if (!slot.busy) {
      slot.parts[0] = 1 + static_cast<int>(random() % kMaxParts);
      slot.parts[1] = static_cast<int>(random() % static_cast<unsigned>(slot.parts[0] + 1));
      slot.job.at(0).parts = slot.parts[0];
      slot.job.at(1).parts = slot.parts[1];
      slot.sum = 0;
      slot.finished = 0;
      slot.job->priority = static_cast<OperatorPriority>(random() % 3);
      scheduler.submit(slot.job);
      slot.busy = true;
      continue;
    }
    Status status = Status::kOk;
    switch (random() % 4) {
      case 0:
        status = scheduler.wait(slot.job, Deadline::immediate());
        break;
      case 1:
        status =
            scheduler.wait(slot.job, Deadline::after(std::chrono::microseconds(random() % 50)));
        break;
      case 2:
        scheduler.cancel(slot.job);
        slot.busy = false;
        continue;
      default:
        status = scheduler.wait(slot.job, Deadline::never());
    }
    if (status == Status::kDeadlineMissed) continue;
    slot.busy = false;
    const int expected = slot.parts[1] * (slot.parts[1] + 1);
    if (status != Status::kOk || slot.sum != expected || slot.finished != 1) ++errors;
  }
  for (Slot& slot : slots) {
    if (slot.busy) scheduler.cancel(slot.job);
  }
}

void stress(int workers, int users, int rounds) {
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.start(EngineConfig{}, workers));
  SlotWatch watch(workers);
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  for (int u = 0; u < users; ++u) {
    threads.emplace_back([&, u] {
      use_at_random(scheduler, watch, static_cast<unsigned>(u * 31 + workers), rounds, errors);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(errors.load(), 0);
  EXPECT_EQ(watch.violations(), 0);
}

TEST(SchedulerStress, WorksWithOneWorker) {
  stress(1, 4, 1500);
}
TEST(SchedulerStress, WorksWithTwoWorkers) {
  stress(2, 4, 1500);
}
TEST(SchedulerStress, WorksWithManyWorkers) {
  stress(16, 6, 800);
}

// Fails when the end of the scheduler races with workers that spin, sleep or compute.
TEST(SchedulerStress, CanEndAtAnyTime) {
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    TestJob job;
    int cells[4] = {};
    job.stage(4, [&](int part, int) { ++cells[part]; }).stage(4, [&](int part, int) {
      ++cells[part];
    });
    {
      Scheduler scheduler;
      ASSERT_TRUE(scheduler.start(EngineConfig{}, 1 + round % 4));
      if (round % 3 != 0) scheduler.submit(job);
      if (round % 3 == 1) {
        ASSERT_EQ(scheduler.wait(job, Deadline::never()), Status::kOk);
      }
      test::spin_for(std::chrono::microseconds(random() % 60));
    }
    if (round % 3 == 1) {
      for (const int cell : cells) ASSERT_EQ(cell, 2);
    }
  }
}

}  // namespace
}  // namespace ocellus::detail
