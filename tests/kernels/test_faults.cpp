// The CUDA backend over the fake driver: for every operator, each CUDA call of creation and of a
// frame fails in turn. Needs no GPU.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/core/cuda_device.h"
#include "kernels/core/host_calls.h"
#include "kernels/fake_driver.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

enum class Stage { kProbe, kEngine, kOperator, kSubmit, kWait, kAll };

struct Outcome {
  Stage reached = Stage::kAll;
  Error error;
  /// Of the same call, repeated after the failure of a frame.
  std::optional<Error> next;
};

OperatorConfig flow_config(ImageSize size = {24, 12}) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.depth = 2;
  config.window = 5;
  config.kernels.nx = config.kernels.ny = 5;
  config.kernels.nt = 4;
  return config;
}

/// WindowFlow, which is not in the list of operators, with the calls of OperatorConfig.
struct WindowFlowCase {
  WindowFlowConfig config;

  Expected<OperatorInfo> info() const { return WindowFlow::info_for(config); }
  Expected<Footprint> footprint(const EngineInfo& engine) const {
    return WindowFlow::footprint(engine, config);
  }
  Expected<WindowFlow> create(Engine& engine) const { return WindowFlow::create(engine, config); }
};

/// Makes an engine and an operator, sends two frames, destroys all. `config`: OperatorConfig or
/// WindowFlowCase.
template <typename Config>
Outcome run_once(const Config& config) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  Outcome outcome;
  const auto stopped = [&outcome](Stage stage, const Error& error) {
    outcome.reached = stage;
    outcome.error = error;
    return outcome;
  };
  const auto info = Engine::probe(settings);
  if (!info) return stopped(Stage::kProbe, info.error());
  const auto footprint = config.footprint(*info);
  if (!footprint) return stopped(Stage::kProbe, footprint.error());
  settings.memory = *footprint;
  auto engine = Engine::create(settings);
  if (!engine) return stopped(Stage::kEngine, engine.error());
  auto op = config.create(*engine);
  if (!op) return stopped(Stage::kOperator, op.error());
  FrameBuffer frame(op->info().size, op->info().format);
  OutputBuffer out(in_color(op->info()));
  for (std::uint64_t f = 0; f < 2; ++f) {
    const auto ticket = op->submit(frame.frame(f), out.output());
    if (!ticket) {
      const auto next = op->submit(frame.frame(f), out.output());
      if (!next) outcome.next = next.error();
      return stopped(Stage::kSubmit, ticket.error());
    }
    const auto done = op->wait(*ticket, Deadline::never());
    if (!done) {
      const auto next = op->wait(*ticket, Deadline::never());
      if (!next) outcome.next = next.error();
      return stopped(Stage::kWait, done.error());
    }
  }
  return outcome;
}

/// An error of CUDA, and the status that it becomes.
struct Failure {
  const char* name;
  cudaError_t code;
  Status status;
};

/// Lets each call of `run_once` fail in turn.
template <typename Config>
void fail_every_call(const Config& config, const Failure& failure) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  ASSERT_EQ(run_once(config).reached, Stage::kAll);
  ASSERT_TRUE(driver.empty()) << "leaks without a failure";
  const long calls = driver.calls;
  ASSERT_GT(calls, 60);

  bool seen[static_cast<int>(Stage::kAll) + 1] = {};
  for (long k = 0; k < calls; ++k) {
    reset_fake_driver();
    driver.fail_at = k;
    driver.failure = failure.code;
    driver.stays_failed = failure.status == Status::kDeviceLost;
    const Outcome outcome = run_once(config);
    const std::string& failed = driver.failed_call;
    SCOPED_TRACE("call " + std::to_string(k) + ", " + failed + ": " + outcome.error.text);
    // The operator after the failure of the call before gets this far.
    ASSERT_FALSE(failed.empty()) << "the next operator fails";
    seen[static_cast<int>(outcome.reached)] = true;
    const bool reported = !only_releases(failed);
    if (outcome.reached == Stage::kAll) {
      // A destructor may also fail to make the context current.
      EXPECT_TRUE(!reported || failed == "cuCtxGetCurrent" || failed == "cuCtxPushCurrent")
          << "ignored";
    } else {
      // The creation of an engine probes again.
      const bool probing =
          outcome.reached == Stage::kProbe ||
          (outcome.reached == Stage::kEngine &&
           outcome.error.status == Status::kBackendUnavailable &&
           (failed.find("cudaGetDevice") == 0 || failed == "cudaDriverGetVersion"));
      // A device cannot be lost before its context exists. A frame allocates no memory.
      const bool frame = outcome.reached == Stage::kSubmit || outcome.reached == Stage::kWait;
      const Status expected =
          failed == "cuDevicePrimaryCtxRetain" && failure.status == Status::kDeviceLost
              ? Status::kBackendUnavailable
          : frame && failure.status != Status::kDeviceLost ? Status::kSystem
                                                           : failure.status;
      if (!probing) {
        EXPECT_EQ(outcome.error.status, expected);
      }
      const bool no_block = failed == "cudaMalloc" && failure.code == cudaErrorMemoryAllocation;
      // On a lost device a destructor's failure is followed by another call, which is named.
      if (reported) {
        EXPECT_NE(std::string(outcome.error.text).find(no_block ? "memory.device" : failed),
                  std::string::npos);
      }
      if (frame || outcome.reached == Stage::kOperator) {
        EXPECT_NE(std::string(outcome.error.text).find(must(config.info()).name),
                  std::string::npos);
      }
      if (outcome.next && failure.status == Status::kDeviceLost) {
        EXPECT_STREQ(outcome.next->text, outcome.error.text);
      }
    }
    // Only what a failed call did not free may remain.
    if (outcome.reached != Stage::kAll && reported) {
      EXPECT_TRUE(driver.empty()) << "leaks";
    }
    EXPECT_EQ(driver.without_context, 0);
    if (failure.status != Status::kDeviceLost) {
      EXPECT_EQ(last_error(), cudaSuccess);
    }
    if (testing::Test::HasFailure()) return;
  }
  reset_fake_driver();
  EXPECT_EQ(run_once(config).reached, Stage::kAll) << "the last operator fails";
  EXPECT_TRUE(driver.empty());
  for (const Stage stage :
       {Stage::kProbe, Stage::kEngine, Stage::kOperator, Stage::kSubmit, Stage::kWait, Stage::kAll})
    EXPECT_TRUE(seen[static_cast<int>(stage)]) << static_cast<int>(stage);
}

class EveryCall : public testing::TestWithParam<std::tuple<OperatorCase, Failure>> {};

// Fails when a failed call is ignored or named wrongly, leaks what was made before, prevents the
// next operator, leaves an error in the runtime, or is followed by a call that makes another
// context.
// Promises: ERR-002.
TEST_P(EveryCall, FailsInTurn) {
  const auto& [what, failure] = GetParam();
  fail_every_call(what.with({24, 24}, 2, PixelFormat::kFloat32), failure);
}

class EveryCallWithFailure : public testing::TestWithParam<Failure> {};

// As EveryCall.
// Promises: ERR-002.
TEST_P(EveryCallWithFailure, OfWindowFlow) {
  WindowFlowCase what;
  what.config.size = {24, 24};
  what.config.depth = 2;
  fail_every_call(what, GetParam());
}

const Failure kFailures[] = {{"memory", cudaErrorMemoryAllocation, Status::kOutOfMemory},
                             {"address", cudaErrorIllegalAddress, Status::kDeviceLost},
                             {"refused", cudaErrorInvalidValue, Status::kSystem}};

INSTANTIATE_TEST_SUITE_P(Faults, EveryCall,
                         testing::Combine(testing::ValuesIn(operator_cases()),
                                          testing::ValuesIn(kFailures)),
                         [](const auto& made) {
                           return std::get<0>(made.param).name + "_" + std::get<1>(made.param).name;
                         });

INSTANTIATE_TEST_SUITE_P(Faults, EveryCallWithFailure, testing::ValuesIn(kFailures),
                         [](const auto& made) { return std::string(made.param.name); });

// As EveryCall, for frames with color whose picture has it, too.
// Promises: ERR-002.
TEST_P(EveryCallWithFailure, OfFramesWithColor) {
  OperatorConfig restore(*find_operator("restore"));
  restore.set_input({24, 24}, PixelFormat::kRgb);
  fail_every_call(restore, GetParam());
}

// Fails when an error that is fatal by CUDA's rules does not count as a loss of the device, or when
// another error does.
// Promises: ERR-007.
TEST(Loss, FollowsFatalErrorsOnly) {
  for (const int error : {46,  214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717,
                          718, 719, 721, 805, 806, 807, 808, 809, 810, 911, 999})
    EXPECT_TRUE(cuda::is_sticky(static_cast<cudaError_t>(error))) << error;
  for (const int error : {0, 1, 2, 35, 98, 100, 400, 600, 720, 801, 900, 901, 905})
    EXPECT_FALSE(cuda::is_sticky(static_cast<cudaError_t>(error))) << error;
}

// Fails when the library calls a lost device for anything but freeing.
// Promises: ERR-007.
TEST(Loss, ALostDeviceIsOnlyFreed) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  const OperatorConfig config = flow_config();
  ASSERT_EQ(run_once(config).reached, Stage::kAll);
  const auto first_frame = std::find(driver.names.rbegin(), driver.names.rend(), "cudaGraphLaunch");
  const long k = static_cast<long>(driver.names.rend() - first_frame) - 1;
  reset_fake_driver();
  driver.fail_at = k;
  driver.failure = cudaErrorLaunchFailure;
  driver.stays_failed = true;
  const Outcome outcome = run_once(config);
  ASSERT_EQ(outcome.reached, Stage::kSubmit);
  EXPECT_EQ(outcome.error.status, Status::kDeviceLost);
  EXPECT_NE(std::string(outcome.error.text).find("flow: cudaGraphLaunch failed"), std::string::npos)
      << outcome.error.text;
  for (std::size_t i = static_cast<std::size_t>(k) + 1; i < driver.names.size(); ++i) {
    const std::string& name = driver.names[i];
    EXPECT_TRUE(name.find("Ctx") != std::string::npos ||
                name.find("Destroy") != std::string::npos || name.find("Free") != std::string::npos)
        << name;
  }
}

/// A device of the fake driver, for HostCalls alone.
auto open_device() {
  reset_fake_driver();
  const auto info = must(Engine::probe(engine_config(1, BackendChoice::kCuda)));
  return must(cuda::CudaDevice::open(EngineConfig{}, info));
}

// Fails when the thread for functions of the host misses the order to end. Whether it does depends
// on the moment, so this is repeated.
// Promises: ERR-007.
TEST(Loss, EndsTheThreadForFunctionsOfTheHost) {
  FakeDriver& driver = fake_driver();
  const auto opened = open_device();
  auto& device = static_cast<cuda::CudaDevice&>(*opened);
  driver.fail_at = driver.calls;
  driver.failure = cudaErrorLaunchFailure;
  driver.stays_failed = true;
  {
    cuda::Scope scope(device, cuda::Phase::kCreating, "a test");
    void* block = nullptr;
    ASSERT_FALSE(scope(cuda::kCudaCalls.malloc_device, &block, std::size_t{64}));
  }
  ASSERT_TRUE(device.lost());
  for (int repetition = 0; repetition < 20'000; ++repetition) {
    cuda::HostCalls calls;
    must(calls.start(device));
    calls.expect(1);
    for (volatile int delay = 7 * repetition % 40'000; delay > 0;) delay = delay - 1;
    calls.withdraw(1);
    calls.stop();
  }
}

/// What a function of the host did.
struct CallCount {
  std::atomic<int> runs{0};
  static void run(void* count) noexcept { static_cast<CallCount*>(count)->runs.fetch_add(1); }
};

// Fails when the caller does not run a function that the sleeping thread has not begun, or when the
// thread runs it a second time.
TEST(HostCalls, TheCallerRunsWhatTheThreadHasNotBegun) {
  const auto opened = open_device();
  auto& device = static_cast<cuda::CudaDevice&>(*opened);
  cuda::HostCallWords words{};
  CallCount count;
  cuda::HostCalls calls;
  EXPECT_FALSE(calls.help());
  must(calls.start(device));
  calls.add(&words, &CallCount::run, &count);
  EXPECT_FALSE(calls.help());
  // The thread sleeps, because it expects nothing yet.
  words.asked = 1;
  EXPECT_TRUE(calls.help());
  EXPECT_EQ(words.answered, 1u);
  EXPECT_FALSE(calls.help());
  calls.expect(1);
  calls.stop();
  EXPECT_EQ(count.runs, 1);
}

// Fails when two threads run the same call, also if one of them was suspended in the middle of
// taking it, or when none does.
TEST(HostCalls, EachCallRunsOnce) {
  const auto opened = open_device();
  auto& device = static_cast<cuda::CudaDevice&>(*opened);
  cuda::HostCallWords words{};
  CallCount count;
  cuda::HostCalls calls;
  must(calls.start(device));
  calls.add(&words, &CallCount::run, &count);
  constexpr std::uint32_t kCalls = 200'000;
  std::atomic<bool> ended{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!ended) calls.help();
    });
  }
  for (std::uint32_t number = 1; number <= kCalls; ++number) {
    calls.expect(1);
    std::atomic_ref<std::uint32_t>(words.asked).store(number);
    while (std::atomic_ref<std::uint32_t>(words.answered).load() != number) calls.help();
  }
  ended = true;
  for (std::thread& caller : callers) caller.join();
  calls.stop();
  EXPECT_EQ(count.runs, static_cast<int>(kCalls));
}

/// A function of the host with parts, and how often each ran.
struct SharedWork {
  static constexpr int kParts = 37;
  cuda::HostCalls* calls = nullptr;
  std::array<std::atomic<int>, kParts> runs{};
  std::array<std::atomic<bool>, cuda::HostCalls::kWorkers> busy{};
  std::atomic<bool> clashed{false};

  static void run(void* work) noexcept {
    static_cast<SharedWork*>(work)->calls->share(kParts, &SharedWork::part, work);
  }
  static void part(void* work, int part, int worker) noexcept {
    auto& self = *static_cast<SharedWork*>(work);
    auto& busy = self.busy[static_cast<std::size_t>(worker)];
    if (busy.exchange(true)) self.clashed = true;
    self.runs[static_cast<std::size_t>(part)].fetch_add(1);
    for (volatile int delay = 50; delay > 0;) delay = delay - 1;
    busy = false;
  }
};

// Fails when a part of a function runs twice or not at all, when two threads have the same worker
// number, or when the function ends before its parts.
TEST(HostCalls, EachPartRunsOnce) {
  const auto opened = open_device();
  auto& device = static_cast<cuda::CudaDevice&>(*opened);
  cuda::HostCallWords words{};
  cuda::HostCalls calls;
  SharedWork work;
  work.calls = &calls;
  must(calls.start(device));
  calls.add(&words, &SharedWork::run, &work);
  constexpr std::uint32_t kCalls = 2'000;
  for (std::uint32_t number = 1; number <= kCalls; ++number) {
    calls.expect(1);
    std::atomic_ref<std::uint32_t>(words.asked).store(number);
    while (std::atomic_ref<std::uint32_t>(words.answered).load() != number) calls.help();
    for (const std::atomic<int>& runs : work.runs)
      ASSERT_EQ(runs, static_cast<int>(number)) << "call " << number;
  }
  calls.stop();
  EXPECT_FALSE(work.clashed);
}

class Phases : public testing::TestWithParam<OperatorCase> {};
INSTANTIATE_TEST_SUITE_P(Faults, Phases, testing::ValuesIn(operator_cases()), case_label);

// Fails when a frame makes a CUDA call that allocates, frees or loads code.
// Promises: RT-014.
TEST_P(Phases, AFrameMakesNothing) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  auto rig = make_rig(GetParam().with({24, 24}, 2, PixelFormat::kRgb), 1, BackendChoice::kCuda);
  OperatorHandle& op = rig.op;
  FrameBuffer frame(op.info().size, op.info().format);
  OutputBuffer out(in_color(op.info()));
  driver.names.clear();
  for (std::uint64_t f = 0; f < 5; ++f)
    must(op.wait(must(op.submit(frame.frame(f), out.output())), Deadline::never()));
  const std::set<std::string> allowed = {
      "cuCtxGetCurrent",   "cuCtxPushCurrent",    "cuCtxPopCurrent", "cudaMemcpyAsync",
      "cudaMemcpy2DAsync", "cudaGraphLaunch",     "cudaEventRecord", "cudaStreamWaitEvent",
      "cuEventQuery",      "cudaEventElapsedTime"};
  EXPECT_EQ(std::count(driver.names.begin(), driver.names.end(), "cudaGraphLaunch"), 5);
  for (const std::string& name : driver.names) EXPECT_TRUE(allowed.contains(name)) << name;
}

// Fails when the guard against calls that allocate lets one through while frames run.
// Promises: RT-014.
TEST(Guard, RefusesAllocationsWhileFramesRun) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  const EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  auto device = must(cuda::CudaDevice::open(EngineConfig{}, must(Engine::probe(settings))));
  cuda::Scope running(static_cast<cuda::CudaDevice&>(*device), cuda::Phase::kRunning, "a test");
  const long before = driver.calls;
  void* block = nullptr;
  const auto refused = running(cuda::kCudaCalls.malloc_device, &block, std::size_t{64});
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().text).find("cudaMalloc was called while frames run"),
            std::string::npos)
      << refused.error().text;
  EXPECT_EQ(driver.calls, before);
}

class Deadlines : public testing::TestWithParam<OperatorCase> {};
INSTANTIATE_TEST_SUITE_P(Faults, Deadlines, testing::ValuesIn(operator_cases()), case_label);

// Fails when `wait` goes on copying a large result to ordinary memory after its deadline, when it
// makes no progress then, when it leaves out rows, or when the descriptor of the operator is not
// readable while rows are left.
// Promises: RT-004.
TEST_P(Deadlines, EndTheCopying) {
  reset_fake_driver();
  OperatorConfig config = GetParam().with({700, 500});
  if (out_bytes(must(config.info())) < 4 << 20) config = GetParam().with({2100, 1500});
  const OperatorInfo info = must(config.info());
  for (const int copy_threads : {0, 2}) {
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.device_copy_threads = copy_threads;
    Engine engine = must(create_engine(settings, {config}));
    OperatorHandle op = must(config.create(engine));
    FrameBuffer frame(info.size, info.format);
    pollfd done{must(op.create_event_fd()), POLLIN, 0};
    for (const bool immediate : {true, false}) {
      OutputBuffer out(info);
      const Ticket ticket = must(op.submit(frame.frame(0), out.output()));
      int missed = 0;
      while (immediate && !op.wait(ticket, Deadline::immediate())) {
        ASSERT_LT(++missed, 100);
        ASSERT_EQ(poll(&done, 1, 20'000), 1);
      }
      if (!immediate) must(op.wait(ticket, Deadline::never()));
      // Each call copies 1 MiB at most. The device's results are zeros.
      EXPECT_GE(missed, immediate ? static_cast<int>(out_bytes(info) >> 20) : 0);
      EXPECT_EQ(poll(&done, 1, 0), 0);
      EXPECT_TRUE(out.surroundings_untouched());
      for (int p = 0; p < info.plane_count; ++p) {
        const PlaneF plane = out.plane(p);
        EXPECT_EQ(std::count(plane.data.begin(), plane.data.end(), 0.0f),
                  static_cast<std::ptrdiff_t>(plane.data.size()))
            << p;
      }
    }
  }
}

// Fails when the error for a missing device, or for a device number beyond the last, does not name
// the reason.
// Promises: ERR-005.
TEST(Probe, NamesWhyTheBackendIsUnavailable) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  driver.devices = 0;
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  auto probed = Engine::probe(settings);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().status, Status::kBackendUnavailable);
  settings.backend.choice = BackendChoice::kAuto;
  EXPECT_EQ(must(Engine::probe(settings)).backend, BackendKind::kCpu);
  reset_fake_driver();
  EXPECT_EQ(must(Engine::probe(settings)).backend, BackendKind::kCuda);
  settings.backend.choice = BackendChoice::kCuda;
  settings.backend.device = 1;
  probed = Engine::probe(settings);
  ASSERT_FALSE(probed);
  EXPECT_NE(std::string(probed.error().text).find("there is 1 CUDA device"), std::string::npos)
      << probed.error().text;
}

// Fails when EngineInfo has another name, bus address, size or version than the driver.
TEST(Probe, DescribesTheDevice) {
  reset_fake_driver();
  const EngineInfo info = must(Engine::probe(engine_config(1, BackendChoice::kCuda)));
  EXPECT_STREQ(info.device_name, "Fake");
  EXPECT_STREQ(info.device_bus, "0001:3b:0a.0");
  EXPECT_EQ(info.compute_capability, 90);
  EXPECT_EQ(info.device_bytes, 123456u);
  EXPECT_EQ(info.driver_cuda, CUDART_VERSION);
  EXPECT_EQ(info.runtime_cuda, CUDART_VERSION);
}

}  // namespace
}  // namespace ocellus::test
