// The preset `best` beside DIS of OpenCV, on variants of the recorded sequences that are harder
// than what the preset was tuned on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>
#include <optional>

#include "support/flow_files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus {
namespace {

struct Case {
  cv::Mat frames[2];  ///< CV_8UC1
  cv::Mat truth;      ///< CV_32FC2
};

std::optional<Case> read_case(const test::FlowSequence& sequence) {
  const std::string folder = test::data_folder() + "/";
  const auto truth = test::read_flo(folder + sequence.truth);
  if (!truth) return std::nullopt;
  Case read;
  for (int f = 0; f < 2; ++f) {
    char name[64];
    std::snprintf(name, sizeof(name), sequence.frames, sequence.described + f);
    const auto image = test::read_pgm(folder + name);
    if (!image) return std::nullopt;
    read.frames[f].create(image->height, image->width, CV_8UC1);
    for (int y = 0; y < image->height; ++y)
      for (int x = 0; x < image->width; ++x)
        read.frames[f].at<std::uint8_t>(y, x) = static_cast<std::uint8_t>(image->at(x, y));
  }
  read.truth.create(truth->u.height, truth->u.width, CV_32FC2);
  for (int y = 0; y < truth->u.height; ++y)
    for (int x = 0; x < truth->u.width; ++x)
      read.truth.at<cv::Vec2f>(y, x) = {truth->u.at(x, y), truth->v.at(x, y)};
  return read;
}

/// Gaussian noise with a standard deviation of 3 gray levels on both frames.
Case with_noise(const Case& plain) {
  Case noisy = plain;
  cv::RNG random(1);
  for (int f = 0; f < 2; ++f) {
    cv::Mat noise(plain.frames[f].size(), CV_32FC1);
    random.fill(noise, cv::RNG::NORMAL, 0.0, 3.0);
    cv::Mat sum;
    cv::add(plain.frames[f], noise, sum, cv::noArray(), CV_32F);
    sum.convertTo(noisy.frames[f], CV_8U);  // rounds and saturates
  }
  return noisy;
}

/// The central half, twice as large: cubic interpolation of the frames, repetition of the truth.
Case enlarged(const Case& plain) {
  const cv::Size size = plain.truth.size();
  const cv::Rect half(size.width / 4, size.height / 4, size.width / 2, size.height / 2);
  Case large;
  for (int f = 0; f < 2; ++f)
    cv::resize(plain.frames[f](half), large.frames[f], {}, 2, 2, cv::INTER_CUBIC);
  cv::resize(plain.truth(half), large.truth, {}, 2, 2, cv::INTER_NEAREST);
  large.truth *= 2;
  return large;
}

/// Mean end-point error over the pixels with ground truth.
double error_of(const cv::Mat& flow, const cv::Mat& truth) {
  double sum = 0.0;
  int count = 0;
  for (int y = 0; y < truth.rows; ++y) {
    for (int x = 0; x < truth.cols; ++x) {
      const auto& expected = truth.at<cv::Vec2f>(y, x);
      if (!(std::abs(expected[0]) < 1e9f && std::abs(expected[1]) < 1e9f)) continue;
      const auto& got = flow.at<cv::Vec2f>(y, x);
      sum += test::end_point_error(got[0], got[1], expected[0], expected[1]);
      ++count;
    }
  }
  return sum / count;
}

double error_of_best(const Case& on) {
  const ImageSize size{on.truth.cols, on.truth.rows};
  std::vector<test::FrameBuffer> frames;
  for (const cv::Mat& pixels : on.frames) {
    frames.emplace_back(size, PixelFormat::kGray8);
    test::PlaneD values(size.width, size.height);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) values.at(x, y) = pixels.at<std::uint8_t>(y, x);
    frames.back().fill(values);
  }
  const test::Results got =
      test::run<OpticalFlow>(OpticalFlowConfig::best(size), frames, 2, 1, BackendChoice::kCpu);
  cv::Mat flow(on.truth.size(), CV_32FC2);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      flow.at<cv::Vec2f>(y, x) = {got.planes[1][0].at(x, y), got.planes[1][1].at(x, y)};
  return error_of(flow, on.truth);
}

/// `finest_scale` as of OpenCV; negative: that of the preset.
double error_of_dis(const Case& on, int finest_scale) {
  const auto dis = cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
  if (finest_scale >= 0) dis->setFinestScale(finest_scale);
  cv::Mat flow;
  dis->calc(on.frames[0], on.frames[1], flow);
  return error_of(flow, on.truth);
}

struct Variant {
  const char* name;
  Case (*of)(const Case&);
};

class FlowPeers : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(Variants, FlowPeers,
                         testing::Values(Variant{"Noise", with_noise},
                                         Variant{"Enlarged", enlarged}),
                         [](const auto& variant) { return std::string(variant.param.name); });

// Fails when the error of `best` is larger than that of DIS medium, at its own finest scale or at
// full resolution.
TEST_P(FlowPeers, BestIsNotWorseThanDisMedium) {
  int compared = 0;
  for (const test::FlowSequence& sequence : test::kFlowSequences) {
    const std::optional<Case> plain = read_case(sequence);
    if (!plain) continue;
    const Case variant = GetParam().of(*plain);
    const double best = error_of_best(variant);
    const double medium = error_of_dis(variant, -1);
    const double full = error_of_dis(variant, 0);
    std::printf("%s, %s: best %.4f px, DIS medium %.4f px, at finest scale 0 %.4f px\n",
                sequence.name, GetParam().name, best, medium, full);
    EXPECT_LE(best, medium) << sequence.name;
    EXPECT_LE(best, full) << sequence.name;
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no ground truth in OCELLUS_TEST_DATA";
}

}  // namespace
}  // namespace ocellus
