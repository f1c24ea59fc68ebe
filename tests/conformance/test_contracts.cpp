// What both operators promise beside numbers: errors that name what was wrong, memory, lifetimes,
// the backend that really ran.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "core/backend.h"
#include "ocellus/buffer.h"
#include "optical_flow/backend.h"
#include "support/fork.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::noise_frames;
using test::OnBackend;
using test::RandomTaps;
using test::Results;

class Contracts : public OnBackend {
 protected:
  EngineInfo probed() const {
    return test::must(Engine::probe(test::engine_config(2, GetParam())));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Contracts, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

OpticalFlowConfig flow_config(ImageSize size = {24, 18}) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.depth = 2;
  config.kernels.nx = config.kernels.ny = 5;
  config.kernels.nt = 3;
  return config;
}

SpatioTemporalFilterConfig filter_config(ImageSize size = {24, 18}) {
  SpatioTemporalFilterConfig config;
  config.size = size;
  config.depth = 2;
  config.kernels.nx = config.kernels.ny = 5;
  config.kernels.nt = 3;
  return config;
}

void expect_words(const Error& error, Status status, const std::vector<std::string>& words) {
  EXPECT_EQ(error.status, status) << error.text;
  for (const std::string& word : words) {
    EXPECT_NE(std::string(error.text).find(word), std::string::npos)
        << "\"" << word << "\" is missing in: " << error.text;
  }
}

// Fails when the results come from another backend than the one asked for: the table of the
// backend, the memory that is taken and the engine's own words must agree.
TEST_P(Contracts, TheBackendAskedForReallyRuns) {
  const bool cuda = GetParam() == BackendChoice::kCuda;
  const EngineInfo info = probed();
  EXPECT_EQ(info.backend, cuda ? BackendKind::kCuda : BackendKind::kCpu);
  const detail::Backend* backend = detail::find_backend(info.backend);
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(backend->kind, info.backend);
  const auto plan = test::must(detail::make_plan(flow_config()));
  EXPECT_STREQ(detail::make_flow(info, plan, nullptr)->backend(), cuda ? "cuda" : "cpu");
  const Footprint needs = test::must(OpticalFlow::footprint(info, flow_config()));
  EXPECT_EQ(needs.device > 0, cuda)
      << "an operator on a device takes device memory, one on the CPU takes none";
  const auto rig = this->rig<OpticalFlow>(flow_config());
  EXPECT_EQ(rig.engine.info().backend, info.backend);
  EXPECT_EQ(rig.engine.memory_use().used.device > 0, cuda);
}

struct BadFlow {
  const char* name;
  std::function<void(OpticalFlowConfig&)> spoil;
  std::vector<std::string> words;
};

// Fails when a bad configuration is taken, or refused without naming the field, its value and its
// range.
TEST_P(Contracts, BadFlowConfigurationsAreNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto pyramid = [](auto change) {
    return [change](OpticalFlowConfig& c) {
      c.method = FlowMethod::kPyramid;
      change(c);
    };
  };
  const std::vector<BadFlow> table = {
      {"size 0",
       [](auto& c) {
         c.size = {0, 0};
       },
       {"size", "0x0", "1", "16384"}},
      {"width 0", [](auto& c) { c.size.width = 0; }, {"size", "0x18"}},
      {"height negative", [](auto& c) { c.size.height = -5; }, {"size", "24x-5"}},
      {"width too large",
       [](auto& c) { c.size.width = kMaxImageSide + 1; },
       {"size", "16385", "16384"}},
      {"height too large",
       [](auto& c) { c.size.height = std::numeric_limits<int>::max(); },
       {"size", "2147483647"}},
      {"format",
       [](auto& c) { c.format = static_cast<PixelFormat>(9); },
       {"format", "9", "kGray8"}},
      {"roi outside",
       [](auto& c) {
         c.roi = {20, 0, 5, 5};
       },
       {"roi", "5x5", "(20, 0)", "24x18"}},
      {"roi of no size off the corner",
       [](auto& c) {
         c.roi = {3, 3, 0, 0};
       },
       {"roi", "0x0", "(3, 3)"}},
      {"roi below",
       [](auto& c) {
         c.roi = {0, 17, 3, 2};
       },
       {"roi", "24x18"}},
      {"roi negative",
       [](auto& c) {
         c.roi = {-1, 0, 5, 5};
       },
       {"roi", "-1"}},
      {"roi half empty",
       [](auto& c) {
         c.roi = {0, 0, 5, 0};
       },
       {"roi", "5x0"}},
      {"roi overflow",
       [](auto& c) {
         c.roi = {5, 5, std::numeric_limits<int>::max(), 5};
       },
       {"roi"}},
      {"depth 0", [](auto& c) { c.depth = 0; }, {"depth", "0", "1", "8"}},
      {"depth 9", [](auto& c) { c.depth = 9; }, {"depth", "9", "8"}},
      {"method",
       [](auto& c) { c.method = static_cast<FlowMethod>(7); },
       {"method is 7", "0 (kernels)", "1 (pyramid)"}},
      {"form",
       [](auto& c) { c.kernels.form = static_cast<KernelForm>(7); },
       {"kernels.form", "7", "kUniform"}},
      {"origin",
       [](auto& c) { c.kernels.origin = static_cast<KernelOrigin>(7); },
       {"kernels.origin", "7", "kGaussian"}},
      {"nx 0", [](auto& c) { c.kernels.nx = 0; }, {"kernels.nx", "0", "1", "25"}},
      {"nx 26", [](auto& c) { c.kernels.nx = 26; }, {"kernels.nx", "26", "25"}},
      {"ny -1", [](auto& c) { c.kernels.ny = -1; }, {"kernels.ny", "-1", "25"}},
      {"nt 26", [](auto& c) { c.kernels.nt = 26; }, {"kernels.nt", "26", "25"}},
      {"nt 0", [](auto& c) { c.kernels.nt = 0; }, {"kernels.nt", "0", "25"}},
      {"derivative over one tap", [](auto& c) { c.kernels.nx = 1; }, {"kernels", "1x5x3", "2"}},
      {"convolutions 0",
       [](auto& c) { c.kernels.convolutions = 0; },
       {"kernels.convolutions", "0", "8"}},
      {"convolutions 9",
       [](auto& c) { c.kernels.convolutions = 9; },
       {"kernels.convolutions", "9", "8"}},
      {"convolutions 4",
       [](auto& c) { c.kernels.convolutions = 4; },
       {"kernels.convolutions", "4", "3"}},
      {"terms 0", [](auto& c) { c.kernels.terms = 0; }, {"kernels.terms", "0", "4"}},
      {"terms 5", [](auto& c) { c.kernels.terms = 5; }, {"kernels.terms", "5", "4"}},
      {"terms of the library's own",
       [](auto& c) { c.kernels.terms = 2; },
       {"kernels.terms", "2", "1"}},
      {"sigma_space 0",
       [](auto& c) { c.kernels.sigma_space = 0.0f; },
       {"sigma_space is 0", "0.1", "1000"}},
      {"sigma_space negative",
       [](auto& c) { c.kernels.sigma_space = -1.0f; },
       {"sigma_space is -1", "0.1", "1000"}},
      {"sigma_space NaN",
       [=](auto& c) { c.kernels.sigma_space = nan; },
       {"sigma_space is nan", "0.1", "1000"}},
      {"sigma_time infinite",
       [=](auto& c) { c.kernels.sigma_time = infinity; },
       {"sigma_time is inf", "0.1", "1000"}},
      {"foveated uniform",
       [](auto& c) { c.kernels.origin = KernelOrigin::kFoveated; },
       {"kernels.form", "kPerPixel"}},
      {"fovea_radius 0",
       [](auto& c) {
         c.kernels.origin = KernelOrigin::kFoveated;
         c.kernels.form = KernelForm::kPerPixel;
         c.kernels.fovea_radius = 0.0f;
       },
       {"fovea_radius is 0", "0.001", "1e+06"}},
      {"fovea NaN",
       [=](auto& c) {
         c.kernels.origin = KernelOrigin::kFoveated;
         c.kernels.form = KernelForm::kPerPixel;
         c.kernels.fovea_y = nan;
       },
       {"fovea_y is nan", "-1", "16384"}},
      {"fovea infinite",
       [=](auto& c) {
         c.kernels.origin = KernelOrigin::kFoveated;
         c.kernels.form = KernelForm::kPerPixel;
         c.kernels.fovea_x = infinity;
       },
       {"fovea_x is inf", "-1", "16384"}},
      {"no callback",
       [](auto& c) { c.kernels.origin = KernelOrigin::kCallback; },
       {"kernels.callback", "null"}},
      {"no path", [](auto& c) { c.kernels.origin = KernelOrigin::kFile; }, {"kernels.path"}},
      {"storage",
       [](auto& c) {
         c.kernels.form = KernelForm::kPerPixel;
         c.storage = static_cast<CoefficientStorage>(5);
       },
       {"storage is 5", "0 (float)", "1 (half)"}},
      {"window 1", [](auto& c) { c.window = 1; }, {"window is 1", "3", "31"}},
      {"window even", [](auto& c) { c.window = 8; }, {"window is 8", "odd"}},
      {"window 33", [](auto& c) { c.window = 33; }, {"window is 33", "31"}},
      {"window_sigma 0",
       [](auto& c) { c.window_sigma = 0.0f; },
       {"window_sigma is 0", "0.1", "1000"}},
      {"window_sigma NaN",
       [=](auto& c) { c.window_sigma = nan; },
       {"window_sigma is nan", "0.1", "1000"}},
      {"window_sigma infinite",
       [=](auto& c) { c.window_sigma = infinity; },
       {"window_sigma is inf", "0.1", "1000"}},
      {"window_weight",
       [](auto& c) { c.window_weight = static_cast<WindowWeight>(2); },
       {"window_weight is 2", "0 (box)", "1 (gaussian)"}},
      {"threshold negative",
       [](auto& c) { c.confidence_threshold = -1.0f; },
       {"confidence_threshold is -1", "0"}},
      {"threshold NaN",
       [=](auto& c) { c.confidence_threshold = nan; },
       {"confidence_threshold is nan"}},
      {"threshold infinite",
       [=](auto& c) { c.confidence_threshold = infinity; },
       {"confidence_threshold is inf"}},
      {"invalid",
       [](auto& c) { c.invalid = static_cast<InvalidFlow>(4); },
       {"invalid is 4", "0 (nan)", "1 (zero)"}},
      {"levels 0", pyramid([](auto& c) { c.pyramid.levels = 0; }), {"levels is 0", "1", "6"}},
      {"levels 7", pyramid([](auto& c) { c.pyramid.levels = 7; }), {"levels is 7", "6"}},
      {"frames 1",
       pyramid([](auto& c) { c.pyramid.window_frames = 1; }),
       {"window_frames is 1", "2", "7"}},
      {"frames 8",
       pyramid([](auto& c) { c.pyramid.window_frames = 8; }),
       {"window_frames is 8", "7"}},
      {"warps 0", pyramid([](auto& c) { c.pyramid.warps = 0; }), {"warps is 0", "1", "10"}},
      {"warps 11", pyramid([](auto& c) { c.pyramid.warps = 11; }), {"warps is 11", "10"}},
      {"coarse_warps 0",
       pyramid([](auto& c) { c.pyramid.coarse_warps = 0; }),
       {"coarse_warps is 0", "1", "10"}},
      {"coarse_warps 11",
       pyramid([](auto& c) { c.pyramid.coarse_warps = 11; }),
       {"coarse_warps is 11", "10"}},
      {"gradient_floor negative",
       pyramid([](auto& c) { c.pyramid.gradient_floor = -2.0f; }),
       {"gradient_floor is -2", "0"}},
      {"gradient_floor NaN",
       pyramid([=](auto& c) { c.pyramid.gradient_floor = nan; }),
       {"gradient_floor is nan"}},
      {"robust negative",
       pyramid([](auto& c) { c.pyramid.robust = -1.0f; }),
       {"robust is -1", "0"}},
      {"robust infinite",
       pyramid([=](auto& c) { c.pyramid.robust = infinity; }),
       {"robust is inf"}},
      {"smoothing",
       pyramid([](auto& c) { c.pyramid.smoothing = static_cast<FlowSmoothing>(3); }),
       {"smoothing is 3", "0 (none)", "1 (before-warp)", "2 (confidence)"}},
      {"interpolation",
       pyramid([](auto& c) { c.pyramid.interpolation = static_cast<Interpolation>(2); }),
       {"interpolation is 2", "0 (linear)", "1 (cubic)"}},
      {"preset",
       pyramid([](auto& c) { c.preset = static_cast<FlowPreset>(2); }),
       {"preset is 2", "0 (fast)", "1 (quality)"}},
      {"smoothing_size even",
       pyramid([](auto& c) { c.pyramid.smoothing_size = 10; }),
       {"smoothing_size is 10", "odd", "31"}},
      {"smoothing_size 1",
       pyramid([](auto& c) { c.pyramid.smoothing_size = 1; }),
       {"smoothing_size is 1", "3"}},
      {"smoothing_size 33",
       pyramid([](auto& c) { c.pyramid.smoothing_size = 33; }),
       {"smoothing_size is 33", "31"}},
      {"median 4",
       pyramid([](auto& c) { c.pyramid.median = 4; }),
       {"median is 4", "0 (none)", "3 (3x3)", "5 (5x5)"}},
      {"ridge negative", pyramid([](auto& c) { c.pyramid.ridge = -0.5f; }), {"ridge is -0.5", "0"}},
      {"ridge NaN", pyramid([=](auto& c) { c.pyramid.ridge = nan; }), {"ridge is nan"}},
      {"ridge infinite", pyramid([=](auto& c) { c.pyramid.ridge = infinity; }), {"ridge is inf"}},
  };
  EngineConfig settings = test::engine_config(2, GetParam());
  settings.memory = test::must(OpticalFlow::footprint(probed(), flow_config()));
  Engine engine = test::must(Engine::create(settings));
  for (const BadFlow& bad : table) {
    SCOPED_TRACE(bad.name);
    OpticalFlowConfig config = flow_config();
    bad.spoil(config);
    const auto made = OpticalFlow::create(engine, config);
    if (made) {
      ADD_FAILURE() << "was taken";
      continue;
    }
    expect_words(made.error(), Status::kInvalidArgument, bad.words);
    const auto counted = OpticalFlow::footprint(engine.info(), config);
    if (counted) {
      ADD_FAILURE() << "footprint took what create refuses";
    } else {
      EXPECT_STREQ(counted.error().text, made.error().text)
          << "footprint and create must say the same";
    }
    EXPECT_EQ(engine.memory_use().used, Footprint{}) << "a refused operator keeps memory";
  }
  EXPECT_TRUE(OpticalFlow::create(engine, flow_config()))
      << "the good configuration must still be taken";
}

// Fails when the filter takes a configuration that the flow refuses.
TEST_P(Contracts, BadFilterConfigurationsAreNamed) {
  struct Bad {
    std::function<void(SpatioTemporalFilterConfig&)> spoil;
    std::vector<std::string> words;
  };
  const std::vector<Bad> table = {
      {[](auto& c) {
         c.size = {0, 4};
       },
       {"size", "0x4"}},
      {[](auto& c) { c.format = static_cast<PixelFormat>(3); }, {"format", "3"}},
      {[](auto& c) {
         c.roi = {0, 0, 25, 1};
       },
       {"roi", "25x1", "24x18"}},
      {[](auto& c) { c.depth = -1; }, {"depth", "-1", "8"}},
      {[](auto& c) { c.kernels.nt = 100; }, {"kernels.nt", "100", "25"}},
      {[](auto& c) { c.kernels.convolutions = 2; }, {"kernels.convolutions", "2", "3"}},
      {[](auto& c) { c.kernels.origin = KernelOrigin::kCallback; }, {"kernels.callback"}},
      {[](auto& c) {
         c.kernels.form = KernelForm::kPerPixel;
         c.storage = static_cast<CoefficientStorage>(2);
       },
       {"storage is 2", "0 (float)", "1 (half)"}},
  };
  Engine engine = test::must(Engine::create(test::engine_config(2, GetParam())));
  for (const Bad& bad : table) {
    SpatioTemporalFilterConfig config = filter_config();
    bad.spoil(config);
    const auto made = SpatioTemporalFilter::create(engine, config);
    ASSERT_FALSE(made) << bad.words[0];
    expect_words(made.error(), Status::kInvalidArgument, bad.words);
  }
}

// Fails when taps that are no numbers are taken, or the refusal does not say which.
TEST_P(Contracts, TapsThatAreNoNumbersAreRefused) {
  struct Spoiled {
    RandomTaps taps;
    float bad;
    static void write(void* self, int x, int y, int convolution, int term, float* wx, float* wy,
                      float* wt) {
      auto& spoiled = *static_cast<Spoiled*>(self);
      RandomTaps::write(&spoiled.taps, x, y, convolution, term, wx, wy, wt);
      if (x == 7 && y == 11 && convolution == 1) wt[2] = spoiled.bad;
    }
  };
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    SpatioTemporalFilterConfig config = filter_config();
    config.kernels.form = KernelForm::kPerPixel;
    Spoiled spoiled{{5, 5, 3, 1}, bad};
    config.kernels.origin = KernelOrigin::kCallback;
    config.kernels.callback = &Spoiled::write;
    config.kernels.user = &spoiled;
    EngineConfig settings = test::engine_config(2, GetParam());
    settings.memory = test::must(SpatioTemporalFilter::footprint(probed(), config));
    Engine engine = test::must(Engine::create(settings));
    const auto made = SpatioTemporalFilter::create(engine, config);
    ASSERT_FALSE(made);
    expect_words(made.error(), Status::kInvalidArgument, {"callback", "(7, 11)", "convolution 1"});
    EXPECT_EQ(engine.memory_use().used, Footprint{});
  }
}

// Fails when taps, or spatial sums of a white image, that half precision cannot hold become
// infinite silently, or when such as it can hold are refused.
TEST_P(Contracts, TapsBeyondHalfAreRefused) {
  struct Taps {
    float space;
    float time;
    bool fits;
  };
  // 5x5 taps of 3.2 make 65280 of a white image; the largest half is 65504.
  for (Taps taps : {Taps{1.0f, 1e6f, false}, {8.0f, 1.0f, false}, {3.2f, 0.5f, true}}) {
    SCOPED_TRACE("taps " + std::to_string(taps.space) + ", in time " + std::to_string(taps.time));
    SpatioTemporalFilterConfig config = filter_config();
    config.kernels.form = KernelForm::kPerPixel;
    config.kernels.origin = KernelOrigin::kCallback;
    config.kernels.callback = [](void* user, int, int, int, int, float* wx, float* wy, float* wt) {
      const auto& values = *static_cast<const Taps*>(user);
      std::fill_n(wx, 5, values.space);
      std::fill_n(wy, 5, values.space);
      std::fill_n(wt, 3, values.time);
    };
    config.kernels.user = &taps;
    config.storage = CoefficientStorage::kHalf;
    EngineConfig settings = test::engine_config(2, GetParam());
    settings.memory = test::must(SpatioTemporalFilter::footprint(probed(), config));
    Engine engine = test::must(Engine::create(settings));
    auto made = SpatioTemporalFilter::create(engine, config);
    ASSERT_EQ(made.has_value(), taps.fits);
    if (!made) {
      expect_words(made.error(), Status::kInvalidArgument, {"kHalf", "65504"});
      continue;
    }
    std::vector<FrameBuffer> frames;
    for (int f = 0; f < 4; ++f) {
      frames.emplace_back(config.size, config.format);
      frames.back().fill(test::PlaneD(config.size.width, config.size.height, 255.0));
    }
    test::expect_filter_matches(config, frames, send(*made, frames), {3}, 400,
                                test::kHalfTolerance);
  }
}

struct BadSubmit {
  const char* name;
  std::function<void(Frame&, FlowOutput&)> spoil;
  std::vector<std::string> words;
};

// Fails when a bad frame or a bad output is taken, or refused without saying what was wrong; and
// when a refusal changes anything.
TEST_P(Contracts, BadFramesAreNamed) {
  const std::vector<BadSubmit> table = {
      {"no data", [](Frame& f, FlowOutput&) { f.data = nullptr; }, {"frame.data", "null"}},
      {"other width",
       [](Frame& f, FlowOutput&) { f.size.width = 23; },
       {"frame.size", "23x18", "24x18"}},
      {"other height",
       [](Frame& f, FlowOutput&) { f.size.height = 19; },
       {"frame.size", "24x19", "24x18"}},
      {"other format",
       [](Frame& f, FlowOutput&) { f.format = PixelFormat::kFloat32; },
       {"frame.format", "kFloat32", "kGray16"}},
      {"no format",
       [](Frame& f, FlowOutput&) { f.format = static_cast<PixelFormat>(77); },
       {"frame.format", "unknown", "kGray16"}},
      {"stride too short",
       [](Frame& f, FlowOutput&) { f.stride = 47; },
       {"frame.stride", "47", "48"}},
      {"stride negative",
       [](Frame& f, FlowOutput&) { f.stride = -64; },
       {"frame.stride", "-64", "48"}},
      {"stride odd", [](Frame& f, FlowOutput&) { f.stride = 51; }, {"frame.stride", "2 bytes"}},
      {"address odd",
       [](Frame& f, FlowOutput&) { f.data = static_cast<const char*>(f.data) + 1; },
       {"frame.data", "2 bytes"}},
      {"u is null", [](Frame&, FlowOutput& o) { o.u.data = nullptr; }, {"u", "null"}},
      {"v is null", [](Frame&, FlowOutput& o) { o.v.data = nullptr; }, {"v", "null"}},
      {"other output size",
       [](Frame&, FlowOutput& o) { o.u.size.width = 25; },
       {"output", "25x18", "24x18"}},
      {"output stride short",
       [](Frame&, FlowOutput& o) { o.u.stride = 92; },
       {"output", "stride", "92", "96"}},
      {"output stride odd",
       [](Frame&, FlowOutput& o) { o.u.stride = 98; },
       {"output", "stride", "98"}},
  };
  OpticalFlowConfig config = flow_config();
  config.format = PixelFormat::kGray16;
  const auto frames = noise_frames(config.size, PixelFormat::kGray16, 4, 2);
  const Results undisturbed = test::run<OpticalFlow>(config, frames, 2, 1, GetParam());
  auto rig = this->rig<OpticalFlow>(config);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    test::OutputBuffer out(config.size, 3);
    for (const BadSubmit& bad : table) {
      SCOPED_TRACE(bad.name);
      Frame frame = frames[0].frame();
      FlowOutput view = out.flow();
      bad.spoil(frame, view);
      const auto ticket = rig.op.submit(frame, view);
      ASSERT_FALSE(ticket);
      expect_words(ticket.error(), Status::kInvalidArgument, bad.words);
    }
    test::must(
        rig.op.wait(test::must(rig.op.submit(frames[f].frame(f), out.flow())), Deadline::never()));
    for (int p = 0; p < 3; ++p)
      EXPECT_TRUE(
          test::same_bytes(out.plane(p), undisturbed.planes[f][static_cast<std::size_t>(p)]));
  }
}

// Fails when device memory is read by a backend that cannot.
TEST_P(Contracts, DeviceMemoryOnTheCpuIsRefused) {
  if (GetParam() != BackendChoice::kCpu) GTEST_SKIP() << "the device reads device memory";
  auto rig = this->rig<OpticalFlow>(flow_config());
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 1, 2);
  test::OutputBuffer out({24, 18}, 3);
  Frame frame = frames[0].frame();
  frame.space = MemorySpace::kCuda;
  auto ticket = rig.op.submit(frame, out.flow());
  ASSERT_FALSE(ticket);
  expect_words(ticket.error(), Status::kInvalidArgument, {"cuda", "host"});
  FlowOutput view = out.flow();
  for (ImageView* plane : {&view.u, &view.v, &view.confidence}) plane->space = MemorySpace::kCuda;
  ticket = rig.op.submit(frames[0].frame(), view);
  ASSERT_FALSE(ticket);
  expect_words(ticket.error(), Status::kInvalidArgument, {"cuda", "host"});
}

// Fails when the filter takes a plane that is missing, or says another number.
TEST_P(Contracts, MissingFilterPlanesAreNamed) {
  auto rig = this->rig<SpatioTemporalFilter>(filter_config());
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 1, 3);
  for (std::size_t missing = 0; missing < 3; ++missing) {
    test::OutputBuffer out({24, 18}, 3);
    OperatorOutput view = out.output();
    view.planes[missing].data = nullptr;
    const auto ticket = rig.op.submit(frames[0].frame(), view);
    ASSERT_FALSE(ticket);
    expect_words(ticket.error(), Status::kInvalidArgument,
                 {"plane", std::to_string(missing), "null"});
  }
}

// Fails when more frames are taken than the depth, when the refusal does not name it, or when
// waiting does not make room.
TEST_P(Contracts, AFullQueueIsAnError) {
  for (int depth = 1; depth <= 8; ++depth) {
    OpticalFlowConfig config = flow_config();
    config.depth = depth;
    auto rig = this->rig<OpticalFlow>(config);
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 1, 4);
    std::vector<test::OutputBuffer> outs(static_cast<std::size_t>(depth) + 1,
                                         test::OutputBuffer(config.size, 3));
    std::vector<Ticket> tickets;
    for (int round = 0; round < 3; ++round) {
      while (static_cast<int>(tickets.size()) < depth) {
        tickets.push_back(
            test::must(rig.op.submit(frames[0].frame(), outs[tickets.size()].flow())));
      }
      const auto full = rig.op.submit(frames[0].frame(), outs.back().flow());
      ASSERT_FALSE(full);
      expect_words(full.error(), Status::kQueueFull, {std::to_string(depth), "depth"});
      test::must(rig.op.wait(tickets.front(), Deadline::never()));
      tickets.erase(tickets.begin());
    }
    for (const Ticket ticket : tickets) test::must(rig.op.wait(ticket, Deadline::never()));
  }
}

// Fails when a ticket works twice, a foreign number is taken, or tickets do not count from 1.
TEST_P(Contracts, TicketsAreChecked) {
  auto rig = this->rig<OpticalFlow>(flow_config());
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 1, 5);
  test::OutputBuffer out({24, 18}, 3);
  for (std::uint64_t number = 1; number <= 5; ++number) {
    const Ticket ticket = test::must(rig.op.submit(frames[0].frame(), out.flow()));
    EXPECT_EQ(ticket.number, number);
    for (const std::uint64_t foreign :
         {std::uint64_t{0}, number + 1, number + 2, std::numeric_limits<std::uint64_t>::max()}) {
      const auto info = rig.op.wait(Ticket{foreign, ticket.issuer}, Deadline::never());
      ASSERT_FALSE(info);
      expect_words(info.error(), Status::kInvalidTicket, {std::to_string(foreign)});
    }
    EXPECT_TRUE(rig.op.wait(ticket, Deadline::never()));
    const auto twice = rig.op.wait(ticket, Deadline::never());
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().status, Status::kInvalidTicket);
  }
}

// Fails when an operator takes another one's ticket for its own frame of that number.
TEST_P(Contracts, TicketsOfAnotherOperatorAreRefused) {
  auto one = this->rig<OpticalFlow>(flow_config());
  auto other = this->rig<OpticalFlow>(flow_config());
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 1, 5);
  test::OutputBuffer out_one({24, 18}, 3);
  test::OutputBuffer out_other({24, 18}, 3);
  const Ticket mine = test::must(one.op.submit(frames[0].frame(), out_one.flow()));
  const Ticket theirs = test::must(other.op.submit(frames[0].frame(), out_other.flow()));
  const auto info = one.op.wait(theirs, Deadline::never());
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().status, Status::kInvalidTicket);
  EXPECT_TRUE(one.op.wait(mine, Deadline::never()));
  EXPECT_TRUE(other.op.wait(theirs, Deadline::never()));
}

// Fails when two planes may share memory, or a plane may lie between two floats.
TEST_P(Contracts, PlanesMustBeDistinctAndAligned) {
  auto rig = this->rig<OpticalFlow>(flow_config());
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 1, 5);
  test::OutputBuffer out({24, 18}, 3);
  FlowOutput shared = out.flow();
  shared.v = shared.u;
  const auto same = rig.op.submit(frames[0].frame(), shared);
  ASSERT_FALSE(same);
  expect_words(same.error(), Status::kInvalidArgument, {"planes u and v", "same"});
  FlowOutput odd = out.flow();
  odd.v.data = odd.v.row<char>(0) + 1;
  const auto crooked = rig.op.submit(frames[0].frame(), odd);
  ASSERT_FALSE(crooked);
  expect_words(crooked.error(), Status::kInvalidArgument, {"plane v", "aligned"});
}

// Fails when tickets can only be waited for in the order submitted.
TEST_P(Contracts, TicketsInAnyOrder) {
  OpticalFlowConfig config = flow_config();
  config.depth = 3;
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 3, 6);
  const Results expected = test::run<OpticalFlow>(config, frames, 2, 1, GetParam());
  std::vector<std::size_t> order = {0, 1, 2};
  do {
    auto rig = this->rig<OpticalFlow>(config);
    std::vector<test::OutputBuffer> outs(3, test::OutputBuffer(config.size, 3));
    std::vector<Ticket> tickets;
    for (std::size_t f = 0; f < 3; ++f)
      tickets.push_back(test::must(rig.op.submit(frames[f].frame(f), outs[f].flow())));
    for (const std::size_t f : order)
      EXPECT_EQ(test::must(rig.op.wait(tickets[f], Deadline::never())).sequence, f);
    for (std::size_t f = 0; f < 3; ++f)
      EXPECT_TRUE(test::same_bytes(outs[f].plane(0), expected.planes[f][0]));
  } while (std::next_permutation(order.begin(), order.end()));
}

// Fails when a frame that has been waited for still counts as in flight while an older one has not:
// fewer frames than the depth says could be submitted.
TEST_P(Contracts, AnyFrameThatIsDoneMakesRoom) {
  OpticalFlowConfig config = flow_config();
  config.depth = 3;
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 1, 6);
  std::vector<test::OutputBuffer> outs(4, test::OutputBuffer(config.size, 3));
  auto rig = this->rig<OpticalFlow>(config);  // destroyed first, with frames in flight
  const auto submit = [&](std::size_t out) {
    return rig.op.submit(frames[0].frame(out), outs[out].flow());
  };
  const Ticket oldest = test::must(submit(0));
  for (int round = 0; round < 5; ++round) {
    const Ticket second = test::must(submit(1));
    const Ticket third = test::must(submit(2));
    const auto full = submit(3);
    ASSERT_FALSE(full);
    expect_words(full.error(), Status::kQueueFull, {"3 frames", "depth"});
    EXPECT_EQ(test::must(rig.op.wait(third, Deadline::never())).sequence, 2u);
    EXPECT_EQ(test::must(rig.op.wait(second, Deadline::never())).sequence, 1u);
  }
  EXPECT_EQ(test::must(rig.op.wait(oldest, Deadline::never())).sequence, 0u);
  // Tickets of frames that reset drops lie in slots of any order, too.
  const Ticket first = test::must(submit(0));
  const Ticket second = test::must(submit(1));
  EXPECT_TRUE(rig.op.wait(first, Deadline::never()));
  const Ticket third = test::must(submit(2));
  rig.op.reset();
  for (const Ticket dropped : {second, third}) {
    const auto info = rig.op.wait(dropped, Deadline::never());
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().status, Status::kInvalidTicket);
  }
  for (std::size_t out = 0; out < 3; ++out) EXPECT_TRUE(submit(out));
}

// Fails when the times of a frame are not its own: a frame behind another waits in the queue until
// that one is done, and queue, copy and computing fit into what the caller saw pass.
TEST_P(Contracts, TimesAddUp) {
  using Clock = std::chrono::steady_clock;
  OpticalFlowConfig config = flow_config({320, 240});
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 2, 11);
  auto rig = this->rig<OpticalFlow>(config);
  test::OutputBuffer outs[2] = {test::OutputBuffer(config.size, 3),
                                test::OutputBuffer(config.size, 3)};
  int behind = 0;
  for (int round = 0; round < 20; ++round) {
    const auto begin = Clock::now();
    const Ticket first = test::must(rig.op.submit(frames[0].frame(0), outs[0].flow()));
    const Ticket second = test::must(rig.op.submit(frames[1].frame(1), outs[1].flow()));
    const std::int64_t between = (Clock::now() - begin).count();
    const FrameInfo one = test::must(rig.op.wait(first, Deadline::never()));
    const FrameInfo two = test::must(rig.op.wait(second, Deadline::never()));
    const std::int64_t all = (Clock::now() - begin).count();
    for (const FrameInfo& info : {one, two}) {
      ASSERT_GE(info.queue_ns, 0);
      ASSERT_GE(info.copy_ns, 0);
      ASSERT_GT(info.compute_ns, 0);
      ASSERT_LE(info.queue_ns + info.copy_ns + info.compute_ns, all);
    }
    if (GetParam() == BackendChoice::kCpu) {
      const std::int64_t done = one.queue_ns + one.copy_ns + one.compute_ns;
      ASSERT_GE(two.queue_ns, done - between) << "began before the frame before it was done";
      behind += done > between;
      ASSERT_EQ(one.copy_ns, 0);
    } else {
      // The second frame is copied while the first is computed, and computed while that is copied
      // back.
      behind += two.queue_ns > 0;
      ASSERT_GT(one.copy_ns, 0);
    }
  }
  EXPECT_GT(behind, 0) << "no frame had to wait: nothing was tested";
}

/// The memory that holds an operator's state.
std::size_t Footprint::*state_memory(BackendChoice backend) {
  return backend == BackendChoice::kCuda ? &Footprint::device : &Footprint::host;
}

template <typename Operator, typename Config>
void expect_exact_memory(const Config& config, BackendChoice backend, const char* what) {
  SCOPED_TRACE(what);
  EngineConfig settings = test::engine_config(2, backend);
  const EngineInfo info = test::must(Engine::probe(settings));
  const Footprint needs = test::must(Operator::footprint(info, config));
  for (const auto kind : {&Footprint::host, &Footprint::pinned, &Footprint::device})
    EXPECT_EQ(needs.*kind % kMemoryAlignment, 0u);
  settings.memory = needs;
  {
    Engine engine = test::must(Engine::create(settings));
    {
      const auto op = test::must(Operator::create(engine, config));
      EXPECT_EQ(engine.memory_use().used, needs) << "the footprint must be what is taken";
      EXPECT_EQ(engine.memory_use().pieces, 1);
      const auto second = Operator::create(engine, config);
      ASSERT_FALSE(second);
      expect_words(second.error(), Status::kOutOfMemory,
                   {std::to_string(needs.*state_memory(backend)), "EngineConfig::memory"});
    }
    EXPECT_EQ(engine.memory_use().used, Footprint{});
    EXPECT_EQ(engine.memory_use().peak, needs);
    EXPECT_TRUE(Operator::create(engine, config)) << "the memory must come back";
  }
  for (const auto kind : {&Footprint::host, &Footprint::pinned, &Footprint::device}) {
    if (needs.*kind == 0) continue;
    settings.memory = needs;
    // Blocks of devices are cut in pieces of 256 bytes.
    settings.memory.*kind -= std::min<std::size_t>(needs.*kind, 256);
    Engine small = test::must(Engine::create(settings));
    const auto refused = Operator::create(small, config);
    ASSERT_FALSE(refused) << "created in less than its footprint";
    EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
    EXPECT_EQ(small.memory_use().used, Footprint{});
  }
}

// Fails when a footprint is not exactly what the operator takes.
TEST_P(Contracts, FootprintsAreExact) {
  for (const ImageSize size : {ImageSize{1, 1}, {24, 18}, {101, 67}}) {
    for (const int depth : {1, 8}) {
      for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
        for (const CoefficientStorage storage :
             {CoefficientStorage::kFloat, CoefficientStorage::kHalf}) {
          OpticalFlowConfig flow = flow_config(size);
          flow.kernels.form = form;
          flow.depth = depth;
          flow.storage = storage;
          expect_exact_memory<OpticalFlow>(flow, GetParam(), "flow");
          SpatioTemporalFilterConfig filter = filter_config(size);
          filter.kernels.form = form;
          filter.depth = depth;
          filter.storage = storage;
          expect_exact_memory<SpatioTemporalFilter>(filter, GetParam(), "filter");
        }
      }
      OpticalFlowConfig pyramid = OpticalFlowConfig::quality(size);
      pyramid.depth = depth;
      expect_exact_memory<OpticalFlow>(pyramid, GetParam(), "pyramid");
    }
  }
}

// Fails when an engine made with the sum of several footprints has no room for exactly these
// operators, in any order.
TEST_P(Contracts, FootprintsAddUp) {
  const OpticalFlowConfig a = flow_config();
  const OpticalFlowConfig b = OpticalFlowConfig::fast({50, 40});
  const SpatioTemporalFilterConfig c = filter_config({31, 7});
  const Footprint sum = test::must(OpticalFlow::footprint(probed(), a)) +
                        test::must(OpticalFlow::footprint(probed(), b)) +
                        test::must(SpatioTemporalFilter::footprint(probed(), c));
  std::vector<int> order = {0, 1, 2};
  do {
    EngineConfig settings = test::engine_config(2, GetParam());
    settings.memory = sum;
    Engine engine = test::must(Engine::create(settings));
    std::vector<OpticalFlow> flows;
    std::vector<SpatioTemporalFilter> filters;
    for (const int which : order) {
      if (which == 2) {
        filters.push_back(test::must(SpatioTemporalFilter::create(engine, c)));
      } else {
        flows.push_back(test::must(OpticalFlow::create(engine, which == 0 ? a : b)));
      }
    }
    EXPECT_EQ(engine.memory_use().used, sum);
    EXPECT_EQ(engine.memory_use().pieces, 3);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Fails when operators whose footprints add up to the engine's memory find no room after others of
// them were destroyed and created in another order, or when a refusal for another footprint does
// not say that the block is fragmented.
TEST_P(Contracts, OperatorsComeAndGoInAnyOrder) {
  const bool cuda = GetParam() == BackendChoice::kCuda;
  const OpticalFlowConfig flow_configs[] = {flow_config({320, 24}), flow_config({64, 48}),
                                            OpticalFlowConfig::fast({50, 40}),
                                            flow_config({320, 24})};
  const SpatioTemporalFilterConfig filter_configs[] = {filter_config({31, 7}),
                                                       filter_config({64, 10})};
  constexpr std::size_t kFlows = std::size(flow_configs);
  constexpr std::size_t kFilters = std::size(filter_configs);
  EngineConfig settings = test::engine_config(1, GetParam());
  const EngineInfo info = test::must(Engine::probe(settings));
  for (const auto& config : flow_configs)
    settings.memory += test::must(OpticalFlow::footprint(info, config));
  for (const auto& config : filter_configs)
    settings.memory += test::must(SpatioTemporalFilter::footprint(info, config));
  settings.memory += Buffer::footprint(MemorySpace::kHost, 5000);
  Engine engine = test::must(Engine::create(settings));
  std::optional<OpticalFlow> flows[kFlows];
  std::optional<SpatioTemporalFilter> filters[kFilters];
  std::optional<Buffer> buffer;
  const auto toggle = [&](auto& held, auto create) {
    if (held) {
      held.reset();
      return;
    }
    auto made = create();
    ASSERT_TRUE(made) << made.error().text;
    held.emplace(std::move(*made));
  };
  std::mt19937 random(7);
  for (int step = 0; step < (cuda ? 200 : 10'000) && !HasFatalFailure(); ++step) {
    const std::size_t which = random() % (kFlows + kFilters + 1);
    if (which < kFlows) {
      toggle(flows[which], [&] { return OpticalFlow::create(engine, flow_configs[which]); });
    } else if (which < kFlows + kFilters) {
      const std::size_t i = which - kFlows;
      toggle(filters[i], [&] { return SpatioTemporalFilter::create(engine, filter_configs[i]); });
    } else {
      toggle(buffer, [&] { return Buffer::create(engine, MemorySpace::kHost, 5000); });
    }
  }
  for (auto& flow : flows) flow.reset();
  for (auto& filter : filters) filter.reset();
  buffer.reset();
  EXPECT_EQ(engine.memory_use().used, Footprint{});
  if (cuda) return;
  // Every second piece of half the block is free: no room for one that is larger than a piece.
  const std::size_t piece = settings.memory.host / 12 / kMemoryAlignment * kMemoryAlignment;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 12; ++i)
    buffers.push_back(test::must(Buffer::create(engine, MemorySpace::kHost, piece)));
  for (int i = 0; i < 6; ++i) buffers.erase(buffers.begin() + i);
  const auto refused = Buffer::create(engine, MemorySpace::kHost, 3 * piece);
  ASSERT_FALSE(refused);
  expect_words(refused.error(), Status::kOutOfMemory, {"fragmented", std::to_string(3 * piece)});
}

// Fails when a child that fork() made hangs, ends or computes with an operator of its parent, or
// cannot destroy it, or when the parent's operator suffers from it. A process with a CUDA driver
// must not fork and go on, so there is no such test on a device.
TEST_P(Contracts, AChildOfForkCanOnlyDestroyOperators) {
  if (GetParam() == BackendChoice::kCuda) GTEST_SKIP() << "CUDA does not survive fork()";
  OpticalFlowConfig config = OpticalFlowConfig::fast({160, 120});
  config.depth = 3;
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 1, 6);
  for (int round = 0; round < 8; ++round) {
    auto rig = std::make_unique<test::FlowRig>(this->rig<OpticalFlow>(config, 3));
    test::OutputBuffer out(config.size, 3);
    test::OutputBuffer second(config.size, 3);
    const Ticket flying = test::must(rig->op.submit(frames[0].frame(), out.flow()));
    // At different moments of the frame.
    std::this_thread::sleep_for(std::chrono::microseconds(150 * round));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      const auto unsupported = [](const auto& result) {
        return !result && result.error().status == Status::kUnsupported &&
               std::strstr(result.error().text, "fork") != nullptr;
      };
      if (!unsupported(rig->op.submit(frames[0].frame(), second.flow()))) _exit(1);
      if (!unsupported(rig->op.wait(flying, Deadline::never()))) _exit(2);
      if (!unsupported(OpticalFlow::create(rig->engine, config))) _exit(3);
      rig->op.reset();
      rig.reset();
      if (!test::threads_after_fork()) _exit(0);
      auto own = this->rig<OpticalFlow>(config, 2);
      const auto ticket = own.op.submit(frames[0].frame(), second.flow());
      _exit(ticket && own.op.wait(*ticket, Deadline::never()) ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << ", round " << round;
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
    EXPECT_TRUE(rig->op.wait(flying, Deadline::never())) << "the parent's goes on";
  }
}

// Fails when a size beyond the engine's memory, or beyond what can be addressed, is not refused
// with the bytes that it needs.
TEST_P(Contracts, SizesBeyondTheMemoryAreRefused) {
  EngineConfig settings = test::engine_config(2, GetParam());
  const auto kind = state_memory(GetParam());
  settings.memory.*kind = 1 << 20;
  Engine engine = test::must(Engine::create(settings));
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels({kMaxImageSide, kMaxImageSide});
  config.kernels.form = KernelForm::kPerPixel;
  config.kernels.nx = config.kernels.ny = config.kernels.nt = kMaxKernelTaps;
  config.kernels.terms = 1;
  const Footprint needs = test::must(OpticalFlow::footprint(engine.info(), config));
  EXPECT_GT(needs.*kind, std::size_t{3} * 75 * 4 << 28);
  const auto made = OpticalFlow::create(engine, config);
  ASSERT_FALSE(made);
  expect_words(made.error(), Status::kOutOfMemory,
               {std::to_string(needs.*kind), std::to_string(1 << 20), "EngineConfig::memory"});
}

// Fails when the engine's threads or memory go before the operators that use them.
TEST_P(Contracts, TheEngineHandleMayGoFirst) {
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 6, 7);
  const Results expected = test::run<OpticalFlow>(flow_config(), frames, 2, 1, GetParam());
  EngineConfig settings = test::engine_config(2, GetParam());
  settings.memory = test::must(OpticalFlow::footprint(probed(), flow_config()));
  std::optional<OpticalFlow> op;
  {
    Engine engine = test::must(Engine::create(settings));
    op.emplace(test::must(OpticalFlow::create(engine, flow_config())));
  }
  EXPECT_TRUE(same_bytes(expected, send(*op, frames)));
  op.reset();
}

// Fails when moving an operator loses its frames in flight, or destroys them twice.
TEST_P(Contracts, OperatorsMove) {
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 3, 8);
  auto rig = this->rig<OpticalFlow>(flow_config());
  test::OutputBuffer out({24, 18}, 3);
  const Ticket ticket = test::must(rig.op.submit(frames[0].frame(42), out.flow()));
  OpticalFlow moved = std::move(rig.op);
  EXPECT_EQ(test::must(moved.wait(ticket, Deadline::never())).sequence, 42u);
  auto other = this->rig<OpticalFlow>(flow_config({10, 10}));
  other.op = std::move(moved);
  EXPECT_EQ(other.op.config().size, (ImageSize{24, 18}));
  EXPECT_EQ(other.engine.memory_use().used, Footprint{})
      << "the operator that was assigned over must give its memory back";
}

// Fails when a thread of the user's own cannot do everything: make the engine, the operator, and
// run frames.
TEST_P(Contracts, EverythingFromAThreadOfTheUsers) {
  const auto frames = noise_frames({24, 18}, PixelFormat::kGray8, 6, 9);
  const Results expected = test::run<OpticalFlow>(flow_config(), frames, 2, 1, GetParam());
  Results got;
  std::thread([&] {
    got = test::run<OpticalFlow>(flow_config(), frames, 2, 2, GetParam());
  }).join();
  EXPECT_TRUE(same_bytes(expected, got));
}

// Fails when one thread cannot submit while another waits, as a capture thread and a consumer do.
TEST_P(Contracts, OneThreadSubmitsAnotherWaits) {
  OpticalFlowConfig config = flow_config();
  config.depth = 4;
  constexpr std::size_t kFrames = 300;
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 10, 10);
  auto rig = this->rig<OpticalFlow>(config);
  std::vector<test::OutputBuffer> outs(4, test::OutputBuffer(config.size, 3));
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Ticket> queue;
  std::vector<std::uint64_t> sequences;
  std::thread consumer([&] {
    while (sequences.size() < kFrames) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      const Ticket ticket = queue.front();
      lock.unlock();
      const FrameInfo info =
          test::must(rig.op.wait(ticket, Deadline::after(std::chrono::seconds(60))));
      sequences.push_back(info.sequence);
      lock.lock();
      queue.pop_front();
      changed.notify_all();
    }
  });
  for (std::size_t f = 0; f < kFrames; ++f) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return queue.size() < 4; });
    }
    const Ticket ticket = test::must(rig.op.submit(frames[f % 10].frame(f), outs[f % 4].flow()));
    const std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(ticket);
    changed.notify_all();
  }
  consumer.join();
  for (std::size_t f = 0; f < kFrames; ++f) ASSERT_EQ(sequences[f], f);
}

// Fails when the presets are not configurations that can be created, or are not what their names
// say.
TEST_P(Contracts, Presets) {
  const OpticalFlowConfig fast = OpticalFlowConfig::fast({320, 240});
  const OpticalFlowConfig quality = OpticalFlowConfig::quality({320, 240});
  EXPECT_EQ(fast.size, (ImageSize{320, 240}));
  EXPECT_EQ(fast.method, FlowMethod::kPyramid);
  EXPECT_EQ(fast.pyramid.window_frames, 2);
  EXPECT_EQ(fast.pyramid.robust, 0.0f);
  EXPECT_EQ(fast.pyramid.median, 0);
  EXPECT_EQ(quality.method, FlowMethod::kPyramid);
  EXPECT_GT(quality.pyramid.robust, 0.0f);
  EXPECT_GT(quality.pyramid.median, 0);
  EXPECT_GT(quality.pyramid.ridge, 0.0f);
  (void)this->rig<OpticalFlow>(fast);
  (void)this->rig<OpticalFlow>(quality);
}

}  // namespace
}  // namespace ocellus
