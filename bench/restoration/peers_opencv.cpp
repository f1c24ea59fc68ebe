#include <fmt/format.h>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "bench/restoration/peers.h"

namespace ocellus::app {
namespace {

class OpenCvPeer : public RestorationPeer {
 public:
  explicit OpenCvPeer(std::string name) : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  GrayImage result() const override {
    GrayImage image({out_.cols, out_.rows}, PixelFormat::kGray8);
    for (int y = 0; y < out_.rows; ++y)
      std::copy_n(out_.ptr(y), out_.cols, image.pixels.begin() + std::ptrdiff_t{y} * out_.cols);
    return image;
  }

 protected:
  static cv::Mat wrap(const GrayImage& image) {
    return cv::Mat(image.size.height, image.size.width, CV_8UC1,
                   const_cast<std::uint8_t*>(image.pixels.data()),
                   static_cast<std::size_t>(image.stride()));
  }

  cv::Mat out_;

 private:
  std::string name_;
};

/// The impulse response as a kernel of filter2D, which computes a correlation.
class Filter2d : public OpenCvPeer {
 public:
  explicit Filter2d(const ImpulseResponse& response)
      : OpenCvPeer(fmt::format("OpenCV filter2D {0}x{0}", 2 * response.reach + 1)) {
    const int side = 2 * response.reach + 1;
    cv::flip(cv::Mat(side, side, CV_32F, const_cast<float*>(response.values.data())), kernel_, -1);
  }
  void compute(const GrayImage& image) override {
    cv::filter2D(wrap(image), out_, CV_8U, kernel_, cv::Point(-1, -1), 0.0, cv::BORDER_REFLECT_101);
  }

 private:
  cv::Mat kernel_;
};

/// The product in the frequency domain with a spectrum that is computed once, as a Wiener filter.
class DftFilter : public OpenCvPeer {
 public:
  DftFilter(const ImpulseResponse& response, ImageSize size)
      : OpenCvPeer("OpenCV dft, spectrum known"), reach_(response.reach) {
    padded_ = {cv::getOptimalDFTSize(size.width + 2 * reach_),
               cv::getOptimalDFTSize(size.height + 2 * reach_)};
    cv::Mat impulse = cv::Mat::zeros(padded_, CV_32F);
    const int side = 2 * reach_ + 1;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        impulse.at<float>((y - reach_ + padded_.height) % padded_.height,
                          (x - reach_ + padded_.width) % padded_.width) =
            response.values[static_cast<std::size_t>(y * side + x)];
    cv::dft(impulse, transfer_);
  }
  void compute(const GrayImage& image) override {
    const cv::Mat in = wrap(image);
    cv::copyMakeBorder(in, continued_, reach_, padded_.height - in.rows - reach_, reach_,
                       padded_.width - in.cols - reach_, cv::BORDER_REFLECT_101);
    continued_.convertTo(values_, CV_32F);
    cv::dft(values_, spectrum_);
    cv::mulSpectrums(spectrum_, transfer_, spectrum_, 0);
    cv::dft(spectrum_, values_, cv::DFT_INVERSE | cv::DFT_SCALE | cv::DFT_REAL_OUTPUT,
            reach_ + in.rows);
    values_(cv::Rect(reach_, reach_, in.cols, in.rows)).convertTo(out_, CV_8U);
  }

 private:
  int reach_;
  cv::Size padded_;
  cv::Mat transfer_;
  cv::Mat continued_;
  cv::Mat values_;
  cv::Mat spectrum_;
};

}  // namespace

std::vector<std::unique_ptr<RestorationPeer>> make_restoration_peers(
    const ImpulseResponse& response, ImageSize size, int threads) {
  cv::setNumThreads(threads);
  std::vector<std::unique_ptr<RestorationPeer>> peers;
  peers.push_back(std::make_unique<DftFilter>(response, size));
  peers.push_back(std::make_unique<Filter2d>(response));
  return peers;
}

}  // namespace ocellus::app
