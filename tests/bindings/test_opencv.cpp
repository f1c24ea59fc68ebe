// Frames and planes of OpenCV's matrices.
#include <gtest/gtest.h>

#include <cstring>
#include <opencv2/core.hpp>
#include <string>

#include "ocellus/ocellus.h"
#include "ocellus/opencv.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::must;

// Fails when a type is taken for another one, or when a part of a matrix gives other pixels.
TEST(OpenCv, FrameAndPlaneReferToTheMatrix) {
  for (const auto& [type, format] :
       {std::pair{CV_8UC1, PixelFormat::kGray8}, std::pair{CV_16UC1, PixelFormat::kGray16},
        std::pair{CV_32FC1, PixelFormat::kFloat32}}) {
    cv::Mat whole(30, 50, type);
    cv::Mat part = whole(cv::Rect(7, 5, 20, 10));
    const Frame frame = must(frame_of(part));
    EXPECT_EQ(frame.data, part.ptr(0));
    EXPECT_EQ(frame.size, (ImageSize{20, 10}));
    EXPECT_EQ(frame.stride, 50 * bytes_per_pixel(format));
    EXPECT_EQ(frame.format, format);
    EXPECT_EQ(frame.space, MemorySpace::kHost);
    const ImageView plane = must(plane_of(part));
    EXPECT_EQ(plane.data, part.ptr(0));
    EXPECT_EQ(plane.size, frame.size);
    EXPECT_EQ(plane.stride, frame.stride);
    EXPECT_EQ(plane.format, format);

    const cv::Mat again = mat_of(plane);
    EXPECT_EQ(again.type(), type);
    EXPECT_EQ(again.ptr(9, 19), part.ptr(9, 19));
    EXPECT_EQ(again.size(), part.size());
    EXPECT_EQ(mat_type(format), type);
  }
}

// Fails when a matrix that no operator can read is accepted, or when the text does not help.
TEST(OpenCv, OtherMatricesAreErrors) {
  const auto text = [](const cv::Mat& mat) {
    const Expected<Frame> frame = frame_of(mat);
    cv::Mat same = mat;
    EXPECT_FALSE(plane_of(same));
    if (frame) return std::string("accepted");
    EXPECT_EQ(frame.error().status, Status::kInvalidArgument);
    EXPECT_STREQ(plane_of(same).error().text, frame.error().text);
    return std::string(frame.error().text);
  };
  EXPECT_EQ(text(cv::Mat()), "the cv::Mat is empty");
  EXPECT_EQ(text(cv::Mat(4, 5, CV_64FC1)),
            "the cv::Mat has the type CV_64FC1; it must have CV_8UC1, CV_16UC1, CV_32FC1, CV_8UC3 "
            "or CV_8UC4");
  EXPECT_EQ(text(cv::Mat(4, 5, CV_16FC1)),
            "the cv::Mat has the type CV_16FC1; it must have CV_8UC1, CV_16UC1, CV_32FC1, CV_8UC3 "
            "or CV_8UC4");
  const int sides[] = {2, 3, 4};
  EXPECT_EQ(text(cv::Mat(3, sides, CV_8UC1)), "the cv::Mat has 3 dimensions; it must have 2");
  EXPECT_TRUE(mat_of(ImageView{}).empty());
  char byte = 0;
  EXPECT_TRUE(mat_of({&byte, {1, 1}, 1, PixelFormat::kGray8, MemorySpace::kCuda}).empty());
}

// Fails when a matrix of colors is not taken in OpenCV's order.
TEST(OpenCv, FramesHaveColor) {
  for (const auto& [type, format] :
       {std::pair{CV_8UC3, PixelFormat::kBgr}, std::pair{CV_8UC4, PixelFormat::kBgrx}}) {
    cv::Mat whole(30, 50, type);
    cv::Mat part = whole(cv::Rect(7, 5, 20, 10));
    const Frame frame = must(frame_of(part));
    EXPECT_EQ(frame.data, part.ptr(0));
    EXPECT_EQ(frame.stride, row_bytes(format, 50));
    EXPECT_EQ(frame.format, format);
    EXPECT_EQ(mat_type(format), type);
    const ImageView plane = must(plane_of(part));
    EXPECT_EQ(plane.data, part.ptr(0));
    EXPECT_EQ(plane.stride, frame.stride);
    EXPECT_EQ(plane.format, format);
  }
}

// Fails when an operator gives another result in matrices than in other memory.
// Promises: RES-009.
TEST(OpenCv, EveryOperatorWritesMatrices) {
  constexpr ImageSize kSize{64, 48};
  const auto frames = test::moving_frames(kSize, PixelFormat::kGray8, 3, true);
  for (const OperatorDescription& description : operators()) {
    SCOPED_TRACE(description.name);
    OperatorConfig config(description);
    config.set_input(kSize, PixelFormat::kGray8);
    auto expected_rig = test::make_rig(config), rig = test::make_rig(config);
    const OperatorInfo& info = rig.op.info();
    std::vector<char> expected(test::out_bytes(info));
    const OperatorOutput other = test::output_at(expected.data(), info);
    std::vector<cv::Mat> planes;
    OperatorOutput out;
    for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
      planes.push_back(mat_for(info.planes[p]));
      out.planes[p] = must(plane_of(planes[p]));
    }
    for (const test::FrameBuffer& buffer : frames) {
      const Frame frame = buffer.frame(0);
      const cv::Mat mat(kSize.height, kSize.width, CV_8UC1, const_cast<void*>(frame.data),
                        static_cast<std::size_t>(frame.stride));
      must(rig.op.wait(must(rig.op.submit(must(frame_of(mat)), out)), Deadline::never()));
      must(expected_rig.op.wait(must(expected_rig.op.submit(frame, other)), Deadline::never()));
    }
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const cv::Mat same = mat_of(other.planes[p]);
      ASSERT_TRUE(same.isContinuous() && planes[p].isContinuous());
      EXPECT_EQ(std::memcmp(same.data, planes[p].data, same.total() * same.elemSize()), 0)
          << info.planes[p].name;
    }
  }
}

}  // namespace
}  // namespace ocellus
