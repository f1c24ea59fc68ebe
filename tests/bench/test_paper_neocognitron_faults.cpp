// PaperNeocognitron over the fake driver: each CUDA call fails in turn. Needs no GPU.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "bench/paper_cases.h"
#include "bench/papers/neocognitron/paper_neocognitron.h"
#include "bench/papers/neocognitron/paper_operator_layers.h"
#include "conformance/conformance.h"
#include "kernels/fake_driver.h"

namespace ocellus::test {
namespace {

using paper::DeviceOperatorLayers;
using paper::PaperNeocognitron;
using paper::SimpleSchedule;

/// Uses everything of a schedule, up to the first error. Without a schedule: the layers of the
/// operator.
Expected<void> use(const TrainedNeocognitron& network, std::optional<SimpleSchedule> schedule) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = must(schedule ? PaperNeocognitron::footprint(network)
                                  : DeviceOperatorLayers::footprint(network));
  auto engine = Engine::create(settings);
  if (!engine) return tl::unexpected(engine.error());
  const auto use_layers = [](auto& op) -> Expected<void> {
    for (int stage = 0; stage < kNeocognitronStages; ++stage)
      if (const auto ms = op.layer_ms(stage, 2); !ms) return tl::unexpected(ms.error());
    const std::vector<float> in(std::size_t{71} * 71 * 2);
    std::vector<float> out(std::size_t{68} * 68 * 16);
    return op.simple_layer(0, in, out);
  };
  if (!schedule) {
    auto layers = DeviceOperatorLayers::create(*engine, network);
    if (!layers) return tl::unexpected(layers.error());
    return use_layers(**layers);
  }
  auto op = PaperNeocognitron::create(*engine, network, *schedule);
  if (!op) return tl::unexpected(op.error());
  const std::vector<float> u0(std::size_t{65} * 65);
  std::vector<float> scores(network.names.size());
  if (const auto times = (*op)->recognize(u0, scores); !times) return tl::unexpected(times.error());
  return use_layers(**op);
}

struct Failure {
  cudaError_t code;
  Status status;
};

// Fails when a failed call is ignored or named wrongly, or when something made before it leaks.
TEST(PaperNeocognitronFaults, EveryCallFailsInTurn) {
  const TrainedNeocognitron network = random_paper_network({}, {5, 3, 2}, 2, 3);
  FakeDriver& driver = fake_driver();
  using Schedule = std::optional<SimpleSchedule>;
  for (const Schedule schedule :
       {Schedule(), Schedule(SimpleSchedule::kGather), Schedule(SimpleSchedule::kOneGrid),
        Schedule(SimpleSchedule::kTabulated)}) {
    for (const Failure& failure : {Failure{cudaErrorIllegalAddress, Status::kDeviceLost},
                                   Failure{cudaErrorInvalidValue, Status::kSystem}}) {
      reset_fake_driver();
      must(use(network, schedule));
      ASSERT_TRUE(driver.empty()) << "leaks without a failure";
      const long calls = driver.calls;
      ASSERT_GT(calls, 60);
      for (long k = 0; k < calls; ++k) {
        reset_fake_driver();
        driver.fail_at = k;
        driver.failure = failure.code;
        driver.stays_failed = failure.status == Status::kDeviceLost;
        const Expected<void> used = use(network, schedule);
        const std::string& failed = driver.failed_call;
        SCOPED_TRACE("call " + std::to_string(k) + ", " + failed);
        // Destructors report no errors.
        const bool reported = failed.find("Destroy") == std::string::npos &&
                              failed.find("Free") == std::string::npos &&
                              failed.find("Release") == std::string::npos &&
                              failed != "cuCtxPopCurrent" &&
                              failed != "cuThreadExchangeStreamCaptureMode";
        if (used) {
          // A destructor may also fail to make the context current, and it waits a second time.
          EXPECT_TRUE(!reported || failed == "cuCtxGetCurrent" || failed == "cuCtxPushCurrent" ||
                      failed == "cudaStreamSynchronize")
              << "ignored";
        } else {
          EXPECT_TRUE(used.error().status == failure.status ||
                      used.error().status == Status::kBackendUnavailable)
              << used.error().text;
          if (reported) {
            EXPECT_NE(std::string(used.error().text).find(failed), std::string::npos)
                << used.error().text;
            EXPECT_TRUE(driver.empty()) << "leaks";
          }
        }
        EXPECT_EQ(driver.without_context, 0);
        if (HasFailure()) return;
      }
    }
  }
  reset_fake_driver();
}

}  // namespace
}  // namespace ocellus::test
