// Accuracy of flow on synthetic motion, which is known exactly, and on ground truth where
// OCELLUS_TEST_DATA has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "conformance/conformance.h"

namespace ocellus {
namespace {

using test::AffineMotion;
using test::FrameBuffer;
using test::OnBackend;
using test::Results;
using test::Texture;

class Motion : public OnBackend {
 protected:
  Results results(const OpticalFlowConfig& config, const std::vector<FrameBuffer>& frames) const {
    return OnBackend::results<OpticalFlow>(config, frames, 2, 1);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Motion, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

std::vector<FrameBuffer> sequence(const Texture& texture, const AffineMotion& motion,
                                  ImageSize size, int count, double described) {
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < count; ++f) {
    frames.emplace_back(size, PixelFormat::kGray16);
    // The texture is not displaced at the described moment.
    frames.back().fill(test::render(texture, motion, size, f - described));
  }
  return frames;
}

struct Errors {
  double worst = 0.0;
  double mean = 0.0;
};

/// `truth` returns the flow at a pixel. Leaves out `margin` pixels at the border.
template <typename Truth>
Errors errors_of(const std::vector<test::PlaneF>& planes, int margin, Truth truth) {
  Errors errors;
  int count = 0;
  for (int y = margin; y < planes[0].height - margin; ++y) {
    for (int x = margin; x < planes[0].width - margin; ++x) {
      const auto expected = truth(x, y);
      const double error =
          test::end_point_error(static_cast<double>(planes[0].at(x, y)),
                                static_cast<double>(planes[1].at(x, y)), expected[0], expected[1]);
      errors.worst = std::max(errors.worst, std::isnan(error) ? 1e9 : error);
      errors.mean += error;
      ++count;
    }
  }
  errors.mean /= count;
  return errors;
}

// Lucas-Kanade assumes constant motion in the window, which biases the flow by about the change per
// pixel times the window. The affine parts are as large as 0.02 pixels of error allow.
const AffineMotion kGentleMotions[] = {
    AffineMotion(0, 0, 0.8, 0, 0, -0.5),
    AffineMotion(0, 0, -1.5, 0, 0, 0.0),
    AffineMotion(0, 0, 0.9, 0, 0, 1.2),
    AffineMotion::about(71.5, 55.5, 0.3, -0.2, 0.0015, -0.0015, 0.0015, 0.0015),
    AffineMotion::about(71.5, 55.5, -0.7, 0.8, 0.0015, 0.001, -0.001, -0.0015),
    AffineMotion::about(71.5, 55.5, 1.0, 0.6, 0.0, -0.002, 0.002, 0.0),
};

// Fails when the error on an affine motion of up to 1.5 pixels exceeds 0.02 pixels inside the
// border, or when the direction or the scale is wrong.
TEST_P(Motion, KernelsEstimateAffineMotion) {
  const ImageSize size{144, 112};
  for (const int frame_count :
       {11, 20}) {  // with 20 frames the described moment lies between two frames
    for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
      for (std::size_t m = 0; m < std::size(kGentleMotions); ++m) {
        const AffineMotion& motion = kGentleMotions[m];
        OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
        config.format = PixelFormat::kGray16;
        config.kernels.form = form;
        config.kernels.nt = frame_count;
        config.window = 11;
        config.window_sigma = 3.0f;
        const double described = (frame_count - 1) / 2.0;
        const auto frames = sequence(Texture(7, 8.0, 16.0), motion, size, frame_count, described);
        const Results got = results(config, frames);
        const auto last = static_cast<std::size_t>(frame_count - 1);
        EXPECT_EQ(got.infos[last].described_sequence,
                  static_cast<std::uint64_t>(frame_count - 1 - (frame_count - 1) / 2));
        EXPECT_EQ(static_cast<double>(got.infos[last].delay_frames), described);
        const Errors errors =
            errors_of(got.planes[last], 12, [&](int x, int y) { return motion.velocity(x, y); });
        EXPECT_LE(errors.worst, 0.02)
            << "motion " << m << ", frames " << frame_count << ", mean " << errors.mean;
      }
    }
  }
}

struct Preset {
  const char* name;
  OpticalFlowConfig (*make)(ImageSize) noexcept;
};
constexpr Preset kPresets[] = {{"fast", &OpticalFlowConfig::fast},
                               {"quality", &OpticalFlowConfig::quality},
                               {"best", &OpticalFlowConfig::best}};

// Fails when the error on a motion of up to 6 pixels exceeds 0.02 pixels inside the border. With
// any preset the result is the displacement from the described frame to the next. The variational
// solver may be wrong by 0.03 pixels: its smoothness term holds the flow back where it changes.
TEST_P(Motion, ThePyramidEstimatesFastMotion) {
  const ImageSize size{160, 128};
  const AffineMotion motions[] = {
      AffineMotion(0, 0, 6.0, 0, 0, 0.0),
      AffineMotion(0, 0, -3.7, 0, 0, 4.6),
      AffineMotion(0, 0, 0.4, 0, 0, -0.3),
      AffineMotion::about(79.5, 63.5, 4.0, -2.5, 0.0015, -0.0015, 0.0015, 0.0015),
      AffineMotion::about(79.5, 63.5, -1.7, 0.8, 0.0025, 0.001, -0.001, -0.0025),
      AffineMotion::about(79.5, 63.5, 1.0, 0.6, 0.0, -0.003, 0.003, 0.0),
  };
  for (std::size_t m = 0; m < std::size(motions); ++m) {
    const AffineMotion& motion = motions[m];
    const auto frames = sequence(Texture(9, 8.0, 16.0), motion, size, 2, 0);
    for (const Preset& preset : kPresets) {
      SCOPED_TRACE(std::string(preset.name) + ", motion " + std::to_string(m));
      OpticalFlowConfig config = preset.make(size);
      config.format = PixelFormat::kGray16;
      config.pyramid.warps = config.pyramid.coarse_warps = 4;
      const Results got = results(config, frames);
      EXPECT_EQ(got.infos[1].described_sequence, 0u);
      const Errors errors =
          errors_of(got.planes[1], 20, [&](int x, int y) { return motion.displacement(x, y); });
      const bool variational = config.pyramid.solver == FlowSolver::kVariational;
      EXPECT_LE(errors.worst, variational ? 0.03 : 0.02) << "mean " << errors.mean;
    }
  }
}

// Fails when the flow belongs to another moment than the described one. The scene accelerates by
// four times the tolerance per frame.
TEST_P(Motion, TheFlowBelongsToTheDescribedMoment) {
  const ImageSize size{96, 80};
  constexpr double kSpeed = 0.2;
  constexpr double kFaster = 0.06;  // pixels per frame, each frame
  struct Case {
    FlowMethod method;
    int frames;
  };
  for (const Case& one : {Case{FlowMethod::kKernels, 2},
                          {FlowMethod::kKernels, 3},
                          {FlowMethod::kKernels, 6},
                          {FlowMethod::kKernels, 9},
                          {FlowMethod::kPyramid, 2}}) {
    const bool pyramid = one.method == FlowMethod::kPyramid;
    SCOPED_TRACE((pyramid ? "pyramid " : "kernels ") + std::to_string(one.frames));
    // A smoother texture for the kernels, whose derivatives over a few frames are coarse.
    const Texture texture(7, pyramid ? 8.0 : 16.0, pyramid ? 16.0 : 32.0);
    OpticalFlowConfig config = OpticalFlowConfig::fast(size);
    config.format = PixelFormat::kGray16;
    config.method = one.method;
    config.kernels.nt = one.frames;
    if (!pyramid) config.window = 11;
    // More frames than the window, so that the oldest frames have left it.
    std::vector<FrameBuffer> frames;
    for (int f = 0; f < one.frames + 2; ++f) {
      const double traveled = kSpeed * f + 0.5 * kFaster * f * f;
      test::PlaneD plane(size.width, size.height);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x)
          plane.at(x, y) = texture(x - traveled, y + 0.5 * traveled);
      }
      frames.emplace_back(size, config.format);
      frames.back().fill(plane);
    }
    const Results got = results(config, frames);
    const auto last = frames.size() - 1;
    const double age = static_cast<double>(got.infos[last].delay_frames);
    // The kernels estimate a velocity, the pyramid the displacement to the next frame.
    const double moment = static_cast<double>(last) - age + (pyramid ? 0.5 : 0.0);
    const double speed = kSpeed + kFaster * moment;
    const Errors errors = errors_of(got.planes[last], 12, [&](int, int) {
      return std::array<double, 2>{speed, -0.5 * speed};
    });
    EXPECT_LE(errors.mean, 0.015) << "an error of half a frame is 0.034";
  }
}

// Fails when a still scene has motion.
TEST_P(Motion, AStillSceneHasNoMotion) {
  const ImageSize size{64, 48};
  const auto frames = sequence(Texture(4), AffineMotion(0, 0, 0, 0, 0, 0), size, 8, 0.0);
  OpticalFlowConfig kernels = OpticalFlowConfig::with_kernels(size);
  kernels.kernels.nt = 5;
  for (OpticalFlowConfig config :
       {kernels, OpticalFlowConfig::fast(size), OpticalFlowConfig::quality(size)}) {
    config.format = PixelFormat::kGray16;
    const Results got = results(config, frames);
    const Errors errors = errors_of(got.planes[7], 0, [](int, int) {
      return std::array<double, 2>{0.0, 0.0};
    });
    EXPECT_LE(errors.worst, 1e-3);
  }
}

struct Score {
  double end_point = 0.0;
  double angle = 0.0;
  double end_point_confident = 0.0;  ///< on the most confident half
  int pixels = 0;
};

Score score(const std::vector<test::PlaneF>& planes, const test::FlowField& truth, int border,
            const test::PlaneD* mask) {
  struct Sample {
    float confidence;
    double end_point;
  };
  std::vector<Sample> samples;
  Score result;
  for (int y = border; y < truth.u.height - border; ++y) {
    for (int x = border; x < truth.u.width - border; ++x) {
      const double tu = static_cast<double>(truth.u.at(x, y));
      const double tv = static_cast<double>(truth.v.at(x, y));
      if (std::abs(tu) > 1e9 || std::abs(tv) > 1e9 || (mask != nullptr && mask->at(x, y) < 128.0))
        continue;
      // Flow that is marked invalid counts as no motion, so that every pixel counts.
      const float mu = planes[0].at(x, y);
      const float mv = planes[1].at(x, y);
      const double u = std::isnan(mu) ? 0.0 : static_cast<double>(mu);
      const double v = std::isnan(mv) ? 0.0 : static_cast<double>(mv);
      const double error = test::end_point_error(u, v, tu, tv);
      result.end_point += error;
      result.angle += test::angular_error(u, v, tu, tv);
      samples.push_back({planes[2].at(x, y), error});
    }
  }
  result.pixels = static_cast<int>(samples.size());
  result.end_point /= result.pixels;
  result.angle /= result.pixels;
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.confidence > b.confidence; });
  samples.resize(samples.size() / 2);
  for (const Sample& sample : samples) result.end_point_confident += sample.end_point;
  result.end_point_confident /= static_cast<double>(samples.size());
  return result;
}

std::vector<FrameBuffer> load(const std::string& folder, const char* pattern, int first, int last) {
  std::vector<FrameBuffer> frames;
  for (int f = first; f <= last; ++f) {
    char name[64];
    std::snprintf(name, sizeof(name), pattern, f);
    const auto image = test::read_pgm(folder + name);
    if (!image) return {};
    frames.emplace_back(image->size(), PixelFormat::kGray8);
    frames.back().fill(*image);
  }
  return frames;
}

void print(const char* what, const Score& score) {
  std::printf("%s: end-point %.4f px, angle %.3f degrees, most confident half %.4f px, %d pixels\n",
              what, score.end_point, score.angle, score.end_point_confident, score.pixels);
}

// Fails when the error of the paper's operator on Yosemite without the sky and 12 pixels of border
// exceeds 0.13 pixels or 2.6 degrees, or 0.07 pixels on the most confident half.
TEST_P(Motion, YosemiteWithoutSky) {
  const std::string folder = test::data_folder() + "/flow/yosemite/";
  const auto truth = test::read_flo(folder + "flow09.flo");
  const auto mask = test::read_pgm(folder + "mask_nosky.pgm");
  if (!truth || !mask) GTEST_SKIP() << "no ground truth in OCELLUS_TEST_DATA (" << folder << ")";
  // 15 frames with frame 9 in the middle.
  const auto frames = load(folder, "yos%02d.pgm", 2, 16);
  ASSERT_EQ(frames.size(), 15u);
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels({316, 252});
  config.kernels.nt = 15;
  for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
    config.kernels.form = form;
    const Results got = results(config, frames);
    EXPECT_EQ(got.infos[14].described_sequence, 7u);
    const Score result = score(got.planes[14], *truth, 12, &*mask);
    print("Yosemite without sky", result);
    EXPECT_LE(result.end_point, 0.13);
    EXPECT_LE(result.angle, 2.6);
    EXPECT_LE(result.end_point_confident, 0.07);
  }
}

// Fails when the end-point or the angular error of a preset exceeds its documented value by more
// than 2 percent.
TEST_P(Motion, PresetsOnTwoFrames) {
  struct Documented {
    double end_point;
    double angle;
  };
  // In the order of kPresets and of kFlowSequences.
  constexpr Documented kDocumented[][5] = {
      {{0.195, 6.36}, {0.280, 2.72}, {0.255, 3.63}, {0.373, 3.94}, {0.173, 3.81}},
      {{0.107, 3.46}, {0.183, 2.18}, {0.159, 2.40}, {0.193, 2.44}, {0.110, 2.28}},
      {{0.083, 2.70}, {0.171, 2.08}, {0.131, 1.94}, {0.160, 1.89}, {0.109, 2.21}}};
  int compared = 0;
  for (std::size_t i = 0; i < std::size(kDocumented[0]); ++i) {
    const test::FlowSequence& sequence = test::kFlowSequences[i];
    const std::string folder = test::data_folder() + "/";
    const auto truth = test::read_flo(folder + sequence.truth);
    if (!truth) continue;
    ++compared;
    const auto frames = load(folder, sequence.frames, sequence.described, sequence.described + 1);
    ASSERT_EQ(frames.size(), 2u);
    for (std::size_t p = 0; p < std::size(kPresets); ++p) {
      SCOPED_TRACE(std::string(sequence.name) + ", " + kPresets[p].name);
      const Results got = results(kPresets[p].make(truth->u.size()), frames);
      const Score result = score(got.planes[1], *truth, 0, nullptr);
      print((std::string(sequence.name) + ", " + kPresets[p].name).c_str(), result);
      EXPECT_LE(result.end_point, 1.02 * kDocumented[p][i].end_point);
      EXPECT_LE(result.angle, 1.02 * kDocumented[p][i].angle);
    }
  }
  if (compared == 0) GTEST_SKIP() << "no ground truth in OCELLUS_TEST_DATA";
}

/// The frames that an operator gets for the flow of the described frame, as far as they exist.
std::vector<FrameBuffer> frames_for(const test::FlowSequence& sequence,
                                    const OpticalFlowConfig& config) {
  const OperatorInfo info = *OpticalFlow::info_for(config);
  const int last = sequence.described + static_cast<int>(std::ceil(info.delay_frames));
  return load(test::data_folder() + "/", sequence.frames,
              std::max(sequence.first, last + 1 - info.support_frames),
              std::min(sequence.last, last));
}

/// Reduces the temporal support of kernels to the frames that exist around the described one.
void fit_kernels(const test::FlowSequence& sequence, OpticalFlowConfig& config) {
  for (int& frames = config.kernels.nt; frames > 2; --frames) {
    const int after = frames / 2;
    if (sequence.described + after <= sequence.last &&
        sequence.described + after - frames + 1 >= sequence.first)
      return;
  }
}

// Fails when the deviation is too small: of the pixels whose deviation is below s, at least 68
// percent must have an end-point error below s and 95 percent one below 2 s, on every sequence of
// the test data, for every method and s from 0.05 to 1 pixel. Also fails when the deviation is so
// large that it says nothing. OCELLUS_CALIBRATION=FILE gets the curves as JSON.
TEST_P(Motion, DeviationIsCalibrated) {
  constexpr double kLimits[] = {0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.75, 1.0};
  constexpr int kFewest = 200;  // pixels from which a share says something
  struct Method {
    const char* name;
    OpticalFlowConfig config;
    double least_density;  ///< share of the pixels whose deviation must be below 0.56 pixels
  };
  const Method methods[] = {{"fast", OpticalFlowConfig::fast({}), 0.85},
                            {"quality", OpticalFlowConfig::quality({}), 0.85},
                            {"best", OpticalFlowConfig::best({}), 0.85},
                            {"kernels", OpticalFlowConfig::with_kernels(), 0.1}};
  std::string json;
  int compared = 0;
  for (const test::FlowSequence& sequence : test::kFlowSequences) {
    const auto truth = test::read_flo(test::data_folder() + "/" + sequence.truth);
    if (!truth) continue;
    ++compared;
    for (const Method& method : methods) {
      SCOPED_TRACE(std::string(sequence.name) + ", " + method.name);
      OpticalFlowConfig config = method.config;
      config.size = truth->u.size();
      config.deviation = true;
      if (config.method == FlowMethod::kKernels) fit_kernels(sequence, config);
      const auto frames = frames_for(sequence, config);
      ASSERT_GE(frames.size(), 2u);
      const Results got = results(config, frames);
      const std::vector<test::PlaneF>& planes = got.planes[frames.size() - 1];
      constexpr std::size_t kCount = std::size(kLimits);
      long below[kCount] = {};
      long within[kCount] = {};
      long within_double[kCount] = {};
      long pixels = 0;
      for (int y = 0; y < config.size.height; ++y) {
        for (int x = 0; x < config.size.width; ++x) {
          const double u = static_cast<double>(truth->u.at(x, y));
          const double v = static_cast<double>(truth->v.at(x, y));
          if (std::abs(u) > 1e9 || std::abs(v) > 1e9) continue;
          ++pixels;
          const double error = test::end_point_error(static_cast<double>(planes[0].at(x, y)),
                                                     static_cast<double>(planes[1].at(x, y)), u, v);
          const double deviation = static_cast<double>(planes[3].at(x, y));
          for (std::size_t s = kCount; s-- > 0 && deviation < kLimits[s];) {
            ++below[s];
            within[s] += error < kLimits[s] ? 1 : 0;
            within_double[s] += error < 2.0 * kLimits[s] ? 1 : 0;
          }
        }
      }
      std::printf("%s, %s:", sequence.name, method.name);
      json += std::string(json.empty() ? "[" : ",") + "\n{\"sequence\":\"" + sequence.name +
              "\",\"method\":\"" + method.name + "\",\"curve\":[";
      for (std::size_t s = 0; s < kCount; ++s) {
        const auto share = [&](long of) {
          return static_cast<double>(of) / static_cast<double>(std::max(1L, below[s]));
        };
        const double density = static_cast<double>(below[s]) / static_cast<double>(pixels);
        std::printf(" %.2f: %.0f%% %.1f %.1f", kLimits[s], 100.0 * density,
                    100.0 * share(within[s]), 100.0 * share(within_double[s]));
        char row[128];
        std::snprintf(row, sizeof(row), "%s[%g,%ld,%.4f,%.4f,%.4f]", s > 0 ? "," : "", kLimits[s],
                      below[s], density, share(within[s]), share(within_double[s]));
        json += row;
        if (below[s] < kFewest) continue;
        EXPECT_GE(share(within[s]), 0.68) << "below " << kLimits[s];
        EXPECT_GE(share(within_double[s]), 0.95) << "below " << kLimits[s];
      }
      json += "]}";
      std::printf("\n");
      const double density_at_056 = static_cast<double>(below[7]) / static_cast<double>(pixels);
      EXPECT_GE(density_at_056, method.least_density) << "of the pixels are below 0.56";
    }
  }
  if (compared == 0) GTEST_SKIP() << "no ground truth in OCELLUS_TEST_DATA";
  if (const char* file = std::getenv("OCELLUS_CALIBRATION"); file != nullptr)
    std::ofstream(file) << json << "\n]\n";
}

}  // namespace
}  // namespace ocellus
