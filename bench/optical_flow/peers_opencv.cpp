#include <fmt/format.h>

#include <opencv2/core.hpp>
#include <opencv2/video/tracking.hpp>

#include "bench/optical_flow/peers.h"

namespace ocellus::app {
namespace {

class OpenCvPeer : public FlowPeer {
 public:
  OpenCvPeer(std::string name, cv::Ptr<cv::DenseOpticalFlow> method)
      : name_(std::move(name)), method_(std::move(method)) {}

  const std::string& name() const override { return name_; }
  void compute(const GrayImage& from, const GrayImage& to) override {
    const cv::Mat a = wrap(from);
    const cv::Mat b = wrap(to);
    // DIS would use the contents of the field as a first guess.
    if (!flow_.empty()) flow_.setTo(cv::Scalar(0.0, 0.0));
    try {
      method_->calc(a, b, flow_);
    } catch (const cv::Exception& error) {
      throw Refusal(fmt::format("OpenCV refuses {}x{}: {}", a.cols, a.rows, error.err));
    }
  }
  FlowField result() const override {
    FlowField field({flow_.cols, flow_.rows}, false);
    std::size_t i = 0;
    for (int y = 0; y < flow_.rows; ++y) {
      for (int x = 0; x < flow_.cols; ++x, ++i) {
        const auto& vector = flow_.at<cv::Vec2f>(y, x);
        field.u[i] = vector[0];
        field.v[i] = vector[1];
      }
    }
    return field;
  }

 private:
  static cv::Mat wrap(const GrayImage& image) {
    return cv::Mat(image.size.height, image.size.width, CV_8UC1,
                   const_cast<std::uint8_t*>(image.pixels.data()),
                   static_cast<std::size_t>(image.stride()));
  }

  std::string name_;
  cv::Ptr<cv::DenseOpticalFlow> method_;
  cv::Mat flow_;
};

}  // namespace

std::vector<std::unique_ptr<FlowPeer>> make_flow_peers(int threads) {
  cv::setNumThreads(threads);
  std::vector<std::unique_ptr<FlowPeer>> peers;
  const auto add = [&](const char* name, cv::Ptr<cv::DenseOpticalFlow> method) {
    peers.push_back(std::make_unique<OpenCvPeer>(name, std::move(method)));
  };
  add("OpenCV DIS ultrafast", cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_ULTRAFAST));
  add("OpenCV DIS fast", cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_FAST));
  add("OpenCV DIS medium", cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM));
  // The parameters of OpenCV's own sample. The defaults of create() are three times slower and
  // hardly better.
  add("OpenCV Farneback", cv::FarnebackOpticalFlow::create(3, 0.5, false, 15, 3, 5, 1.2, 0));
  return peers;
}

std::string peer_library() {
  return std::string("OpenCV ") + CV_VERSION;
}

}  // namespace ocellus::app
