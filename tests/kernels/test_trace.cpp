// What a profiler sees of the CUDA backend: NVTX_INJECTION64_PATH names one of the tests' own, over
// a driver that is none. Needs no GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/fake_driver.h"
#include "kernels/trace_recorder.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

// Fails when creation, submit or wait shows no range, one that is not closed, or one without the
// operator's name and the frame's number.
TEST(Trace, ShowsEveryStepWithItsFrame) {
  reset_fake_driver();
  SpatioTemporalFilterConfig filter_config;
  filter_config.size = {20, 10};
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels({20, 10});
  config.window = 5;
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  const EngineInfo info = must(Engine::probe(settings));
  settings.memory = must(OpticalFlow::footprint(info, config)) +
                    must(SpatioTemporalFilter::footprint(info, filter_config));
  Engine engine = must(Engine::create(settings));
  OpticalFlow flow = must(OpticalFlow::create(engine, config));
  SpatioTemporalFilter filter = must(SpatioTemporalFilter::create(engine, filter_config));
  FrameBuffer frame(config.size, config.format);
  OutputBuffer out(config.size, 3);
  const Ticket first = must(flow.submit(frame.frame(71), out.flow()));
  must(flow.wait(first, Deadline::never()));
  OutputBuffer planes(config.size, filter_config.kernels.convolutions);
  const Ticket second = must(filter.submit(frame.frame(72), planes.output()));
  must(filter.wait(second, Deadline::never()));

  EXPECT_EQ(seen().domains, std::vector<std::string>{"ocellus"});
  const std::vector<std::string> expected = {"optical flow: create 0",
                                             "spatio-temporal filter: create 0",
                                             "optical flow: submit 71",
                                             "optical flow: wait 71",
                                             "spatio-temporal filter: submit 72",
                                             "spatio-temporal filter: wait 72"};
  EXPECT_EQ(seen().ranges, expected);
  EXPECT_EQ(seen().depth, 0) << "a range is left open";
  EXPECT_EQ(seen().deepest, 1);
}

}  // namespace
}  // namespace ocellus::test
