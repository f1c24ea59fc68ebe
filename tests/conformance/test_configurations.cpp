// Configurations of flow and filter: a bad one is refused with an error that names the field, its
// value and its range.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"

namespace ocellus {
namespace {

using test::expect_words;
using test::FrameBuffer;
using test::OnBackend;
using test::RandomTaps;

class Configurations : public OnBackend {
 protected:
  EngineInfo probed() const {
    return test::must(Engine::probe(test::engine_config(2, GetParam())));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Configurations, testing::ValuesIn(test::conformance_backends()),
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

struct BadFlow {
  const char* name;
  std::function<void(OpticalFlowConfig&)> change;
  std::vector<std::string> words;
};

// Fails when `create` takes a bad configuration, when the error does not name the field, its value
// and its range, or when `footprint` returns another error than `create`.
// Promises: ERR-004.
TEST_P(Configurations, BadFlowOptionsAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto pyramid = [](auto change) {
    return [change](OpticalFlowConfig& c) {
      c.method = FlowMethod::kPyramid;
      change(c);
    };
  };
  const auto variational = [&](auto change) {
    return pyramid([change](OpticalFlowConfig& c) {
      c.pyramid.solver = FlowSolver::kVariational;
      change(c);
    });
  };
  const std::vector<BadFlow> table = {
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
      {"warps 0", pyramid([](auto& c) { c.pyramid.warps = 0; }), {"warps is 0", "1", "10"}},
      {"warps 11", pyramid([](auto& c) { c.pyramid.warps = 11; }), {"warps is 11", "10"}},
      {"coarse_warps 0",
       pyramid([](auto& c) { c.pyramid.coarse_warps = 0; }),
       {"coarse_warps is 0", "1", "10"}},
      {"coarse_warps 11",
       pyramid([](auto& c) { c.pyramid.coarse_warps = 11; }),
       {"coarse_warps is 11", "10"}},
      {"preset",
       pyramid([](auto& c) { c.preset = static_cast<FlowPreset>(3); }),
       {"preset is 3", "0 (fast)", "1 (quality)", "2 (best)"}},
      {"solver",
       pyramid([](auto& c) { c.pyramid.solver = static_cast<FlowSolver>(2); }),
       {"solver is 2", "0 (lucas-kanade)", "1 (variational)"}},
      {"smoothness 0",
       variational([](auto& c) { c.pyramid.smoothness = 0.0f; }),
       {"smoothness is 0", "0.01", "100"}},
      {"sweeps 0", variational([](auto& c) { c.pyramid.sweeps = 0; }), {"sweeps is 0", "1", "28"}},
      {"coarse_sweeps 29",
       variational([](auto& c) { c.pyramid.coarse_sweeps = 29; }),
       {"coarse_sweeps is 29", "1", "28"}},
      {"reweightings -1",
       variational([](auto& c) { c.pyramid.reweightings = -1; }),
       {"reweightings is -1", "0", "10"}},
      {"smoothing_size even",
       pyramid([](auto& c) { c.pyramid.smoothing_size = 10; }),
       {"smoothing_size is 10", "odd", "31"}},
      {"smoothing_size 1",
       pyramid([](auto& c) { c.pyramid.smoothing_size = 1; }),
       {"smoothing_size is 1", "3"}},
      {"smoothing_size 33",
       pyramid([](auto& c) { c.pyramid.smoothing_size = 33; }),
       {"smoothing_size is 33", "31"}},
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
    bad.change(config);
    const auto made = OpticalFlow::create(engine, config);
    if (made) {
      ADD_FAILURE() << "create took it";
      continue;
    }
    expect_words(made.error(), Status::kInvalidArgument, bad.words);
    const auto counted = OpticalFlow::footprint(engine.info(), config);
    if (counted) {
      ADD_FAILURE() << "footprint takes what create refuses";
    } else {
      EXPECT_STREQ(counted.error().text, made.error().text)
          << "footprint and create return different errors";
    }
    EXPECT_EQ(engine.memory_use().used, Footprint{}) << "the refused operator keeps memory";
  }
  EXPECT_TRUE(OpticalFlow::create(engine, flow_config()))
      << "the good configuration is refused afterwards";
}

// Fails when the filter takes a configuration that flow refuses.
// Promises: ERR-004.
TEST_P(Configurations, BadFilterOptionsAreRefused) {
  struct Bad {
    std::function<void(SpatioTemporalFilterConfig&)> change;
    std::vector<std::string> words;
  };
  const std::vector<Bad> table = {
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
    bad.change(config);
    const auto made = SpatioTemporalFilter::create(engine, config);
    ASSERT_FALSE(made) << bad.words[0];
    expect_words(made.error(), Status::kInvalidArgument, bad.words);
  }
}

// Fails when `create` takes a tap that is not finite, or when the error does not name its pixel and
// convolution.
TEST_P(Configurations, NonFiniteTapsAreRefused) {
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

// Fails when half storage takes a tap, or a spatial sum of a white image, beyond its range, or
// refuses one within it.
TEST_P(Configurations, TapsBeyondHalfRangeAreRefused) {
  struct Taps {
    float space;
    float time;
    bool fits;
  };
  // The sum of 5x5 taps of 3.2 over a white image is 65280. The largest half is 65504.
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

// Fails when the size of the largest kernels overflows, so that `create` takes them or the error
// names too few bytes.
TEST_P(Configurations, TheLargestKernelsDoNotOverflow) {
  const auto kind = GetParam() == BackendChoice::kCuda ? &Footprint::device : &Footprint::host;
  EngineConfig settings = test::engine_config(2, GetParam());
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
  expect_words(made.error(), Status::kOutOfMemory, {std::to_string(needs.*kind)});
}

// Fails when `create` refuses a preset of flow, or when a preset has more steps than one that is
// more accurate.
TEST_P(Configurations, Presets) {
  const OpticalFlowConfig fast = OpticalFlowConfig::fast({320, 240});
  const OpticalFlowConfig quality = OpticalFlowConfig::quality({320, 240});
  const OpticalFlowConfig best = OpticalFlowConfig::best({320, 240});
  EXPECT_EQ(fast.size, (ImageSize{320, 240}));
  EXPECT_EQ(fast.pyramid.solver, FlowSolver::kLucasKanade);
  EXPECT_EQ(quality.pyramid.solver, FlowSolver::kVariational);
  EXPECT_EQ(best.pyramid.solver, FlowSolver::kVariational);
  EXPECT_LT(quality.pyramid.warps, best.pyramid.warps);
  EXPECT_LT(quality.pyramid.coarse_warps, best.pyramid.coarse_warps);
  EXPECT_LT(quality.pyramid.reweightings, best.pyramid.reweightings);
  EXPECT_LE(quality.pyramid.sweeps, best.pyramid.sweeps);
  for (const OpticalFlowConfig& preset : {fast, quality, best}) {
    EXPECT_EQ(preset.method, FlowMethod::kPyramid);
    (void)this->rig<OpticalFlow>(preset);
  }
}

}  // namespace
}  // namespace ocellus
