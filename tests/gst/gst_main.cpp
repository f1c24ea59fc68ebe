// main() of the tests with GStreamer.
#include <gst/gst.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  gst_init(&argc, &argv);
  const int result = RUN_ALL_TESTS();
  // Gives back what GStreamer keeps, so that leak checkers see only what was lost.
  gst_deinit();
  return result;
}
