// ocellus/opencv.h with the types of pixels of a major version of OpenCV.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ocellus/opencv.h"

namespace ocellus {
namespace {

// Fails when a type of the other major is taken for one that operators read, or when the name of a
// type is read from beyond the list of names.
TEST(OpenCvDepths, EveryOneIsReadOrRefusedByItsName) {
  const std::vector<const char*> names = {"8U",  "8S",   "16U",  "16S", "32S", "32F", "64F",
                                          "16F", "16BF", "Bool", "64U", "64S", "32U"};
  unsigned char pixels[4 * 64] = {};
  for (int depth = 0; depth < CV_DEPTH_MAX; ++depth) {
    for (int channels = 1; channels <= 5; ++channels) {
      const cv::Mat mat(2, 2, CV_MAKETYPE(depth, channels), pixels, 64);
      SCOPED_TRACE(testing::Message() << "depth " << depth << ", channels " << channels);
      const Expected<Frame> frame = frame_of(mat);
      const bool gray = channels == 1 && (depth == CV_8U || depth == CV_16U || depth == CV_32F);
      const bool color = depth == CV_8U && (channels == 3 || channels == 4);
      ASSERT_EQ(frame.has_value(), gray || color);
      if (frame) {
        const PixelFormat format = channels == 3     ? PixelFormat::kBgr
                                   : channels == 4   ? PixelFormat::kBgrx
                                   : depth == CV_8U  ? PixelFormat::kGray8
                                   : depth == CV_16U ? PixelFormat::kGray16
                                                     : PixelFormat::kFloat32;
        EXPECT_EQ(frame->format, format);
        EXPECT_EQ(mat_type(format), mat.type());
        continue;
      }
      const auto known = static_cast<std::size_t>(depth);
      const std::string type = known < names.size()
                                   ? "CV_" + std::string(names[known]) + "C"
                                   : "depth " + std::to_string(depth) + ", channels ";
      EXPECT_NE(std::string(frame.error().text).find(type + std::to_string(channels) + ";"),
                std::string::npos)
          << frame.error().text;
    }
  }
}

}  // namespace
}  // namespace ocellus
