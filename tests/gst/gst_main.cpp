// main() of the tests with GStreamer.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "ocellus/engine.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Kept, so that the device's context is not made anew for every element.
  std::optional<ocellus::Engine> engine;
  if (const char* asked = std::getenv("OCELLUS_TEST_BACKEND");
      asked != nullptr && std::strcmp(asked, "cuda") == 0) {
    ocellus::EngineConfig config;
    config.backend.choice = ocellus::BackendChoice::kCuda;
    auto made = ocellus::Engine::create(config);
    if (!made) {
      g_print("no CUDA device: %s\n", made.error().text);
      return 0;
    }
    engine.emplace(std::move(*made));
  }
  gst_init(&argc, &argv);
  const int result = RUN_ALL_TESTS();
  // Gives back what GStreamer keeps, so that leak checkers see only what was lost.
  gst_deinit();
  return result;
}
