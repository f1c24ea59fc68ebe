// Lets each CUDA call of a use of the library fail in turn, over the fake driver.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/fake_driver.h"
#include "support/run.h"

namespace ocellus::test {

/// Expects that each call that fails, on a device that is lost or not, is reported by its name, and
/// that nothing made before it leaks. `begin` prepares the fake driver after each reset, `use`
/// returns its first error. Fails with `least` calls or fewer.
template <typename Begin, typename Use>
void expect_every_failure_reported(long least, const Begin& begin, const Use& use) {
  FakeDriver& driver = fake_driver();
  for (const bool lost : {true, false}) {
    const Status status = lost ? Status::kDeviceLost : Status::kSystem;
    reset_fake_driver();
    begin();
    must(use());
    ASSERT_TRUE(driver.empty()) << "leaks without a failure";
    const long calls = driver.calls;
    ASSERT_GT(calls, least);
    for (long k = 0; k < calls; ++k) {
      reset_fake_driver();
      begin();
      driver.fail_at = k;
      driver.failure = lost ? cudaErrorIllegalAddress : cudaErrorInvalidValue;
      driver.stays_failed = lost;
      const Expected<void> used = use();
      const std::string& failed = driver.failed_call;
      SCOPED_TRACE("call " + std::to_string(k) + ", " + failed);
      const bool reported = !only_releases(failed);
      if (used) {
        // A destructor may also fail to make the context current, and it waits a second time.
        EXPECT_TRUE(!reported || failed == "cuCtxGetCurrent" || failed == "cuCtxPushCurrent" ||
                    failed == "cudaStreamSynchronize")
            << "ignored";
      } else {
        const std::string text = used.error().text;
        // A device whose work cannot be waited for is lost.
        const bool cannot_wait = used.error().status == Status::kDeviceLost &&
                                 text.find("cannot be waited for") != std::string::npos;
        EXPECT_TRUE(used.error().status == status || cannot_wait ||
                    used.error().status == Status::kBackendUnavailable)
            << text;
        if (reported) {
          EXPECT_NE(text.find(failed), std::string::npos) << text;
          EXPECT_TRUE(driver.empty()) << "leaks";
        }
      }
      EXPECT_EQ(driver.without_context, 0);
      if (testing::Test::HasFailure()) return;
    }
  }
  reset_fake_driver();
}

}  // namespace ocellus::test
