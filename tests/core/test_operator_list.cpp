// The list of operators: descriptions by name, and OperatorConfig, a configuration of any operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ocellus/ocellus.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::must;

constexpr ImageSize kSize{64, 48};

OperatorConfig made(const OperatorDescription& description) {
  OperatorConfig config(description);
  config.set_input(kSize, PixelFormat::kGray8);
  return config;
}

/// The planes of one frame.
std::vector<test::PlaneF> one_frame(OperatorHandle& op) {
  const auto frames = test::noise_frames(kSize, PixelFormat::kGray8, 1, 7);
  return test::send(op, frames).planes[0];
}

// Fails when a description lacks a function or a text, or when a name finds another operator.
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
    // An operator has one name, also in texts of errors.
    EXPECT_STREQ(must(made(description).info()).name, description.name);
  }
  for (const char* name : {"flow", "filter", "halftone", "cnn"})
    EXPECT_NE(find_operator(name), nullptr) << name;
  for (const char* name : {"", "Flow", "flows", "nonsense"})
    EXPECT_EQ(find_operator(name), nullptr) << name;
}

// Fails when an operator has no case by default, when two cases have one name, or when a path
// computes as the default configuration does. Then the suites that run all cases leave something
// out.
TEST(OperatorList, EveryCaseIsDifferent) {
  std::map<std::string, std::string> seen;
  for (const test::OperatorCase& what : test::all_operator_cases()) {
    std::string all;
    for (const Option& option : what.config.options())
      all += std::string(what.config.get_option(option).view()) + ",";
    all += std::to_string(static_cast<int>(must(what.with(kSize).info()).planes[0].format));
    EXPECT_TRUE(seen.emplace(what.name, all).second) << what.name;
    const std::string name = what.config.description().name;
    EXPECT_EQ(what.name.find(name), 0u);
    if (what.name != name) {
      EXPECT_NE(seen[name], all) << what.name;
    }
  }
  for (const OperatorDescription& description : operators())
    EXPECT_EQ(seen.count(description.name), 1u) << description.name;
  EXPECT_EQ(seen.size(), operators().size() + test::operator_paths().size())
      << "a path names no operator of the list";
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
    EXPECT_TRUE(std::string_view(op.info().summary).starts_with(info.summary))
        << op.info().summary << "; before creation: " << info.summary;
    test::OutputBuffer out(info);
    must(op.wait(must(op.submit(test::noise_frames(kSize, PixelFormat::kGray8, 1, 7)[0].frame(),
                                out.output())),
                 Deadline::never()));
    for (int p = 0; p < info.plane_count; ++p) EXPECT_FALSE(out.plane_untouched(p)) << p;
  }
}

// Fails when an operator takes a configuration without a size, or when the error does not name it.
TEST(OperatorList, ASizeIsNeeded) {
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

// Fails when a call takes a member outside the range of its option, or returns another error than
// for the option as a text.
TEST(OperatorList, MembersAreCheckedLikeOptions) {
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
      {halftone, "max_sweeps is -1; it must be 1 to 1000000 sweeps"},
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

// Fails when `create` refuses the end of an option's range, which `set_option` takes. Where an
// operator has paths, they must use all of its options.
TEST(OperatorList, TheEndsOfRangesAreTaken) {
  for (const OperatorDescription& description : operators()) {
    for (const Option& option : description.options) {
      if (option.type != OptionType::kFloat) continue;
      int tried = 0;
      for (const test::OperatorCase& what : test::all_operator_cases()) {
        if (&what.config.description() != &description || !what.config.means_something(option))
          continue;
        for (const double end : {option.low, option.high}) {
          OperatorConfig config = what.with(kSize);
          char text[32];
          std::snprintf(text, sizeof(text), "%g", end);
          must(config.set_option(option.name, text));
          const auto info = config.info();
          EXPECT_TRUE(info) << what.name << ": " << info.error().text;
          ++tried;
        }
      }
      const auto& paths = test::operator_paths();
      const bool has_paths = std::any_of(paths.begin(), paths.end(), [&](const auto& path) {
        return description.name == std::string(path.operator_name);
      });
      if (has_paths) {
        EXPECT_GT(tried, 0) << description.name << ": no path uses " << option.name;
      }
    }
  }
}

// Fails when `set_input` does not set the size, the format, or the gray range of an operator that
// has one.
TEST(OperatorList, TheInputIsSet) {
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

// Fails when a configuration counts as another operator's, or when options set other members.
TEST(OperatorList, AConfigurationKnowsItsOperator) {
  OpticalFlowConfig flow = OpticalFlowConfig::fast(kSize);
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

  // A copy is independent, and may become a configuration of another operator.
  OperatorConfig copy = config;
  must(copy.set_option("window", "7"));
  EXPECT_EQ(config.get_if<OpticalFlowConfig>()->window, 5);
  copy = OperatorConfig(CnnConfig{});
  EXPECT_STREQ(copy.description().name, "cnn");
  EXPECT_NE(copy.get_if<CnnConfig>(), nullptr);
  EXPECT_EQ(copy.get_if<CnnConfig>()->chain.view(), "edge");
}

// Fails when `create_engine` makes an engine with less or more memory than its operators need.
TEST(OperatorList, AnEngineHasRoomForAll) {
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
  EXPECT_FALSE(configs[0].create(engine)) << "the engine has room for one more";
}

// Fails when `create_engine` takes a bad configuration of an operator.
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
