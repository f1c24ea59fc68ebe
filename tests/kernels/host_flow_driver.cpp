// Lets the fake driver run the kernels of optical flow on the host, for a program whose tests are
// written for a device.
#include <gtest/gtest.h>

#include "kernels/fake_driver.h"
#include "kernels/host_flow_work.h"

namespace ocellus::test {
namespace {

class HostFlowDriver : public testing::Environment {
 public:
  void SetUp() override {
    reset_fake_driver();
    fake_driver().lazy = true;
    fake_driver().kernel = [](const cudaLaunchConfig_t& config, const void* kernel,
                              void** arguments) {
      return host_flow_work(kernel, config.gridDim.x, config.gridDim.y, config.gridDim.z,
                            config.blockDim.x, config.dynamicSmemBytes, arguments);
    };
  }
  void TearDown() override { EXPECT_TRUE(fake_driver().empty()) << "leaks"; }
};

testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new HostFlowDriver);  // owned by GoogleTest

}  // namespace
}  // namespace ocellus::test
