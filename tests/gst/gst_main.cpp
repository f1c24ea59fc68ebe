// main() of the tests with GStreamer.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "ocellus/engine.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const char* asked = std::getenv("OCELLUS_TEST_BACKEND");
      asked != nullptr && std::strcmp(asked, "cuda") == 0) {
    ocellus::EngineConfig config;
    config.backend.choice = ocellus::BackendChoice::kCuda;
    if (const auto info = ocellus::Engine::probe(config); !info) {
      g_print("no CUDA device: %s\n", info.error().text);
      return 0;
    }
  }
  gst_init(&argc, &argv);
  const int result = RUN_ALL_TESTS();
  // Gives back what GStreamer keeps, so that leak checkers see only what was lost.
  gst_deinit();
  return result;
}
