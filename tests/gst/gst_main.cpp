// main() of the tests that use GStreamer.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "ocellus/engine.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Keeps the context of the device, which each element would otherwise create again.
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
  // Releases what GStreamer caches, so that leak checkers report only real leaks.
  gst_deinit();
  return result;
}
