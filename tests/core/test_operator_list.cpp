// The list of operators: lookup by name, and OperatorConfig as a value.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "ocellus/ocellus.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::must;

constexpr ImageSize kSize{64, 48};

OperatorConfig made(const OperatorDescription& description) {
  OperatorConfig config(description);
  config.set_input(kSize, PixelFormat::kGray8);
  return config;
}

/// Processes one frame and returns the bytes of the planes, which are first filled with a value
/// that no whole result consists of.
std::vector<std::vector<unsigned char>> one_frame(OperatorHandle& op) {
  const OperatorInfo& info = op.info();
  FrameBuffer frame(kSize, PixelFormat::kGray8);
  frame.fill(test::noise(kSize, 7));
  std::vector<std::vector<unsigned char>> planes;
  OperatorOutput out;
  for (int p = 0; p < info.plane_count; ++p) {
    const PlaneInfo& plane = info.planes[static_cast<std::size_t>(p)];
    const int stride = plane.size.width * static_cast<int>(bytes_per_pixel(plane.format));
    planes.emplace_back(static_cast<std::size_t>(stride * plane.size.height), 0x5a);
    ImageView& view = out.planes[static_cast<std::size_t>(p)];
    view.data = planes.back().data();
    view.size = plane.size;
    view.stride = stride;
    view.format = plane.format;
  }
  const FrameInfo done = must(op.wait(must(op.submit(frame.frame(9), out)), Deadline::never()));
  EXPECT_EQ(done.sequence, 9u);
  return planes;
}

// Fails when a description is incomplete, or when a name finds the wrong operator.
TEST(OperatorList, EveryDescriptionIsComplete) {
  std::set<std::string> names;
  for (const OperatorDescription& description : operators()) {
    SCOPED_TRACE(description.name);
    EXPECT_TRUE(names.insert(description.name).second);
    EXPECT_EQ(find_operator(description.name), &description);
    const std::string summary = description.summary;
    ASSERT_FALSE(summary.empty());
    EXPECT_NE(summary.back(), '.');
    EXPECT_NE(description.construct, nullptr);
    EXPECT_NE(description.set_input, nullptr);
    EXPECT_NE(description.info, nullptr);
    EXPECT_NE(description.footprint, nullptr);
    EXPECT_NE(description.create, nullptr);
  }
  for (const char* name : {"flow", "filter", "halftone", "cnn"})
    EXPECT_NE(find_operator(name), nullptr) << name;
  for (const char* name : {"", "Flow", "flows", "nonsense"})
    EXPECT_EQ(find_operator(name), nullptr) << name;
}

// Fails when an operator does not run with its default configuration.
TEST(OperatorList, EveryDefaultRuns) {
  for (const OperatorDescription& description : operators()) {
    SCOPED_TRACE(description.name);
    const OperatorConfig config = made(description);
    EXPECT_EQ(&config.description(), &description);
    const OperatorInfo info = must(config.info());
    EXPECT_EQ(info.size, kSize);
    EXPECT_EQ(info.format, PixelFormat::kGray8);
    EXPECT_GE(info.plane_count, 1);
    EXPECT_EQ(info.depth, 1);
    EXPECT_NE(info.summary[0], '\0');
    EXPECT_GT(info.least_bytes, 0.0);
    EXPECT_GT(info.least_flops, 0.0);
    Engine engine = must(create_engine(test::engine_config(), {config}));
    const Footprint needs = must(config.footprint(engine.info()));
    OperatorHandle op = must(config.create(engine));
    EXPECT_EQ(engine.memory_use().used, needs);
    EXPECT_STREQ(op.info().name, info.name);
    EXPECT_STREQ(op.info().summary, info.summary);
    for (const auto& plane : one_frame(op))
      EXPECT_NE(plane, std::vector<unsigned char>(plane.size(), 0x5a)) << "no byte was written";
  }
}

// Fails when a configuration without a size is accepted, or when the error does not name the size.
TEST(OperatorList, RefusesAConfigurationWithoutASize) {
  const EngineInfo engine = must(Engine::probe(test::engine_config()));
  for (const OperatorDescription& description : operators()) {
    SCOPED_TRACE(description.name);
    const OperatorConfig config(description);
    const auto info = config.info();
    ASSERT_FALSE(info);
    EXPECT_NE(std::string(info.error().text).find("size is 0x0"), std::string::npos)
        << info.error().text;
    const auto footprint = config.footprint(engine);
    ASSERT_FALSE(footprint);
    EXPECT_STREQ(footprint.error().text, info.error().text);
    EXPECT_FALSE(create_engine(test::engine_config(), {config}));
  }
}

// Fails when a call accepts a value of a member that the option table forbids. The table must apply
// to members as it does to texts.
TEST(OperatorList, MembersAreCheckedLikeTexts) {
  HalftoneConfig halftone;
  halftone.size = kSize;
  halftone.max_sweeps = -1;
  CnnConfig cnn;
  cnn.size = kSize;
  cnn.color_spacing = 77;
  OpticalFlowConfig flow = OpticalFlowConfig::fast(kSize);
  flow.window = 4;
  SpatioTemporalFilterConfig filter;
  filter.size = kSize;
  filter.kernels.sigma_time = 0.0f;
  const EngineInfo engine = must(Engine::probe(test::engine_config()));
  Engine one = must(Engine::create(test::engine_config()));
  const std::pair<OperatorConfig, const char*> bad[] = {
      {halftone, "max_sweeps is -1; it must be 0 to 100000 sweeps"},
      {cnn, "color_spacing is 77; it must be 0 to 9 cells"},
      {flow, "window is 4; it must be odd, 3 to 31 pixels"},
      {filter, "sigma_time is 0; it must be 0.1 to 1000 frames"}};
  for (const auto& [config, text] : bad) {
    ASSERT_FALSE(config.info()) << text;
    EXPECT_STREQ(config.info().error().text, text);
    EXPECT_STREQ(config.footprint(engine).error().text, text);
    EXPECT_STREQ(config.create(one).error().text, text);
  }
}

// Fails when the end of a range is accepted as a text, but refused as a member.
TEST(OperatorList, AcceptsTheEndsOfRanges) {
  for (const OperatorDescription& description : operators()) {
    for (const Option& option : description.options) {
      if (option.type != OptionType::kFloat) continue;
      for (const double end : {option.low, option.high}) {
        OperatorConfig config = made(description);
        if (description.name == std::string("flow")) {
          const bool kernels = std::string(option.needs).find("kernels") != std::string::npos;
          must(config.set_option("method", kernels ? "kernels" : "pyramid"));
        }
        if (std::string(option.needs).find("foveated") != std::string::npos)
          must(config.set_option("kernels", "foveated"));
        if (std::string(option.name) == "window_sigma")
          must(config.set_option("window_weight", "gaussian"));
        char text[32];
        std::snprintf(text, sizeof(text), "%g", end);
        must(config.set_option(option.name, text));
        const auto info = config.info();
        EXPECT_TRUE(info) << description.name << ": " << info.error().text;
      }
    }
  }
}

// Fails when the gray range is not passed to an operator that supports it.
TEST(OperatorList, SetsTheInputOfEveryOperator) {
  for (const OperatorDescription& description : operators()) {
    OperatorConfig config(description);
    config.set_input({31, 17}, PixelFormat::kGray16, {16.0f, 235.0f});
    const OperatorInfo info = must(config.info());
    EXPECT_EQ(info.size, (ImageSize{31, 17}));
    EXPECT_EQ(info.format, PixelFormat::kGray16);
    if (const auto* cnn = config.get_if<CnnConfig>()) {
      EXPECT_EQ(cnn->input_range, (GrayRange{16.0f, 235.0f}));
    }
    if (const auto* halftone = config.get_if<HalftoneConfig>()) {
      EXPECT_EQ(halftone->input_range, (GrayRange{16.0f, 235.0f}));
    }
  }
}

// Fails when a configuration is accepted for a different operator, or when its members are not
// those that the options set.
TEST(OperatorList, AConfigurationKnowsItsOperator) {
  OpticalFlowConfig flow = OpticalFlowConfig::quality(kSize);
  flow.window = 9;
  OperatorConfig config = flow;
  EXPECT_STREQ(config.description().name, "flow");
  ASSERT_NE(config.get_if<OpticalFlowConfig>(), nullptr);
  EXPECT_EQ(config.get_if<SpatioTemporalFilterConfig>(), nullptr);
  EXPECT_EQ(config.get_if<CnnConfig>(), nullptr);
  EXPECT_EQ(config.get_if<HalftoneConfig>(), nullptr);
  EXPECT_EQ(config.get_if<OpticalFlowConfig>()->window, 9);
  must(config.set_option("window", "13"));
  EXPECT_EQ(config.get_if<OpticalFlowConfig>()->window, 13);
  config.get_if<OpticalFlowConfig>()->window = 5;
  EXPECT_EQ(config.get_option(*find_option(config.options(), "window")).view(), "5");

  EXPECT_STREQ(OperatorConfig(SpatioTemporalFilterConfig{}).description().name, "filter");
  EXPECT_STREQ(OperatorConfig(CnnConfig{}).description().name, "cnn");
  EXPECT_STREQ(OperatorConfig(HalftoneConfig{}).description().name, "halftone");

  // A copy is independent, even when it gets a different operator.
  OperatorConfig copy = config;
  must(copy.set_option("window", "7"));
  EXPECT_EQ(config.get_if<OpticalFlowConfig>()->window, 5);
  copy = OperatorConfig(CnnConfig{});
  EXPECT_STREQ(copy.description().name, "cnn");
  EXPECT_NE(copy.get_if<CnnConfig>(), nullptr);
  EXPECT_EQ(copy.get_if<CnnConfig>()->chain.view(), "edge");
}

// Fails when an engine for several operators has too little memory, or more than they need.
TEST(OperatorList, AnEngineHasMemoryForAllOperators) {
  std::vector<OperatorConfig> configs;
  for (const OperatorDescription& description : operators()) configs.push_back(made(description));
  configs.emplace_back(OpticalFlowConfig::with_kernels(kSize));
  EngineConfig settings = test::engine_config();
  constexpr std::size_t kBesides = 4096;
  settings.memory.host = kBesides;
  Engine engine = must(create_engine(settings, configs));
  Footprint sum;
  std::vector<OperatorHandle> handles;
  for (const OperatorConfig& config : configs) {
    sum += must(config.footprint(engine.info()));
    handles.push_back(must(config.create(engine)));
  }
  EXPECT_EQ(engine.memory_use().used, sum);
  sum.host += kBesides;
  EXPECT_EQ(engine.memory_use().capacity, sum);
  for (OperatorHandle& op : handles) one_frame(op);
  EXPECT_FALSE(configs[0].create(engine)) << "there must be no memory for another operator";
}

// Fails when an engine is created for a bad configuration.
TEST(OperatorList, AnEngineForABadOperatorIsRefused) {
  OpticalFlowConfig flow = OpticalFlowConfig::fast(kSize);
  flow.window = 4;
  const auto engine = create_engine(test::engine_config(), {OpticalFlowConfig::fast(kSize), flow});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().status, Status::kInvalidArgument);
  EXPECT_STREQ(engine.error().text, "window is 4; it must be odd, 3 to 31 pixels");
}

}  // namespace
}  // namespace ocellus
