// The NVTX ranges of every operator on the CUDA backend. NVTX_INJECTION64_PATH names a recorder of
// the tests, and the fake driver takes the calls. Needs no GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/fake_driver.h"
#include "kernels/trace_recorder.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

// Fails when creation, `submit` or `wait` has no range, leaves it open, or names another operator
// or frame.
TEST(Trace, ShowsEveryStepWithItsFrame) {
  reset_fake_driver();
  std::vector<std::string> expected;
  std::uint64_t sequence = 70;
  for (const OperatorCase& what : operator_cases()) {
    auto rig = make_rig(what.with({20, 10}), 1, BackendChoice::kCuda);
    FrameBuffer frame({20, 10}, PixelFormat::kGray8);
    OutputBuffer out(rig.op.info());
    const Ticket ticket = must(rig.op.submit(frame.frame(++sequence), out.output()));
    must(rig.op.wait(ticket, Deadline::never()));
    const std::string name = rig.op.info().name;
    expected.push_back(name + ": create 0");
    expected.push_back(name + ": submit " + std::to_string(sequence));
    expected.push_back(name + ": wait " + std::to_string(sequence));
  }
  EXPECT_EQ(seen().domains, std::vector<std::string>{"ocellus"});
  EXPECT_EQ(seen().ranges, expected);
  EXPECT_EQ(seen().depth, 0) << "a range is left open";
  EXPECT_EQ(seen().deepest, 1);
}

}  // namespace
}  // namespace ocellus::test
