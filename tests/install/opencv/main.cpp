#include <ocellus/ocellus.h>
#include <ocellus/opencv.h>

#include <cstdio>
#include <opencv2/imgproc.hpp>

int main() {
  using namespace ocellus;
  cv::Mat scene(300, 400, CV_8UC1);  // smoothed noise
  cv::randu(scene, 0, 256);
  cv::GaussianBlur(scene, scene, {0, 0}, 3.0);
  cv::normalize(scene, scene, 0, 255, cv::NORM_MINMAX);

  // value() of an error ends the program.
  const OpticalFlowConfig config = OpticalFlowConfig::fast({320, 240});
  Engine engine = create_engine(EngineConfig{}, {config}).value();
  OpticalFlow flow = OpticalFlow::create(engine, config).value();
  cv::Mat u = mat_for(flow.info().planes[0]), v = mat_for(flow.info().planes[1]);
  const FlowOutput out{.u = plane_of(u).value(), .v = plane_of(v).value()};
  for (int i = 0; i < 6; ++i) {  // the scene through a window that moves to the left and up
    const cv::Mat window = scene(cv::Rect(40 - 2 * i, 30 - i, 320, 240));
    const Ticket ticket = flow.submit(frame_of(window).value(), out).value();
    flow.wait(ticket, Deadline::never()).value();
  }
  cv::Mat error = cv::abs(u - 2) + cv::abs(v - 1);
  cv::patchNaNs(error, 3);  // an invalid vector
  std::printf("the mean error of the flow is %.3f pixels\n", cv::mean(error)[0]);
  return cv::mean(error)[0] < 0.1 ? 0 : 1;
}
