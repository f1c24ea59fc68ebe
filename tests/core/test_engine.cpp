// Engine: configuration, workers, backends, memory and log.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ocellus/buffer.h"
#include "ocellus/engine.h"
#include "ocellus/log.h"
#include "support/fork.h"
#include "support/threads.h"

namespace ocellus {
namespace {

EngineConfig cpu_config(int workers = 2) {
  EngineConfig config;
  config.backend.choice = BackendChoice::kCpu;
  config.workers = workers;
  return config;
}

std::vector<int> allowed_cpus() {
  cpu_set_t cpus;
  std::vector<int> allowed;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return allowed;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &cpus)) allowed.push_back(cpu);
  }
  return allowed;
}

struct BadConfig {
  const char* name;
  std::function<void(EngineConfig&)> spoil;
  Status status;
  std::vector<std::string> words;  ///< words that the error text must contain
};

// Fails when a bad configuration is accepted, or when the error does not name the field, its value
// and its range.
TEST(Engine, RefusesBadConfigurations) {
  const std::vector<BadConfig> table = {
      {"workers negative",
       [](EngineConfig& c) { c.workers = -1; },
       Status::kInvalidArgument,
       {"workers", "-1", "64"}},
      {"workers too many",
       [](EngineConfig& c) { c.workers = 65; },
       Status::kInvalidArgument,
       {"workers", "65", "64"}},
      {"workers huge",
       [](EngineConfig& c) { c.workers = std::numeric_limits<int>::max(); },
       Status::kInvalidArgument,
       {"workers", "2147483647", "64"}},
      {"priority negative",
       [](EngineConfig& c) { c.realtime_priority = -1; },
       Status::kInvalidArgument,
       {"realtime_priority", "-1", "99"}},
      {"priority too high",
       [](EngineConfig& c) { c.realtime_priority = 100; },
       Status::kInvalidArgument,
       {"realtime_priority", "100", "99"}},
      {"cpu not there",
       [](EngineConfig& c) { c.affinity[1] = 32000; },
       Status::kInvalidArgument,
       {"affinity[1]", "32000"}},
      {"cpu below -1",
       [](EngineConfig& c) { c.affinity[0] = -3; },
       Status::kInvalidArgument,
       {"affinity[0]", "-3", "-1", "-2"}},
  };
  for (const BadConfig& bad : table) {
    SCOPED_TRACE(bad.name);
    EngineConfig config = cpu_config();
    bad.spoil(config);
    const Expected<Engine> engine = Engine::create(config);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().status, bad.status);
    for (const std::string& word : bad.words) {
      EXPECT_NE(std::string(engine.error().text).find(word), std::string::npos)
          << "\"" << word << "\" is missing in: " << engine.error().text;
    }
    const Expected<EngineInfo> probed = Engine::probe(config);
    ASSERT_FALSE(probed) << "probe must refuse a configuration that create refuses";
    EXPECT_STREQ(probed.error().text, engine.error().text);
  }
}

// Fails when the engine promises memory that the CPU backend does not have or that the system
// cannot provide.
// Promises: MEM-004.
TEST(Engine, RefusesUnavailableMemory) {
  EngineConfig config = cpu_config();
  config.memory.pinned = 4096;
  Expected<Engine> engine = Engine::create(config);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().status, Status::kInvalidArgument);
  EXPECT_NE(std::strstr(engine.error().text, "pinned"), nullptr) << engine.error().text;

  config = cpu_config();
  config.memory.device = 1;
  engine = Engine::create(config);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().status, Status::kInvalidArgument);

  config = cpu_config();
  config.memory.host = std::size_t{1} << 60;
  engine = Engine::create(config);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().status, Status::kOutOfMemory);
  EXPECT_TRUE(test::threads_after(0, "ocellus-").empty())
      << "a refused engine must not leave threads";
}

// Fails when locking more memory than allowed is silently ignored. The test runs in a child
// process, because it cannot raise the limit again.
// Promises: MEM-004.
TEST(Engine, LockedMemoryBeyondTheLimitIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers disable mlock";
#endif
  if (geteuid() != 0) GTEST_SKIP() << "needs root to drop the privilege to lock memory in a child";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{1 << 16, 1 << 16};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(3);
    EngineConfig config = cpu_config();
    config.memory.host = 8 << 20;
    config.lock_memory = true;
    const Expected<Engine> engine = Engine::create(config);
    if (engine) _exit(4);
    if (engine.error().status != Status::kSystem) _exit(5);
    _exit(std::strstr(engine.error().text, "lock_memory") != nullptr ? 0 : 6);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Fails when the default number of workers is not the number of CPUs that the process may use.
TEST(Engine, DefaultWorkersFollowTheAffinityMask) {
  const std::vector<int> allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  Expected<EngineInfo> info = Engine::probe(cpu_config(0));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->workers, std::min(static_cast<int>(allowed.size()), kMaxWorkers));

  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(allowed.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    info = Engine::probe(cpu_config(0));
  }).join();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->workers, 1);
}

// Fails when the engine starts a wrong number of threads, does not name them, or leaves them
// running.
TEST(Engine, StartsAndEndsItsThreads) {
  for (const int workers : {1, 2, 64}) {
    {
      const Expected<Engine> engine = Engine::create(cpu_config(workers));
      ASSERT_TRUE(engine) << engine.error().text;
      EXPECT_EQ(engine->info().workers, workers);
      EXPECT_EQ(test::threads_after(static_cast<std::size_t>(workers), "ocellus-").size(),
                static_cast<std::size_t>(workers));
    }
    EXPECT_TRUE(test::threads_after(0, "ocellus-").empty());
  }
}

// Fails when a worker is not pinned to its CPU, or when entries beyond the workers are read.
// Promises: RT-011.
TEST(Engine, AffinityIsSet) {
  const std::vector<int> allowed = allowed_cpus();
  EngineConfig config = cpu_config(2);
  config.affinity[0] = static_cast<std::int16_t>(allowed.back());
  config.affinity[1] = static_cast<std::int16_t>(allowed.front());
  config.affinity[2] = 32000;  // must not be read with two workers
  const Expected<Engine> engine = Engine::create(config);
  ASSERT_TRUE(engine) << engine.error().text;
  EXPECT_TRUE(engine->info().affinity);
  const int expected[2] = {allowed.back(), allowed.front()};
  for (int i = 0; i < 2; ++i) {
    const std::string name = "ocellus-" + std::to_string(i);
    const std::vector<pid_t> threads = test::threads_after(1, name.c_str());
    ASSERT_EQ(threads.size(), 1u);
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(threads[0], sizeof(cpus), &cpus), 0);
    EXPECT_EQ(CPU_COUNT(&cpus), 1);
    EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(expected[i]), &cpus));
  }
  EXPECT_FALSE(Engine::probe(cpu_config(2))->affinity);
}

cpu_set_t cpus_of_worker(int worker) {
  // The line break ends the name: worker 1 is not worker 10.
  const std::string name = "ocellus-" + std::to_string(worker) + "\n";
  const std::vector<pid_t> threads = test::threads_after(1, name.c_str());
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(threads.size(), 1u);
  if (!threads.empty()) sched_getaffinity(threads[0], sizeof(cpus), &cpus);
  return cpus;
}

// Fails when two workers may use the same CPU although there is one for each, when a CPU of the
// process is left out, or when a CPU that the configuration names is also given to another worker.
// Promises: RT-011.
TEST(Engine, WorkersHaveCpusOfTheirOwn) {
  const std::vector<int> allowed = allowed_cpus();
  const int cpus = static_cast<int>(allowed.size());
  for (const int workers : {1, 2, cpus}) {
    if (workers > cpus || workers > kMaxWorkers) continue;
    for (const bool names_one : {false, true}) {
      EngineConfig config = cpu_config(workers);
      if (names_one) config.affinity[0] = static_cast<std::int16_t>(allowed.back());
      const Expected<Engine> engine = Engine::create(config);
      ASSERT_TRUE(engine) << engine.error().text;
      cpu_set_t all;
      CPU_ZERO(&all);
      int sum = 0;
      for (int i = 0; i < workers; ++i) {
        const cpu_set_t own = cpus_of_worker(i);
        EXPECT_GE(CPU_COUNT(&own), 1);
        sum += CPU_COUNT(&own);
        CPU_OR(&all, &all, &own);
      }
      EXPECT_EQ(sum, CPU_COUNT(&all)) << workers << " workers share a CPU";
      EXPECT_EQ(CPU_COUNT(&all), names_one && workers == 1 ? 1 : cpus);
    }
  }
}

// Fails when workers that outnumber the CPUs, or that may use any CPU, are bound to some of them.
TEST(Engine, WorkersMayUseAnyCpuOnRequestOrWhereTheyOutnumberTheCpus) {
  const int cpus = static_cast<int>(allowed_cpus().size());
  EngineConfig config = cpu_config(2);
  config.affinity[0] = kAnyCpu;
  config.affinity[1] = kAnyCpu;
  if (cpus < kMaxWorkers) {
    const Expected<Engine> engine = Engine::create(cpu_config(cpus + 1));
    ASSERT_TRUE(engine) << engine.error().text;
    const cpu_set_t own = cpus_of_worker(cpus);
    EXPECT_EQ(CPU_COUNT(&own), cpus);
  }
  const Expected<Engine> engine = Engine::create(config);
  ASSERT_TRUE(engine) << engine.error().text;
  EXPECT_FALSE(engine->info().affinity);
  for (int i = 0; i < 2; ++i) {
    const cpu_set_t own = cpus_of_worker(i);
    EXPECT_EQ(CPU_COUNT(&own), cpus);
  }
}

// Fails when SCHED_FIFO is neither set nor refused with a text that explains how to get permission.
// Promises: RT-011.
TEST(Engine, RealtimePriorityIsSetOrRefusedWithAReason) {
  EngineConfig config = cpu_config(2);
  config.realtime_priority = 7;
  const Expected<Engine> engine = Engine::create(config);
  if (!engine) {
    EXPECT_EQ(engine.error().status, Status::kSystem);
    EXPECT_NE(std::strstr(engine.error().text, "CAP_SYS_NICE"), nullptr) << engine.error().text;
    EXPECT_TRUE(test::threads_after(0, "ocellus-").empty());
    GTEST_SKIP() << "this process may not use SCHED_FIFO; the refusal was checked";
  }
  EXPECT_EQ(engine->info().realtime_priority, 7);
  const std::vector<pid_t> threads = test::threads_after(2, "ocellus-");
  ASSERT_EQ(threads.size(), 2u);
  for (const pid_t thread : threads) {
    EXPECT_EQ(sched_getscheduler(thread), SCHED_FIFO);
    sched_param parameter{};
    ASSERT_EQ(sched_getparam(thread, &parameter), 0);
    EXPECT_EQ(parameter.sched_priority, 7);
  }
}

// Fails when a process without permission silently gets workers without priority, or an unhelpful
// error text.
TEST(Engine, RealtimePriorityWithoutPermissionIsAnError) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to drop the privilege in a child";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{0, 0};
    if (setrlimit(RLIMIT_RTPRIO, &limit) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(3);
    EngineConfig config = cpu_config(2);
    config.realtime_priority = 10;
    const Expected<Engine> engine = Engine::create(config);
    if (engine) _exit(4);
    if (engine.error().status != Status::kSystem) _exit(5);
    if (std::strstr(engine.error().text, "CAP_SYS_NICE") == nullptr) _exit(6);
    _exit(test::threads_after(0, "ocellus-").empty() ? 0 : 7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// The status of a thread of this process from /proc, as lines "name: value".
std::string thread_status(pid_t thread) {
  std::string text;
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/status";
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    char line[256];
    while (std::fgets(line, sizeof(line), file) != nullptr) text += line;
    std::fclose(file);
  }
  return text;
}

// Fails when a worker receives a signal that the program expects on its own thread. Also fails when
// a worker blocks the signals of its own faults, which a crash handler needs, or when creation
// changes the caller's signal mask.
// Promises: RT-011.
TEST(Engine, WorkersBlockAsynchronousSignals) {
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  const Expected<Engine> engine = Engine::create(cpu_config(2));
  ASSERT_TRUE(engine) << engine.error().text;
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  const std::vector<pid_t> workers = test::threads_after(2, "ocellus-");
  ASSERT_EQ(workers.size(), 2u);
  for (const pid_t worker : workers) {
    const std::string status = thread_status(worker);
    const std::size_t at = status.find("SigBlk:");
    ASSERT_NE(at, std::string::npos);
    const std::uint64_t blocked = std::stoull(status.substr(at + 7), nullptr, 16);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE, SIGPROF})
      EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << strsignal(signal);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
      EXPECT_EQ(blocked >> (signal - 1) & 1, 0u) << strsignal(signal);
  }
}

// Fails when the workers' stacks have the process's default size. A small default would end the
// program in Engine::create.
// Promises: RT-011.
TEST(Engine, WorkersHaveAStackOfTheirOwnSize) {
  pthread_attr_t before;
  pthread_attr_t small;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&small), 0);
  const long least = sysconf(_SC_THREAD_STACK_MIN);
  ASSERT_EQ(pthread_attr_setstacksize(
                &small, std::max<std::size_t>(48 * 1024, static_cast<std::size_t>(least))),
            0);
  ASSERT_EQ(pthread_setattr_default_np(&small), 0);
  EXPECT_TRUE(Engine::create(cpu_config(2)));
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&small);
  pthread_attr_destroy(&before);
}

// Fails when workers inherit the real-time policy of the creating thread although none was
// configured.
// Promises: RT-011.
TEST(Engine, WorkersDoNotInheritARealtimePolicy) {
  sched_param parameter{};
  parameter.sched_priority = 5;
  if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0)
    GTEST_SKIP() << "this process may not use SCHED_FIFO";
  const Expected<Engine> engine = Engine::create(cpu_config(2));
  parameter.sched_priority = 0;
  ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER, &parameter), 0);
  ASSERT_TRUE(engine) << engine.error().text;
  EXPECT_EQ(engine->info().realtime_priority, 0);
  for (const pid_t worker : test::threads_after(2, "ocellus-"))
    EXPECT_EQ(sched_getscheduler(worker), SCHED_OTHER);
}

// Fails when a process with a lower policy, which it cannot leave, gets no workers, or an error
// about a real-time policy that was not configured.
TEST(Engine, WorkersRunUnderAnIdlePolicy) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const sched_param parameter{};
    if (sched_setscheduler(0, SCHED_IDLE, &parameter) != 0) _exit(2);
    const Expected<Engine> engine = Engine::create(cpu_config(2));
    if (!engine) std::fprintf(stderr, "%s\n", engine.error().text);
    _exit(engine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this process cannot change its user or policy";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Fails when an inherited engine hangs or ends the child process in its destructor, or gives out
// memory there.
// Promises: ERR-006.
TEST(Engine, AForkedChildCanOnlyDestroyAnEngine) {
  EngineConfig config = cpu_config(3);
  config.memory.host = 1 << 16;
  Expected<Engine> engine = Engine::create(config);
  ASSERT_TRUE(engine) << engine.error().text;
  Buffer held = *Buffer::create(*engine, MemorySpace::kHost, 100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const Expected<Buffer> refused = Buffer::create(*engine, MemorySpace::kHost, 100);
    if (refused || refused.error().status != Status::kUnsupported) _exit(1);
    if (std::strstr(refused.error().text, "fork") == nullptr) _exit(2);
    if (held.write(0, "x", 1)) _exit(3);
    if (engine->memory_use().capacity.host != 0) _exit(4);
    { const Buffer gone = std::move(held); }
    { const Engine gone = *std::move(engine); }
    if (!test::threads_after_fork()) _exit(0);
    const Expected<Engine> own = Engine::create(config);
    _exit(own ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(held.write(0, "x", 1)) << "the parent's engine must still work";
}

// Fails when the reported backend is not the requested one.
// Promises: ERR-005.
TEST(Engine, ReportsTheActiveBackend) {
  const Expected<Engine> engine = Engine::create(cpu_config());
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->info().backend, BackendKind::kCpu);
  EXPECT_EQ(engine->info().device, -1);
  EXPECT_STRNE(engine->info().simd_target, "");
  EXPECT_STREQ(backend_name(BackendKind::kCpu), "cpu");
  EXPECT_STREQ(backend_name(BackendKind::kCuda), "cuda");
}

// Fails when an unavailable CUDA device leads to a silent fallback, or when "auto" does not select
// the CPU.
// Promises: ERR-005.
TEST(Engine, UnavailableCudaIsAnErrorAndAutoSelectsTheCpu) {
  EngineConfig config = cpu_config();
  config.backend.choice = BackendChoice::kCuda;
  config.backend.device = 3;
  const Expected<Engine> cuda = Engine::create(config);
  if (cuda) GTEST_SKIP() << "this machine has a fourth CUDA device";
  EXPECT_EQ(cuda.error().status, Status::kBackendUnavailable);
  EXPECT_NE(std::strstr(cuda.error().text, "cuda:3"), nullptr) << cuda.error().text;

  config.backend = BackendSpec{};
  config.backend.device = 3;
  const Expected<Engine> any = Engine::create(config);
  ASSERT_TRUE(any) << any.error().text;
  EXPECT_EQ(any->info().backend, BackendKind::kCpu);
}

// Fails when a text is accepted or refused wrongly, or when the error does not list the valid
// texts.
TEST(BackendSpec, ParsesValidTextsOnly) {
  struct Good {
    const char* text;
    BackendChoice choice;
    int device;
  };
  for (const Good& good :
       {Good{"auto", BackendChoice::kAuto, 0}, Good{"cpu", BackendChoice::kCpu, 0},
        Good{"cuda", BackendChoice::kCuda, 0}, Good{"cuda:0", BackendChoice::kCuda, 0},
        Good{"cuda:7", BackendChoice::kCuda, 7}, Good{"cuda:12", BackendChoice::kCuda, 12}}) {
    const Expected<BackendSpec> spec = BackendSpec::parse(good.text);
    ASSERT_TRUE(spec) << good.text;
    EXPECT_EQ(spec->choice, good.choice) << good.text;
    EXPECT_EQ(spec->device, good.device) << good.text;
  }
  const std::string endless(5000, 'c');
  for (const char* bad : {"", " cpu", "cpu ", "CPU", "Auto", "gpu", "cuda:", "cuda:-1", "cuda:+1",
                          "cuda: 1", "cuda:1x", "cuda:1024", "cuda:99999999999999999999", "cuda0",
                          "cuda;0", "cpu:0", endless.c_str()}) {
    const Expected<BackendSpec> spec = BackendSpec::parse(bad);
    ASSERT_FALSE(spec) << bad;
    EXPECT_EQ(spec.error().status, Status::kInvalidArgument);
    const std::string text = spec.error().text;
    EXPECT_NE(text.find("backend"), std::string::npos) << text;
    EXPECT_NE(text.find("auto, cpu, cuda or cuda:N"), std::string::npos) << text;
    EXPECT_NE(text.find(std::string(bad).substr(0, 20)), std::string::npos) << text;
  }
  EXPECT_FALSE(BackendSpec::parse(nullptr));
}

// Fails when the block does not have the requested size, or memory counts as used without
// operators.
TEST(Engine, MemoryUseOfAnEmptyEngine) {
  EngineConfig config = cpu_config();
  config.memory.host = 100000;
  const Expected<Engine> engine = Engine::create(config);
  ASSERT_TRUE(engine);
  const MemoryUse use = engine->memory_use();
  EXPECT_GE(use.capacity.host, 100000u);
  EXPECT_LT(use.capacity.host, 100000u + kMemoryAlignment);
  EXPECT_EQ(use.capacity.pinned, 0u);
  EXPECT_EQ(use.used, Footprint{});
  EXPECT_EQ(use.peak, Footprint{});
  EXPECT_EQ(use.pieces, 0);
}

// Fails when a move loses the engine or destroys it twice.
TEST(Engine, CanBeMoved) {
  Expected<Engine> made = Engine::create(cpu_config(3));
  ASSERT_TRUE(made);
  Engine first = std::move(*made);
  EXPECT_EQ(first.info().workers, 3);
  Expected<Engine> other = Engine::create(cpu_config(1));
  ASSERT_TRUE(other);
  first = std::move(*other);
  EXPECT_EQ(first.info().workers, 1);
  EXPECT_EQ(test::threads_after(1, "ocellus-").size(), 1u)
      << "the engine that was overwritten must be destroyed";
}

// Fails when engines on several threads share state.
TEST(Engine, EnginesOnSeveralThreadsAreIndependent) {
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        EngineConfig config = cpu_config(1 + t);
        config.memory.host = static_cast<std::size_t>(t + 1) << 12;
        const Expected<Engine> engine = Engine::create(config);
        if (engine && engine->info().workers == 1 + t &&
            engine->memory_use().capacity.host == config.memory.host) {
          ++made;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made.load(), 80);
}

struct LogLines {
  std::vector<std::pair<LogLevel, std::string>> lines;
  static void collect(void* user, LogLevel level, const char* message) {
    static_cast<LogLines*>(user)->lines.emplace_back(level, message);
  }
};

// Fails when the engine does not log its backend, or logs after the callback was removed.
TEST(Log, TheCallbackReceivesMessagesOfTheEngine) {
  LogLines log;
  set_log_callback(&LogLines::collect, &log);
  ASSERT_TRUE(Engine::create(cpu_config()));
  ASSERT_FALSE(log.lines.empty());
  bool told = false;
  for (const auto& [level, line] : log.lines) {
    told |= level == LogLevel::kInfo && line.find("cpu") != std::string::npos &&
            line.find("2 workers") != std::string::npos;
  }
  EXPECT_TRUE(told);
  const std::size_t before = log.lines.size();
  set_log_callback(nullptr, nullptr);
  ASSERT_TRUE(Engine::create(cpu_config()));
  EXPECT_EQ(log.lines.size(), before);
}

// Fails when a callback that changes the callback deadlocks.
TEST(Log, ACallbackMayDisableTheLog) {
  static std::atomic<int> calls;
  calls = 0;
  set_log_callback(
      [](void*, LogLevel, const char*) {
        ++calls;
        set_log_callback(nullptr, nullptr);
      },
      nullptr);
  ASSERT_TRUE(Engine::create(cpu_config()));
  ASSERT_TRUE(Engine::create(cpu_config()));
  EXPECT_EQ(calls.load(), 1);
}

// Fails when the library prints anything itself.
// Promises: ERR-003.
TEST(Log, NothingIsPrinted) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  { ASSERT_TRUE(Engine::create(cpu_config())); }
  EngineConfig bad = cpu_config();
  bad.workers = -3;
  EXPECT_FALSE(Engine::create(bad));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ocellus
