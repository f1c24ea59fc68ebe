// Passes OpenCV images to Ocellus and back without a copy. A Frame refers to the pixels of one
// cv::Mat, and a FlowOutput to those of two others, with any row stride.
#include <ocellus/ocellus.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

template <typename T>
T need(ocellus::Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().text);
  std::exit(1);
}

ocellus::Frame frame_of(const cv::Mat& gray) {
  CV_Assert(gray.type() == CV_8UC1);
  return {.data = gray.data,
          .size = {gray.cols, gray.rows},
          .stride = static_cast<std::ptrdiff_t>(gray.step[0])};
}

ocellus::ImageView plane_of(cv::Mat& values) {
  CV_Assert(values.type() == CV_32FC1);
  return {values.data,
          {values.cols, values.rows},
          static_cast<std::ptrdiff_t>(values.step[0]),
          ocellus::PixelFormat::kFloat32};
}

int main() {
  // Smoothed noise, seen through a window that moves by (2, 1). The window is part of a larger
  // cv::Mat, so its rows are not contiguous.
  cv::Mat scene(300, 400, CV_8UC1);
  cv::RNG random(1);
  random.fill(scene, cv::RNG::UNIFORM, 0, 256);
  cv::GaussianBlur(scene, scene, {0, 0}, 3.0);
  cv::normalize(scene, scene, 0, 255, cv::NORM_MINMAX);

  const auto config = ocellus::OpticalFlowConfig::fast({320, 240});
  ocellus::EngineConfig engine_config;
  engine_config.memory =
      need(ocellus::OpticalFlow::footprint(need(ocellus::Engine::probe(engine_config)), config));
  auto engine = need(ocellus::Engine::create(engine_config));
  auto flow = need(ocellus::OpticalFlow::create(engine, config));

  cv::Mat u(240, 320, CV_32FC1), v(240, 320, CV_32FC1);
  for (int frame = 0; frame < 6; ++frame) {
    const cv::Mat window = scene(cv::Rect(40 - 2 * frame, 30 - frame, 320, 240));
    const auto ticket =
        need(flow.submit(frame_of(window), ocellus::FlowOutput{plane_of(u), plane_of(v)}));
    need(flow.wait(ticket, ocellus::Deadline::never()));
  }
  cv::patchNaNs(u, 0);
  cv::patchNaNs(v, 0);
  const double mean_u = cv::mean(u)[0], mean_v = cv::mean(v)[0];
  std::printf("mean flow (%.2f, %.2f), true flow (2, 1)\n", mean_u, mean_v);
  return std::abs(mean_u - 2) < 0.1 && std::abs(mean_v - 1) < 0.1 ? 0 : 1;
}
