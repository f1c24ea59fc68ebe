// OpenCV: frames and planes from cv::Mat, and cv::Mat from planes, without a copy. The header is
// optional: ocellus/ocellus.h does not include it, and the library does not use OpenCV. It needs
// OpenCV 4 or 5, of which only opencv_core is linked.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <opencv2/core/mat.hpp>

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

namespace ocellus {

/// The type of OpenCV's matrices with pixels of this format. OpenCV has YUV 4:2:2 as two channels.
constexpr int mat_type(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return CV_8UC1;
    case PixelFormat::kGray16:
      return CV_16UC1;
    case PixelFormat::kYuy2:
    case PixelFormat::kUyvy:
      return CV_8UC2;
    case PixelFormat::kBgr:
    case PixelFormat::kRgb:
      return CV_8UC3;
    case PixelFormat::kBgrx:
    case PixelFormat::kRgbx:
      return CV_8UC4;
    case PixelFormat::kFloat32:
      break;
  }
  return CV_32FC1;
}

namespace detail {

/// Checks that an image of the library can have the pixels of `mat`. Returns their format.
inline Expected<PixelFormat> checked_format(const cv::Mat& mat) noexcept {
  if (mat.dims > 2) {
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "the cv::Mat has %d dimensions; it must have 2", mat.dims));
  }
  if (mat.empty())
    return tl::unexpected(make_error(Status::kInvalidArgument, "the cv::Mat is empty"));
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32})
    if (mat.type() == mat_type(format)) return format;
  if (mat.type() == CV_8UC3) return PixelFormat::kBgr;
  if (mat.type() == CV_8UC4) return PixelFormat::kBgrx;
  // The names of OpenCV 5, whose first eight are those of OpenCV 4.
  constexpr std::array kDepths = {"8U",  "8S",   "16U",  "16S", "32S", "32F", "64F",
                                  "16F", "16BF", "Bool", "64U", "64S", "32U"};
  constexpr const char* kValid = "CV_8UC1, CV_16UC1, CV_32FC1, CV_8UC3 or CV_8UC4";
  const auto depth = static_cast<std::size_t>(mat.depth());
  if (depth >= kDepths.size()) {
    return tl::unexpected(
        make_error(Status::kInvalidArgument,
                   "the cv::Mat has an unknown type: depth %zu, channels %d; it must have %s",
                   depth, mat.channels(), kValid));
  }
  return tl::unexpected(make_error(Status::kInvalidArgument,
                                   "the cv::Mat has the type CV_%sC%d; it must have %s",
                                   kDepths[depth], mat.channels(), kValid));
}

}  // namespace detail

/// A frame that refers to the pixels of `mat`, which may be a part of a larger one. The pixels must
/// stay unchanged until `wait` reports the frame as done. Three and four channels of 8 bits are
/// kBgr and kBgrx, OpenCV's order; for another order, change `format` of the frame. Errors:
/// InvalidArgument (type, dimensions, empty).
inline Expected<Frame> frame_of(const cv::Mat& mat) noexcept {
  const Expected<PixelFormat> format = detail::checked_format(mat);
  if (!format) return tl::unexpected(format.error());
  return Frame{.data = mat.data,
               .size = {mat.cols, mat.rows},
               .stride = static_cast<std::ptrdiff_t>(mat.step[0]),
               .format = *format};
}

/// A plane of a result that refers to the pixels of `mat`. They must not be freed until `wait`
/// reports the frame as done. Three and four channels of 8 bits are as in `frame_of`, for a picture
/// in the format of its frame (PlaneInfo::follows_frame). Errors: those of `frame_of`.
inline Expected<ImageView> plane_of(cv::Mat& mat) noexcept {
  const Expected<PixelFormat> format = detail::checked_format(mat);
  if (!format) return tl::unexpected(format.error());
  return ImageView{.data = mat.data,
                   .size = {mat.cols, mat.rows},
                   .stride = static_cast<std::ptrdiff_t>(mat.step[0]),
                   .format = *format};
}

/// A matrix that refers to a plane in ordinary or pinned memory, such as a plane of a result. It
/// does not own the memory. Empty for a plane without data or in device memory.
inline cv::Mat mat_of(const ImageView& plane) {
  if (plane.data == nullptr || plane.space == MemorySpace::kCuda) return {};
  return cv::Mat(plane.size.height, plane.size.width, mat_type(plane.format), plane.data,
                 static_cast<std::size_t>(plane.stride));
}

/// A matrix with memory of its own for a plane that an operator writes.
inline cv::Mat mat_for(const PlaneInfo& plane) {
  return cv::Mat(plane.size.height, plane.size.width, mat_type(plane.format));
}

}  // namespace ocellus
