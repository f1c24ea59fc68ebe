// Stand-in for OpenCV's header, with the constants of both majors: OPENCV_MAJOR is 4 or 5. It has
// as much of cv::Mat as ocellus/opencv.h uses.
#pragma once

#include <cstddef>

#if OPENCV_MAJOR == 4
#define CV_CN_SHIFT 3
#else
#define CV_CN_SHIFT 5
#define CV_16BF 8
#define CV_Bool 9
#define CV_64U 10
#define CV_64S 11
#define CV_32U 12
#endif
#define CV_8U 0
#define CV_8S 1
#define CV_16U 2
#define CV_16S 3
#define CV_32S 4
#define CV_32F 5
#define CV_64F 6
#define CV_16F 7
#define CV_DEPTH_MAX (1 << CV_CN_SHIFT)
#define CV_MAKETYPE(depth, channels) \
  (((depth) & (CV_DEPTH_MAX - 1)) + (((channels)-1) << CV_CN_SHIFT))
#define CV_8UC1 CV_MAKETYPE(CV_8U, 1)
#define CV_8UC2 CV_MAKETYPE(CV_8U, 2)
#define CV_8UC3 CV_MAKETYPE(CV_8U, 3)
#define CV_8UC4 CV_MAKETYPE(CV_8U, 4)
#define CV_16UC1 CV_MAKETYPE(CV_16U, 1)
#define CV_32FC1 CV_MAKETYPE(CV_32F, 1)

namespace cv {

struct MatStep {
  std::size_t bytes = 0;
  std::size_t operator[](int) const { return bytes; }
};

struct Mat {
  int type_ = 0;
  int rows = 0;
  int cols = 0;
  int dims = 2;
  unsigned char* data = nullptr;
  MatStep step{};

  Mat() = default;
  Mat(int height, int width, int type, void* pixels = nullptr, std::size_t stride = 0)
      : type_(type),
        rows(height),
        cols(width),
        data(static_cast<unsigned char*>(pixels)),
        step{stride} {}
  int type() const { return type_; }
  int depth() const { return type_ & (CV_DEPTH_MAX - 1); }
  int channels() const { return (type_ >> CV_CN_SHIFT) + 1; }
  bool empty() const { return data == nullptr; }
};

}  // namespace cv
