// The CUDA backend over a driver that fails on demand: every call of creating an engine and an
// operator, and of a frame, fails in turn. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "kernels/core/cuda_device.h"
#include "kernels/fake_driver.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

enum class Stage { kProbe, kEngine, kOperator, kSubmit, kWait, kAll };

struct Outcome {
  Stage reached = Stage::kAll;
  Error error;
  /// Of what came after a failure while frames ran.
  std::optional<Error> next;
};

OpticalFlowConfig config_of(KernelForm form, PixelFormat format = PixelFormat::kGray8) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels({24, 12});
  config.depth = 2;
  config.format = format;
  config.window = 5;
  config.kernels.nx = config.kernels.ny = 5;
  config.kernels.nt = 4;
  config.kernels.form = form;
  if (form == KernelForm::kPerPixel) config.kernels.origin = KernelOrigin::kFoveated;
  return config;
}

SpatioTemporalFilterConfig filter_config() {
  SpatioTemporalFilterConfig config;
  config.size = {24, 12};
  config.depth = 2;
  config.format = PixelFormat::kFloat32;
  return config;
}

CellularNetworkConfig cells_config(CellBoundary boundary) {
  CellularNetworkConfig config = halftone_config({16, 8});
  config.depth = 2;
  config.format = config.output_format = PixelFormat::kFloat32;
  for (CellStage& stage : config.stages) stage.boundary = boundary;
  // Without swaps, which need cells beyond the border.
  if (boundary != CellBoundary::kFixed) config.stage_count = 1;
  return config;
}

/// Makes an engine and an operator, sends two frames, destroys all.
template <typename Operator, typename Config>
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
  const auto footprint = Operator::footprint(*info, config);
  if (!footprint) return stopped(Stage::kProbe, footprint.error());
  settings.memory = *footprint;
  auto engine = Engine::create(settings);
  if (!engine) return stopped(Stage::kEngine, engine.error());
  auto op = Operator::create(*engine, config);
  if (!op) return stopped(Stage::kOperator, op.error());
  FrameBuffer frame(config.size, config.format);
  OutputBuffer out(config.size, op->info().plane_count);
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
Outcome run_once(const OpticalFlowConfig& config) {
  return run_once<OpticalFlow>(config);
}

/// Every operator, in every way that it calls CUDA.
struct Subject {
  const char* name;
  Outcome (*run)();
};
constexpr Subject kSubjects[] = {
    {"Uniform", [] { return run_once(config_of(KernelForm::kUniform, PixelFormat::kFloat32)); }},
    {"PerPixel", [] { return run_once(config_of(KernelForm::kPerPixel, PixelFormat::kFloat32)); }},
    {"Pyramid",
     [] {
       OpticalFlowConfig config = OpticalFlowConfig::quality({24, 24});
       config.format = PixelFormat::kFloat32;
       return run_once(config);
     }},
    {"Filter", [] { return run_once<SpatioTemporalFilter>(filter_config()); }},
    {"Halftone", [] { return run_once<CellularNetwork>(cells_config(CellBoundary::kFixed)); }},
    {"Cells", [] { return run_once<CellularNetwork>(cells_config(CellBoundary::kPeriodic)); }},
};

struct Case {
  const char* name;
  cudaError_t failure;
  Status status;
};

class EveryCall : public testing::TestWithParam<std::tuple<Case, Subject>> {};

// Fails when one failing call is passed over, named wrongly, leaks what was made before it, spoils
// what is made afterwards, leaves the runtime's last error behind, or is followed by one that makes
// a context.
TEST_P(EveryCall, FailsInTurn) {
  const auto& [what, subject] = GetParam();
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  ASSERT_EQ(subject.run().reached, Stage::kAll);
  ASSERT_TRUE(driver.empty()) << "a run without failures leaks";
  const long calls = driver.calls;
  ASSERT_GT(calls, 60);

  bool seen[static_cast<int>(Stage::kAll) + 1] = {};
  for (long k = 0; k < calls; ++k) {
    reset_fake_driver();
    driver.fail_at = k;
    driver.failure = what.failure;
    driver.stays_failed = what.status == Status::kDeviceLost;
    const Outcome outcome = subject.run();
    const std::string& failed = driver.failed_call;
    SCOPED_TRACE("call " + std::to_string(k) + ", " + failed + ": " + outcome.error.text);
    seen[static_cast<int>(outcome.reached)] = true;
    // Of what fails while things are destroyed or put back nobody hears.
    const bool heard = failed.find("Destroy") == std::string::npos &&
                       failed.find("Free") == std::string::npos &&
                       failed.find("Release") == std::string::npos && failed != "cuCtxPopCurrent" &&
                       failed != "cuThreadExchangeStreamCaptureMode";
    if (outcome.reached == Stage::kAll) {
      // Nor of a context that cannot be made current for destroying.
      EXPECT_TRUE(!heard || failed == "cuCtxGetCurrent" || failed == "cuCtxPushCurrent")
          << "passed over";
    } else {
      // Creating an engine probes once more.
      const bool probing =
          outcome.reached == Stage::kProbe ||
          (outcome.reached == Stage::kEngine &&
           outcome.error.status == Status::kBackendUnavailable &&
           (failed.find("cudaGetDevice") == 0 || failed == "cudaDriverGetVersion"));
      // A device that was never had cannot be lost; a frame asks for no memory.
      const bool frame = outcome.reached == Stage::kSubmit || outcome.reached == Stage::kWait;
      const Status expected =
          failed == "cuDevicePrimaryCtxRetain" && what.status == Status::kDeviceLost
              ? Status::kBackendUnavailable
          : frame && what.status != Status::kDeviceLost ? Status::kSystem
                                                        : what.status;
      if (!probing) {
        EXPECT_EQ(outcome.error.status, expected);
      }
      const bool no_block = failed == "cudaMalloc" && what.failure == cudaErrorMemoryAllocation;
      // On a lost device it is the next call that is named.
      if (heard) {
        EXPECT_NE(std::string(outcome.error.text).find(no_block ? "memory.device" : failed),
                  std::string::npos);
      }
      if (outcome.next && what.status == Status::kDeviceLost) {
        EXPECT_STREQ(outcome.next->text, outcome.error.text);
      }
    }
    // What failed to be freed or put back is still there; nothing else may be.
    if (outcome.reached != Stage::kAll && heard) {
      EXPECT_TRUE(driver.empty()) << "leaks";
    }
    EXPECT_EQ(driver.without_context, 0);
    if (what.status != Status::kDeviceLost) {
      EXPECT_EQ(last_error(), cudaSuccess);
    }

    reset_fake_driver();
    EXPECT_EQ(subject.run().reached, Stage::kAll) << "does not work afterwards";
    EXPECT_TRUE(driver.empty());
    if (testing::Test::HasFailure()) return;
  }
  for (const Stage stage :
       {Stage::kProbe, Stage::kEngine, Stage::kOperator, Stage::kSubmit, Stage::kWait, Stage::kAll})
    EXPECT_TRUE(seen[static_cast<int>(stage)]) << static_cast<int>(stage);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, EveryCall,
    testing::Combine(testing::Values(Case{"memory", cudaErrorMemoryAllocation,
                                          Status::kOutOfMemory},
                                     Case{"address", cudaErrorIllegalAddress, Status::kDeviceLost},
                                     Case{"refused", cudaErrorInvalidValue, Status::kSystem}),
                     testing::ValuesIn(kSubjects)),
    [](const auto& made) {
      return std::string(std::get<0>(made.param).name) + std::get<1>(made.param).name;
    });

// Fails when an error after which CUDA refuses every call is taken for one that the next frame gets
// over, or the other way round.
TEST(Loss, IsTheErrorsThatCudaCallsFatal) {
  for (const int error : {46,  214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717,
                          718, 719, 721, 805, 806, 807, 808, 809, 810, 911, 999})
    EXPECT_TRUE(cuda::is_sticky(static_cast<cudaError_t>(error))) << error;
  for (const int error : {0, 1, 2, 35, 98, 100, 400, 600, 720, 801, 900, 901, 905})
    EXPECT_FALSE(cuda::is_sticky(static_cast<cudaError_t>(error))) << error;
}

// Fails when a lost device is called again, but to free what it holds.
TEST(Loss, TheDeviceIsLeftAlone) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  const OpticalFlowConfig config = config_of(KernelForm::kUniform);
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
  EXPECT_NE(std::string(outcome.error.text).find("optical flow: cudaGraphLaunch failed"),
            std::string::npos)
      << outcome.error.text;
  for (std::size_t i = static_cast<std::size_t>(k) + 1; i < driver.names.size(); ++i) {
    const std::string& name = driver.names[i];
    EXPECT_TRUE(name.find("Ctx") != std::string::npos ||
                name.find("Destroy") != std::string::npos || name.find("Free") != std::string::npos)
        << name;
  }
}

// Fails when a frame calls what allocates, frees or loads code; or when the guard against it does
// not fire.
TEST(Phases, NothingIsMadeWhileFramesRun) {
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  const OpticalFlowConfig config = config_of(KernelForm::kPerPixel);
  settings.memory = must(OpticalFlow::footprint(must(Engine::probe(settings)), config));
  Engine engine = must(Engine::create(settings));
  OpticalFlow flow = must(OpticalFlow::create(engine, config));
  FrameBuffer frame(config.size, config.format);
  OutputBuffer out(config.size, 3);
  driver.names.clear();
  for (std::uint64_t f = 0; f < 5; ++f) {
    const Ticket ticket = must(flow.submit(frame.frame(f), out.flow()));
    must(flow.wait(ticket, Deadline::never()));
  }
  const std::set<std::string> allowed = {
      "cuCtxGetCurrent",   "cuCtxPushCurrent",    "cuCtxPopCurrent", "cudaMemcpyAsync",
      "cudaMemcpy2DAsync", "cudaGraphLaunch",     "cudaEventRecord", "cudaStreamWaitEvent",
      "cuEventQuery",      "cudaEventElapsedTime"};
  EXPECT_EQ(std::count(driver.names.begin(), driver.names.end(), "cudaGraphLaunch"), 5);
  for (const std::string& name : driver.names) EXPECT_TRUE(allowed.contains(name)) << name;

  // The guard itself.
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

// Fails when a call goes on copying a large result to ordinary memory when its deadline has passed,
// copies nothing then, or copies some rows twice or never.
TEST(Deadlines, EndTheCopying) {
  reset_fake_driver();
  OpticalFlowConfig config = config_of(KernelForm::kUniform);
  config.size = {1000, 700};
  for (const int copy_threads : {0, 2}) {
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.device_copy_threads = copy_threads;
    settings.memory = must(OpticalFlow::footprint(must(Engine::probe(settings)), config));
    Engine engine = must(Engine::create(settings));
    OpticalFlow flow = must(OpticalFlow::create(engine, config));
    FrameBuffer frame(config.size, config.format);
    for (const bool immediate : {true, false}) {
      OutputBuffer out(config.size, 3);
      const Ticket ticket = must(flow.submit(frame.frame(0), out.flow()));
      int missed = 0;
      while (immediate && !flow.wait(ticket, Deadline::immediate())) ASSERT_LT(++missed, 100);
      if (!immediate) must(flow.wait(ticket, Deadline::never()));
      // 8.4 MB in pieces of at most 1 MiB.
      EXPECT_GE(missed, immediate ? 7 : 0);
      for (int p = 0; p < 3; ++p) {
        const PlaneF plane = out.plane(p);
        for (int y = 0; y < config.size.height; ++y)
          for (int x = 0; x < config.size.width; ++x)
            ASSERT_NE(plane.at(x, y), OutputBuffer::kGuard) << p << " " << x << " " << y;
      }
    }
  }
}

// Fails when no device, a device number beyond the last, or a block that is too large is not said
// for what it is.
TEST(Probe, SaysWhyTheBackendCannotBeUsed) {
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

// Fails when the device cannot be found again by the system's other tools, or its versions are not
// those of the driver and of this build.
TEST(Probe, TellsTheDevicesFacts) {
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
