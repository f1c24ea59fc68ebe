// SpatioTemporalFilter on every backend against equation (2) in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"

namespace ocellus {
namespace {

using test::expect_filter_matches;
using test::FrameBuffer;
using test::noise_frames;
using test::OnBackend;
using test::RandomTaps;
using test::Results;

class Filter : public OnBackend {
 protected:
  Results results(const SpatioTemporalFilterConfig& config, const std::vector<FrameBuffer>& frames,
                  int workers = 2, int in_flight = 1) const {
    return OnBackend::results<SpatioTemporalFilter>(config, frames, workers, in_flight);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Filter, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

class SlowFilter : public Filter {};
INSTANTIATE_TEST_SUITE_P(Backends, SlowFilter, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

SpatioTemporalFilterConfig small_config(KernelForm form, ImageSize size = {17, 13}) {
  SpatioTemporalFilterConfig config;
  config.size = size;
  config.depth = 2;
  config.kernels.form = form;
  config.kernels.nx = 5;
  config.kernels.ny = 7;
  config.kernels.nt = 4;
  config.kernels.convolutions = 2;
  return config;
}

/// All forms, or the one that OCELLUS_TEST_KERNELS names, where the kernels of the others do not
/// run.
const std::vector<KernelForm> kForms =
    std::getenv("OCELLUS_TEST_KERNELS") != nullptr
        ? std::vector{KernelForm::kFull}
        : std::vector{KernelForm::kUniform, KernelForm::kPerPixel, KernelForm::kFull};

std::string name_of(KernelForm form) {
  return form == KernelForm::kUniform ? "uniform"
         : form == KernelForm::kFull  ? "full"
                                      : "per pixel";
}

int most_terms(KernelForm form) {
  return form == KernelForm::kFull ? 1 : kMaxKernelTerms;
}

// Fails when the library's own kernels, uniform or per pixel, are not the Gaussian derivatives that
// the header defines.
// Promises: RES-003.
TEST_P(Filter, GaussianDerivatives) {
  for (const KernelForm form : kForms) {
    for (const auto& [nx, ny, nt] :
         {std::array{15, 15, 20}, {5, 5, 2}, {7, 3, 5}, {25, 25, 25}, {6, 4, 3}}) {
      SCOPED_TRACE(name_of(form) + " " + std::to_string(nx) + "x" + std::to_string(ny) + "x" +
                   std::to_string(nt));
      SpatioTemporalFilterConfig config;
      config.size = {29, 23};
      config.kernels.form = form;
      config.kernels.nx = nx;
      config.kernels.ny = ny;
      config.kernels.nt = nt;
      const auto frames = noise_frames(config.size, PixelFormat::kGray8, nt + 2, 1);
      const auto last = static_cast<std::size_t>(nt + 1);
      expect_filter_matches(config, frames, results(config, frames), {0, 1, last / 2, last}, 130);
    }
  }
}

// Fails when sigma does not grow with the distance from the fovea as the header defines, or when a
// pixel uses the kernel of another one.
// Promises: RES-003.
TEST_P(Filter, FoveatedDerivatives) {
  for (const KernelForm form : kForms) {
    if (form == KernelForm::kUniform) continue;
    SCOPED_TRACE(name_of(form));
    SpatioTemporalFilterConfig config;
    config.size = {37, 31};
    config.kernels.form = form;
    config.kernels.origin = KernelOrigin::kFoveated;
    config.kernels.fovea_radius = 12.0f;
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 22, 2);
    expect_filter_matches(config, frames, results(config, frames), {3, 21}, 250);
    config.kernels.fovea_x = 30.0f;
    config.kernels.fovea_y = 0.0f;
    expect_filter_matches(config, frames, results(config, frames), {21}, 250);
  }
}

// Fails when frames of a camera, with flat and dark parts, differ from the equation, with the
// default number of taps and each kind of kernel.
TEST_P(Filter, RealFrames) {
  SpatioTemporalFilterConfig config;
  config.size = {112, 80};
  const auto frames = test::real_frames({70, 60, config.size.width, config.size.height}, 21);
  if (frames.empty()) GTEST_SKIP() << "no frames in OCELLUS_TEST_DATA";
  for (const KernelForm form : kForms) {
    for (const KernelOrigin origin :
         {KernelOrigin::kGaussian, KernelOrigin::kFoveated, KernelOrigin::kCallback}) {
      if (origin == KernelOrigin::kFoveated && form == KernelForm::kUniform) continue;
      SCOPED_TRACE(name_of(form) + " origin " + std::to_string(static_cast<int>(origin)));
      config.kernels = KernelConfig{};
      config.kernels.form = form;
      config.kernels.origin = origin;
      RandomTaps taps{};
      if (origin == KernelOrigin::kCallback) {
        config.kernels.terms = most_terms(form);
        taps.use_in(config.kernels);
      }
      expect_filter_matches(config, frames, results(config, frames), {0, 9, 20}, 130);
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when a separable term is left out or added twice, for any number of terms and convolutions.
TEST_P(Filter, TermsAndConvolutions) {
  for (const KernelForm form : kForms) {
    for (int terms = 1; terms <= most_terms(form); ++terms) {
      for (int convolutions = 1; convolutions <= kMaxConvolutions; ++convolutions) {
        SCOPED_TRACE(name_of(form) + ", terms " + std::to_string(terms) + ", convolutions " +
                     std::to_string(convolutions));
        SpatioTemporalFilterConfig config = small_config(form);
        config.kernels.terms = terms;
        config.kernels.convolutions = convolutions;
        RandomTaps taps{};
        taps.seed = terms * 10 + convolutions;
        taps.use_in(config.kernels);
        const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 3);
        expect_filter_matches(config, frames, results(config, frames), {0, 2, 5}, 221);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Fails when a number of taps along an axis, even or odd, is read wrongly or has a wrong center.
TEST_P(Filter, EveryNumberOfTaps) {
  for (const KernelForm form : kForms) {
    for (int n = 1; n <= kMaxKernelTaps; ++n) {
      SCOPED_TRACE(name_of(form) + ", taps " + std::to_string(n));
      SpatioTemporalFilterConfig config = small_config(form, {19, 14});
      // Each axis takes every value from 1 to 25 in an order of its own.
      config.kernels.nx = n;
      config.kernels.ny = (n * 7) % 25 + 1;
      config.kernels.nt = (n * 11) % 25 + 1;
      RandomTaps taps{};
      taps.seed = n;
      taps.use_in(config.kernels);
      const auto frames = noise_frames(config.size, PixelFormat::kGray8, config.kernels.nt + 1, 4);
      const auto last = static_cast<std::size_t>(config.kernels.nt);
      expect_filter_matches(config, frames, results(config, frames), {0, last}, 90);
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when the borders of an image are wrong: odd, narrow, or smaller than the kernel.
TEST_P(Filter, EverySize) {
  const ImageSize sizes[] = {{1, 1},   {1, 2},   {2, 1},   {1, 19},  {19, 1},  {3, 3},  {5, 2},
                             {7, 31},  {15, 15}, {16, 16}, {17, 13}, {31, 29}, {32, 8}, {33, 65},
                             {64, 48}, {65, 17}, {97, 11}, {1, 300}, {300, 1}, {127, 3}};
  for (const KernelForm form : kForms) {
    for (const ImageSize size : sizes) {
      SCOPED_TRACE(name_of(form) + " " + std::to_string(size.width) + "x" +
                   std::to_string(size.height));
      SpatioTemporalFilterConfig config = small_config(form, size);
      config.kernels.nx = 9;
      config.kernels.ny = 6;
      RandomTaps taps{};
      taps.seed = size.width;
      taps.use_in(config.kernels);
      const auto frames = noise_frames(size, PixelFormat::kGray8, 6, 5);
      expect_filter_matches(config, frames, results(config, frames), {0, 5}, 350);
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when a format is scaled wrongly, a stride is ignored, or a frame must be aligned.
TEST_P(Filter, FormatsStridesAndAddresses) {
  for (const KernelForm form : kForms) {
    for (const PixelFormat format :
         {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
      for (const auto& [padding, offset] : {std::array{0, 0}, {1, 0}, {0, 1}, {13, 3}, {50, 7}}) {
        SCOPED_TRACE(name_of(form) + ", format " + std::to_string(static_cast<int>(format)) +
                     ", padding " + std::to_string(padding) + ", offset " + std::to_string(offset));
        SpatioTemporalFilterConfig config = small_config(form, {23, 11});
        config.format = format;
        RandomTaps taps{};
        taps.use_in(config.kernels);
        const auto frames = noise_frames(config.size, format, 5, 6, padding, offset);
        expect_filter_matches(config, frames, results(config, frames), {1, 4}, 253);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Fails when 16-bit frames are not scaled to the range of 8 bits. 257 times the 8-bit value is the
// same gray level.
TEST_P(Filter, Gray16AndGray8Agree) {
  SpatioTemporalFilterConfig config = small_config(KernelForm::kPerPixel, {40, 30});
  RandomTaps taps{};
  taps.use_in(config.kernels);
  const auto eight = noise_frames(config.size, PixelFormat::kGray8, 5, 7);
  std::vector<FrameBuffer> sixteen;
  for (const auto& frame : eight) {
    sixteen.emplace_back(config.size, PixelFormat::kGray16);
    sixteen.back().fill(frame.values());
  }
  const Results a = results(config, eight);
  config.format = PixelFormat::kGray16;
  const Results b = results(config, sixteen);
  for (std::size_t i = 0; i < a.planes[4][0].data.size(); ++i) {
    ASSERT_NEAR(a.planes[4][0].data[i], b.planes[4][0].data[i], 2e-4);
  }
}

// Fails when a region of interest differs from that part of the whole result.
TEST_P(Filter, RegionOfInterestIsACropOfTheWhole) {
  for (const KernelForm form : kForms) {
    for (const KernelOrigin origin : {KernelOrigin::kGaussian, KernelOrigin::kCallback}) {
      SpatioTemporalFilterConfig config = small_config(form, {45, 38});
      config.kernels.convolutions = 3;
      RandomTaps taps{};
      if (origin == KernelOrigin::kCallback) taps.use_in(config.kernels);
      const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 8);
      const Results whole = results(config, frames);
      for (const Rect roi : {Rect{0, 0, 45, 38},
                             {0, 0, 1, 1},
                             {44, 37, 1, 1},
                             {3, 5, 20, 17},
                             {17, 0, 28, 3},
                             {0, 20, 5, 18}}) {
        config.roi = roi;
        const Results part = results(config, frames);
        for (std::size_t f = 0; f < frames.size(); ++f) {
          for (std::size_t c = 0; c < 3; ++c) {
            for (int y = 0; y < roi.height; ++y) {
              for (int x = 0; x < roi.width; ++x) {
                ASSERT_NEAR(part.planes[f][c].at(x, y), whole.planes[f][c].at(roi.x + x, roi.y + y),
                            1e-4)
                    << name_of(form) << " frame " << f << " at (" << x << ", " << y << ") of "
                    << roi.width << "x" << roi.height;
              }
            }
          }
        }
      }
      config.roi = Rect{3, 5, 20, 17};
      expect_filter_matches(config, frames, results(config, frames), {5}, 400);
    }
  }
}

// Fails when the first frame does not replace missing frames of the warm-up, when the flag is wrong
// by a frame, or when the described frame is not the middle of the support.
TEST_P(Filter, WarmUpFrameByFrame) {
  for (const KernelForm form : kForms) {
    for (const int nt : {1, 2, 5, 8}) {
      SCOPED_TRACE(name_of(form) + ", frames " + std::to_string(nt));
      SpatioTemporalFilterConfig config = small_config(form);
      config.kernels.nt = nt;
      RandomTaps taps{};
      taps.use_in(config.kernels);
      const auto frames = noise_frames(config.size, PixelFormat::kGray8, nt + 3, 9);
      const Results got = results(config, frames);
      expect_filter_matches(config, frames, got, {}, 221);
      for (int f = 0; f < nt + 3; ++f) {
        const FrameInfo& info = got.infos[static_cast<std::size_t>(f)];
        EXPECT_EQ(info.warming_up(), f + 1 < nt) << "frame " << f;
        EXPECT_FALSE(info.bad_pixels());
        EXPECT_EQ(info.sequence, static_cast<std::uint64_t>(f));
        EXPECT_EQ(info.timestamp_ns, f * 1'000'000 + 7);
        const int described = std::max(0, f - (nt - 1) / 2);
        EXPECT_EQ(info.described_sequence, static_cast<std::uint64_t>(described)) << "frame " << f;
        EXPECT_EQ(info.described_timestamp_ns, described * 1'000'000 + 7);
        EXPECT_EQ(info.delay_frames, static_cast<float>(nt - 1) / 2.0f);
        EXPECT_GE(info.queue_ns, 0);
        EXPECT_GT(info.compute_ns, 0);
      }
    }
  }
}

// Fails when the ring of spatial sums differs from the direct sum after it has wrapped several
// times.
TEST_P(Filter, TheRingWraps) {
  for (const KernelForm form : kForms) {
    for (const int nt : {1, 2, 3, 7, 20}) {
      SCOPED_TRACE(name_of(form) + ", frames " + std::to_string(nt));
      SpatioTemporalFilterConfig config = small_config(form, {11, 9});
      config.kernels.nt = nt;
      RandomTaps taps{};
      taps.use_in(config.kernels);
      const int count = 3 * nt + 2;
      const auto frames = noise_frames(config.size, PixelFormat::kGray8, count, 10);
      const auto last = static_cast<std::size_t>(count - 1);
      expect_filter_matches(config, frames, results(config, frames),
                            {last, last - 1, last - static_cast<std::size_t>(nt)}, 99);
    }
  }
}

// Fails when the result of a frame with NaN looks valid anywhere.
TEST_P(Filter, BadFramesAreMarked) {
  for (const KernelForm form : kForms) {
    SpatioTemporalFilterConfig config = small_config(form);
    config.format = PixelFormat::kFloat32;
    config.kernels.convolutions = 3;
    auto frames = noise_frames(config.size, PixelFormat::kFloat32, 3, 14);
    frames.back().set(5, 5, std::numeric_limits<double>::quiet_NaN());
    const Results got = results(config, frames);
    for (const test::PlaneF& plane : got.planes.back())
      for (const float value : plane.data) ASSERT_TRUE(std::isnan(value)) << name_of(form);
  }
}

// Fails when half storage exceeds its tolerance, or is not used, so that results and footprint are
// those of float storage.
// Promises: RES-003.
TEST_P(Filter, HalfStorage) {
  for (const auto& [form, foveated] : {std::pair{KernelForm::kPerPixel, false},
                                       {KernelForm::kPerPixel, true},
                                       {KernelForm::kFull, false},
                                       {KernelForm::kFull, true}}) {
    if (std::find(kForms.begin(), kForms.end(), form) == kForms.end()) continue;
    SCOPED_TRACE(name_of(form));
    SpatioTemporalFilterConfig config;
    config.size = {41, 27};
    config.kernels.form = form;
    RandomTaps taps{};
    if (foveated) {
      config.kernels.origin = KernelOrigin::kFoveated;
    } else {
      config.kernels.nx = 11;
      config.kernels.nt = 8;
      config.kernels.terms = std::min(2, most_terms(form));
      taps.use_in(config.kernels);
    }
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 24, 16);
    const Results exact = results(config, frames);
    const auto whole = test::must(SpatioTemporalFilter::footprint(
        test::must(Engine::probe(test::engine_config(2, GetParam()))), config));
    config.storage = CoefficientStorage::kHalf;
    const auto halved = test::must(SpatioTemporalFilter::footprint(
        test::must(Engine::probe(test::engine_config(2, GetParam()))), config));
    const Results half = results(config, frames);
    expect_filter_matches(config, frames, half, {0, 10, 23}, 300, test::kHalfTolerance);
    EXPECT_FALSE(test::same_bytes(exact.planes[23][0], half.planes[23][0]));
    EXPECT_LT(static_cast<double>(halved.host + halved.device),
              0.75 * static_cast<double>(whole.host + whole.device));
  }
}

// Fails when the callback runs in another order than the header defines, for pixels outside the
// image, or after creation.
TEST_P(Filter, TheCallbackIsCalledInOrder) {
  struct Calls {
    std::vector<std::array<int, 4>> list;
    static void write(void* self, int x, int y, int convolution, int term, float* wx, float* wy,
                      float* wt) {
      static_cast<Calls*>(self)->list.push_back({y, x, convolution, term});
      std::fill_n(wx, wy == nullptr ? 3 * 2 * 2 : 3, 0.1f);
      if (wy != nullptr) std::fill_n(wy, 2, 0.1f);
      if (wt != nullptr) std::fill_n(wt, 2, 0.1f);
    }
  };
  for (const KernelForm form : kForms) {
    Calls calls;
    SpatioTemporalFilterConfig config;
    config.size = {5, 4};
    config.kernels = KernelConfig{.form = form,
                                  .origin = KernelOrigin::kCallback,
                                  .nx = 3,
                                  .ny = 2,
                                  .nt = 2,
                                  .convolutions = 2,
                                  .terms = std::min(3, most_terms(form)),
                                  .callback = &Calls::write,
                                  .user = &calls,
                                  .path = {}};
    auto rig = this->rig<SpatioTemporalFilter>(config);
    std::vector<std::array<int, 4>> expected;
    const bool uniform = form == KernelForm::kUniform;
    for (int y = 0; y < (uniform ? 1 : 4); ++y) {
      for (int x = 0; x < (uniform ? 1 : 5); ++x) {
        for (int c = 0; c < 2; ++c) {
          for (int r = 0; r < config.kernels.terms; ++r) expected.push_back({y, x, c, r});
        }
      }
    }
    EXPECT_EQ(calls.list, expected) << name_of(form);
    (void)send(rig.op, noise_frames(config.size, PixelFormat::kGray8, 3, 21));
    EXPECT_EQ(calls.list.size(), expected.size()) << "called after creation";
  }
}

// Fails when the results depend on the number of workers.
TEST_P(Filter, WorkersDoNotChangeTheResult) {
  for (const KernelForm form : kForms) {
    SpatioTemporalFilterConfig config = small_config(form, {45, 38});
    RandomTaps taps{};
    taps.use_in(config.kernels);
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 26);
    const Results one = results(config, frames, 1);
    for (const int workers : {2, 3, 5, 8}) {
      const Results many = results(config, frames, workers);
      for (std::size_t f = 0; f < frames.size(); ++f)
        for (std::size_t c = 0; c < 2; ++c)
          ASSERT_TRUE(test::same_bytes(one.planes[f][c], many.planes[f][c]))
              << name_of(form) << ", " << workers << " workers";
    }
  }
}

// The bytes of full kernels of one convolution: table I of Ohmura et al. 2011. Fails when a bank or
// an operator has other bytes, or an operator that the memory cannot hold is created, or its error
// does not tell the bytes.
TEST_P(Filter, BytesOfFullKernels) {
  const EngineInfo engine = test::must(Engine::probe(test::engine_config(2, GetParam())));
  RandomTaps taps{};
  const struct {
    ImageSize size;
    int taps;
    double gigabytes;
  } table[] = {{{320, 240}, 15, 0.97}, {{320, 240}, 20, 2.29}, {{320, 240}, 25, 4.47},
               {{512, 384}, 15, 2.47}, {{512, 384}, 20, 5.86}, {{512, 384}, 25, 11.44},
               {{640, 480}, 15, 3.86}, {{640, 480}, 20, 9.16}, {{640, 480}, 25, 17.88}};
  for (const auto& [size, n, gigabytes] : table) {
    SpatioTemporalFilterConfig config = small_config(KernelForm::kFull, size);
    config.kernels.nx = config.kernels.ny = config.kernels.nt = n;
    config.kernels.convolutions = 1;
    taps.use_in(config.kernels);
    const Footprint bytes = test::must(SpatioTemporalFilter::footprint(engine, config));
    const auto most = static_cast<double>(bytes.host + bytes.device);
    // The operator also keeps nt frames.
    EXPECT_NEAR(most / 1073741824.0, gigabytes, 0.01 * gigabytes) << size.width << ", " << n;
  }
  SpatioTemporalFilterConfig config = small_config(KernelForm::kFull, {8192, 8192});
  config.kernels.nx = config.kernels.ny = config.kernels.nt = kMaxKernelTaps;
  config.kernels.convolutions = kMaxConvolutions;
  taps.use_in(config.kernels);
  EngineConfig settings = test::engine_config(2, GetParam());
  settings.memory = test::must(SpatioTemporalFilter::footprint(engine, config));
  const auto refused = Engine::create(settings);
  ASSERT_FALSE(refused);
  test::expect_words(refused.error(), Status::kOutOfMemory,
                     {std::to_string(std::max(settings.memory.host, settings.memory.device))});
}

// Fails when a full HD image is divided wrongly between workers, or when an offset overflows.
// Compares samples.
TEST_P(SlowFilter, FullHd) {
  for (const KernelForm form : kForms) {
    SpatioTemporalFilterConfig config;
    config.size = {1920, 1080};
    config.kernels.form = form;
    config.kernels.nt = 5;
    if (form == KernelForm::kFull) config.kernels.nx = config.kernels.ny = 5;  // 3 GB of taps
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 7, 22);
    expect_filter_matches(config, frames, results(config, frames), {0, 6}, 4000);
  }
}

// Fails when half storage of a large image, which has larger tiles on a device, gives a pixel the
// taps of another one or exceeds its tolerance.
TEST_P(SlowFilter, LargeImageInHalf) {
  for (const auto& [nx, ny, nt, terms] :
       {std::array{7, 6, 4, 2}, {17, 4, 3, 1}, {25, 25, 2, 1}, {15, 15, 20, 1}}) {
    SCOPED_TRACE(std::to_string(nx) + "x" + std::to_string(ny) + "x" + std::to_string(nt));
    SpatioTemporalFilterConfig config;
    config.size = {641, 479};
    config.format = PixelFormat::kGray16;
    config.storage = CoefficientStorage::kHalf;
    config.kernels.form = KernelForm::kPerPixel;
    config.kernels.nx = nx;
    config.kernels.ny = ny;
    config.kernels.nt = nt;
    config.kernels.terms = terms;
    RandomTaps taps{};
    taps.use_in(config.kernels);
    const auto frames = noise_frames(config.size, config.format, nt + 2, 25);
    const auto last = static_cast<std::size_t>(nt + 1);
    expect_filter_matches(config, frames, results(config, frames), {0, 1, last}, 3000,
                          test::kHalfTolerance);
    if (HasFatalFailure()) return;
  }
}

// Fails when kernels with all numbers at their largest differ from the equation.
TEST_P(SlowFilter, TheLargestKernels) {
  for (const KernelForm form : kForms) {
    SpatioTemporalFilterConfig config;
    config.size = {64, 48};
    config.kernels.form = form;
    config.kernels.nx = config.kernels.ny = config.kernels.nt = kMaxKernelTaps;
    config.kernels.convolutions = kMaxConvolutions;
    config.kernels.terms = most_terms(form);
    if (form == KernelForm::kFull) config.size = {37, 11};
    RandomTaps taps{};
    taps.use_in(config.kernels);
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 27, 23);
    expect_filter_matches(config, frames, results(config, frames), {0, 26}, 400);
  }
}

// Fails when the default kernels differ from the equation at any pixel of 64x48, in the warm-up or
// after it.
TEST_P(SlowFilter, EveryPixelOfTheDefaultKernels) {
  for (const KernelOrigin origin :
       {KernelOrigin::kGaussian, KernelOrigin::kFoveated, KernelOrigin::kCallback}) {
    SpatioTemporalFilterConfig config;
    config.size = {64, 48};
    config.format = PixelFormat::kGray16;
    config.kernels.form = KernelForm::kPerPixel;
    config.kernels.origin = origin;
    RandomTaps taps{};
    if (origin == KernelOrigin::kCallback) taps.use_in(config.kernels);
    const auto frames = noise_frames(config.size, PixelFormat::kGray16, 42, 24);
    expect_filter_matches(config, frames, results(config, frames), {0, 7, 18, 19, 41}, 1u << 20);
  }
}

}  // namespace
}  // namespace ocellus
