// Lets the fake driver run kernels on the host, for a program whose tests are written for a device.
// The device has one multiprocessor, so that kernels whose blocks synchronize have one block.
#include <gtest/gtest.h>

#include "kernels/fake_driver.h"
#include "kernels/host_work.h"

namespace ocellus::test {
namespace {

class HostDriver : public testing::Environment {
 public:
  void SetUp() override {
    reset_fake_driver();
    fake_driver().lazy = true;
    fake_driver().multiprocessors = 1;
    fake_driver().resident_blocks = kHostResidentBlocks;
    fake_driver().kernel = [](const cudaLaunchConfig_t& config, const void* kernel,
                              void** arguments) {
      return host_work({kernel, config.gridDim.x, config.gridDim.y, config.gridDim.z,
                        config.blockDim.x, config.dynamicSmemBytes, arguments});
    };
  }
  void TearDown() override { EXPECT_TRUE(fake_driver().empty()) << "leaks"; }
};

testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new HostDriver);  // owned by GoogleTest

}  // namespace
}  // namespace ocellus::test
