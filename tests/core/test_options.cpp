// The option tables of all operators: every row is complete, every value is read back as it was
// set, and every error states the name, the value and the allowed values.
#include "ocellus/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocellus/neocognitron_model.h"
#include "ocellus/ocellus.h"
#include "support/files.h"

namespace ocellus {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Expected<void> set(OperatorConfig& config, const Settings& settings) {
  std::vector<OptionSetting> views;
  views.reserve(settings.size());
  for (const auto& [name, value] : settings) views.push_back({name, value});
  return config.set_options(views);
}

OperatorConfig made(const OperatorDescription& description, const Settings& settings) {
  OperatorConfig config(description);
  config.set_input({64, 48}, PixelFormat::kGray8);
  const Expected<void> done = set(config, settings);
  if (!done) ADD_FAILURE() << done.error().text;
  return config;
}

std::string text_of(const OperatorConfig& config, const Option& option) {
  return std::string(config.get_option(option).view());
}

/// The error text for this value, or an empty text if it is accepted.
std::string refusal(OperatorConfig config, const std::string& name, const std::string& value) {
  const Expected<void> done = config.set_option(name, value);
  if (done) return "";
  EXPECT_EQ(done.error().status, Status::kInvalidArgument) << done.error().text;
  return done.error().text;
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "\"" << word << "\" is missing in: " << text;
}

/// A number as shown in error texts.
std::string shown(const Option& option, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), option.type == OptionType::kInt ? "%.0f" : "%g", value);
  return text;
}
/// A number with all digits of a float.
std::string exact(const Option& option, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), option.type == OptionType::kInt ? "%.0f" : "%.9g", value);
  return text;
}

/// Settings with which an option applies, and settings with which it does not. Both are empty if
/// the defaults suffice.
struct Meaning {
  std::string operator_name;
  std::string option;
  Settings with;
  Settings without;
};

const Settings kKernels = {{"method", "kernels"}};

/// For a row whose condition is a choice or a flag of the same operator: the setting is found by
/// trying all of them.
std::optional<Meaning> find_meaning(const OperatorDescription& description, const Option& row) {
  const bool by_default = OperatorConfig(description).means_something(row);
  for (const Option& other : description.options) {
    std::vector<std::string> values;
    if (other.type == OptionType::kBool) values = {"false", "true"};
    for (const OptionChoice& choice : other.choices) values.emplace_back(choice.word);
    for (const std::string& value : values) {
      OperatorConfig config(description);
      if (!config.set_option(other.name, value)) continue;
      if (config.means_something(row) == by_default) continue;
      const Settings setting = {{other.name, value}};
      return Meaning{description.name, row.name, by_default ? Settings{} : setting,
                     by_default ? setting : Settings{}};
    }
  }
  return std::nullopt;
}

const std::vector<Meaning>& meanings() {
  static const std::vector<Meaning> all = [] {
    std::vector<Meaning> list = {
        {"flow", "coarse_warps", {}, {{"levels", "2"}}},
        {"flow", "window_sigma", {{"window_weight", "gaussian"}}, {}},
        {"flow", "storage", {{"method", "kernels"}, {"kernels", "per-pixel"}}, {}},
        {"flow", "storage", {{"method", "kernels"}, {"kernels", "foveated"}}, kKernels},
        {"filter", "storage", {{"kernels", "per-pixel"}}, {}},
        {"filter", "storage", {{"kernels", "foveated"}}, {{"kernels", "uniform"}}},
        {"halftone", "preset", {}, {{"template", "hlf5"}}},
        {"halftone", "levels", {{"template", "hlf5"}}, {}},
        {"halftone", "seed", {{"start", "noise"}}, {}},
        {"cnn", "start", {}, {{"initial", "start.pgm"}}},
        {"cnn", "seed", {{"start", "noise"}}, {}},
        {"cnn", "color_spacing", {{"update", "colors"}}, {{"update", "raster"}}},
        {"cnn", "color_spacing", {}, {{"update", "synchronous"}}},
        {"network", "feedback_tolerance", {{"feedback_rounds", "1"}}, {}},
    };
    for (const Option& row : find_operator("network")->options)
      if (std::string_view(row.needs) == "no model")
        list.push_back({"network", row.name, {}, {{"model", "network.ocellus"}}});
    for (const char* option :
         {"preset", "solver", "levels", "warps", "coarse_warps", "ridge", "smoothing_size"})
      list.push_back({"flow", option, {}, kKernels});
    for (const char* option : {"kernels", "taps", "sigma_space", "sigma_time"})
      list.push_back({"flow", option, kKernels, {}});
    for (const char* option : {"fovea_x", "fovea_y", "fovea_radius"}) {
      list.push_back({"flow", option, {{"method", "kernels"}, {"kernels", "foveated"}}, kKernels});
      list.push_back({"filter", option, {{"kernels", "foveated"}}, {}});
    }
    for (const OperatorDescription& description : operators()) {
      for (const Option& row : description.options) {
        const auto is_of_row = [&](const Meaning& meaning) {
          return meaning.operator_name == description.name && meaning.option == row.name;
        };
        if (row.has_meaning == nullptr || std::any_of(list.begin(), list.end(), is_of_row))
          continue;
        if (auto found = find_meaning(description, row)) list.push_back(std::move(*found));
      }
    }
    return list;
  }();
  return all;
}

Settings settings_for(const OperatorDescription& description, const Option& option) {
  for (const Meaning& meaning : meanings())
    if (meaning.operator_name == description.name && meaning.option == option.name)
      return meaning.with;
  return {};
}

/// Calls `check` for each operator and row, with a configuration to which the row applies.
template <typename Check>
void for_each_row(Check check) {
  for (const OperatorDescription& description : operators()) {
    for (const Option& option : description.options) {
      SCOPED_TRACE(std::string(description.name) + " " + option.name);
      check(description, option, made(description, settings_for(description, option)));
    }
  }
}

// ---- rows

// Fails when a row lacks a field that its type needs, or when its texts do not have the form that
// the programs print.
TEST(Options, EveryRowIsComplete) {
  for (const OperatorDescription& description : operators()) {
    std::set<std::string> names;
    EXPECT_FALSE(description.options.empty());
    for (const Option& option : description.options) {
      SCOPED_TRACE(std::string(description.name) + " " + option.name);
      const std::string name = option.name;
      EXPECT_TRUE(names.insert(name).second) << "two rows have this name";
      ASSERT_FALSE(name.empty());
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos);
      EXPECT_TRUE(std::islower(name.front()));
      EXPECT_NE(name.back(), '_');
      ASSERT_NE(option.unit, nullptr);
      ASSERT_NE(option.needs, nullptr);
      ASSERT_NE(option.help, nullptr);
      const std::string help = option.help;
      ASSERT_FALSE(help.empty());
      EXPECT_TRUE(std::isupper(help.front())) << help;
      EXPECT_NE(help.back(), '.') << help;
      EXPECT_EQ(help.find(". "), std::string::npos) << "more than one sentence: " << help;
      EXPECT_EQ(option.has_meaning == nullptr, option.needs[0] == '\0')
          << "a row must have both a condition and its description, or neither";
      EXPECT_EQ(option.get != nullptr, option.type != OptionType::kText);
      EXPECT_EQ(option.set != nullptr, option.type != OptionType::kText);
      EXPECT_EQ(option.get_text != nullptr, option.type == OptionType::kText);
      EXPECT_EQ(option.set_text != nullptr, option.type == OptionType::kText);
      EXPECT_EQ(option.choices.empty(), option.type != OptionType::kChoice);
      if (option.type == OptionType::kInt || option.type == OptionType::kFloat) {
        EXPECT_LT(option.low, option.high);
      }
      if (option.odd) {
        EXPECT_EQ(option.type, OptionType::kInt);
        EXPECT_NE(std::fmod(option.low, 2.0), 0.0);
        EXPECT_NE(std::fmod(option.high, 2.0), 0.0);
      }
      std::set<std::string> words;
      std::set<int> values;
      for (const OptionChoice& choice : option.choices) {
        ASSERT_NE(choice.word, nullptr);
        ASSERT_NE(choice.help, nullptr);
        EXPECT_NE(choice.word[0], '\0');
        EXPECT_NE(choice.help[0], '\0');
        EXPECT_TRUE(words.insert(choice.word).second) << choice.word;
        EXPECT_TRUE(values.insert(choice.value).second) << choice.word;
      }
    }
  }
}

// Fails when a default cannot be set, or is read back as a different value.
TEST(Options, EveryDefaultCanBeSet) {
  for (const OperatorDescription& description : operators()) {
    OperatorConfig config = made(description, {});
    for (const Option& option : description.options) {
      if (!config.means_something(option)) continue;
      SCOPED_TRACE(std::string(description.name) + " " + option.name);
      const std::string text = text_of(config, option);
      const Expected<void> done = config.set_option(option.name, text);
      ASSERT_TRUE(done) << done.error().text;
      EXPECT_EQ(text_of(config, option), text);
    }
  }
}

// Fails when the getter of a row dereferences a member that the configuration does not have.
// Programs print rows that do not apply, too.
TEST(Options, EveryRowCanBeReadEvenIfItDoesNotApply) {
  for_each_row([](const OperatorDescription& description, const Option& option,
                  const OperatorConfig& config) {
    EXPECT_EQ(text_of(OperatorConfig(description), option).find('\n'), std::string::npos);
    EXPECT_TRUE(config.means_something(option));
  });
}

// Fails when the end of a range is refused, or when a value beyond it is accepted or refused
// without the name, the value and the range.
// Promises: ERR-004.
TEST(Options, NumbersHaveTheirRange) {
  for_each_row([](const OperatorDescription&, const Option& option, OperatorConfig config) {
    const bool whole = option.type == OptionType::kInt;
    if (!whole && option.type != OptionType::kFloat) return;
    for (const double end : {option.low, option.high}) {
      const Expected<void> done = config.set_option(option.name, shown(option, end));
      ASSERT_TRUE(done) << done.error().text;
      EXPECT_EQ(static_cast<float>(config.get_number(option)), static_cast<float>(end));
    }
    const double step = whole ? 1.0 : 0.01;
    const double low = whole ? option.low - 1.0 : option.low - std::abs(option.low) * step - step;
    const double high =
        whole ? option.high + 1.0 : option.high + std::abs(option.high) * step + step;
    const std::vector<std::string> range = {std::string(option.name) + " is ", " to ",
                                            shown(option, option.low), shown(option, option.high),
                                            option.unit};
    for (const double beyond : {low, high}) {
      const std::string text = refusal(config, option.name, exact(option, beyond));
      expect_words(text, range);
      expect_words(text, {shown(option, beyond)});
    }
    for (const char* beyond :
         {"-99999999999999999999", "99999999999999999999999999999999999999999"})
      expect_words(refusal(config, option.name, beyond), range);
    if (!option.odd) return;
    for (const double even : {option.low + 1.0, option.high - 1.0}) {
      const std::string text = refusal(config, option.name, shown(option, even));
      expect_words(text, range);
      expect_words(text, {shown(option, even), "odd"});
    }
  });
}

// Fails when a text that is not a number is accepted as one.
TEST(Options, NumbersRefuseOtherTexts) {
  for_each_row([](const OperatorDescription&, const Option& option, const OperatorConfig& config) {
    const bool whole = option.type == OptionType::kInt;
    if (!whole && option.type != OptionType::kFloat) return;
    for (const std::string bad : {"nan", "NaN", "-nan", "inf", "-inf", "infinity"}) {
      expect_words(refusal(config, option.name, bad),
                   {std::string(option.name) + " is ", shown(option, option.low),
                    shown(option, option.high)});
    }
    std::vector<std::string> texts = {"",    " ",   "12x", "x12", "1 ",   " 1",
                                      "--1", "1,5", "0x3", "on",  "true", std::string("1\0", 2)};
    if (whole) texts.insert(texts.end(), {"1.5", "3.0", "1e1"});
    for (const std::string& bad : texts) {
      const std::string text = refusal(config, option.name, bad);
      expect_words(text, {std::string(option.name) + " is \"" + bad.c_str(),
                          whole ? "a whole number" : "a number", shown(option, option.low),
                          shown(option, option.high)});
    }
  });
}

// Fails when a valid word is refused, or when another text is accepted or refused without listing
// the words.
// Promises: ERR-004.
TEST(Options, ChoicesAcceptTheirWordsOnly) {
  for_each_row([](const OperatorDescription& description, const Option& option,
                  const OperatorConfig& config) {
    std::vector<std::string> words;
    if (option.type == OptionType::kBool) words = {"true", "false"};
    for (const OptionChoice& choice : option.choices) words.push_back(choice.word);
    if (words.empty()) return;
    for (const std::string& word : words) {
      OperatorConfig changed = config;
      const Expected<void> done = changed.set_option(option.name, word);
      ASSERT_TRUE(done) << done.error().text;
      EXPECT_EQ(text_of(changed, option), word);
    }
    for (const OptionChoice& choice : option.choices) {
      OperatorConfig changed = made(description, settings_for(description, option));
      EXPECT_TRUE(changed.set_option(option.name, choice.word));
      EXPECT_EQ(changed.get_number(option), choice.value);
    }
    for (const std::string bad : {"", "nonsense", "1", "TRUE", " true"}) {
      const std::string text = refusal(config, option.name, bad);
      expect_words(text, words);
      expect_words(text, {std::string(option.name) + " is \"" + bad + "\""});
    }
  });
}

// ---- conditions

// Fails when a row never applies, or applies in spite of its condition. Also fails when a row can
// be set where it does not apply, or when the error does not name the condition.
TEST(Options, OptionsThatDoNotApplyAreRefused) {
  std::set<std::string> seen;
  for (const Meaning& meaning : meanings()) {
    SCOPED_TRACE(meaning.operator_name + " " + meaning.option);
    const OperatorDescription* const description = find_operator(meaning.operator_name);
    ASSERT_NE(description, nullptr);
    const Option* const option = find_option(description->options, meaning.option);
    ASSERT_NE(option, nullptr);
    seen.insert(meaning.operator_name + " " + meaning.option);
    EXPECT_TRUE(made(*description, meaning.with).means_something(*option));
    const OperatorConfig without = made(*description, meaning.without);
    ASSERT_FALSE(without.means_something(*option));
    const std::string value = text_of(without, *option);
    const std::string text = refusal(without, meaning.option, value);
    expect_words(text, {meaning.option + " has no meaning", "needs", option->needs});

    // Together with the settings that exclude it, in either order.
    for (const bool last : {false, true}) {
      Settings settings = meaning.without;
      settings.insert(last ? settings.end() : settings.begin(), {meaning.option, value});
      OperatorConfig config(*description);
      const Expected<void> done = set(config, settings);
      ASSERT_FALSE(done);
      expect_words(done.error().text, {meaning.option + " has no meaning", option->needs});
    }
    // Together with the settings that it needs.
    for (const bool last : {false, true}) {
      OperatorConfig config = made(*description, meaning.with);
      Settings settings = meaning.with;
      settings.insert(last ? settings.end() : settings.begin(),
                      {meaning.option, text_of(config, *option)});
      config = OperatorConfig(*description);
      const Expected<void> done = set(config, settings);
      EXPECT_TRUE(done) << done.error().text;
    }
  }
  // Kernels of a file or a callback have fixed taps. Only the text for a file can select them.
  for (const char* name : {"taps", "sigma_space", "sigma_time"}) {
    seen.insert(std::string("filter ") + name);
    SpatioTemporalFilterConfig filter;
    EXPECT_TRUE(find_option(filter.options(), name)->means_something(&filter));
    filter.kernels.origin = KernelOrigin::kFile;
    const std::string text = refusal(filter, name, get_option(filter, name)->c_str());
    expect_words(text, {std::string(name) + " has no meaning", "not read from a file"});
  }
  for (const OperatorDescription& description : operators()) {
    for (const Option& option : description.options) {
      if (option.has_meaning == nullptr) continue;
      EXPECT_TRUE(seen.count(std::string(description.name) + " " + option.name))
          << description.name << " " << option.name << " is not in the table of this test";
    }
  }
}

// ---- presets

// Fails when the order of the settings matters, or when an option that is not set has a different
// value than in the preset.
TEST(Options, APresetIsAppliedBeforeOtherOptions) {
  const std::vector<Settings> orders = {{{"preset", "quality"}, {"levels", "2"}, {"warps", "5"}},
                                        {{"warps", "5"}, {"levels", "2"}, {"preset", "quality"}},
                                        {{"levels", "2"}, {"preset", "quality"}, {"warps", "5"}}};
  for (const Settings& settings : orders) {
    const OperatorConfig config = made(*find_operator("flow"), settings);
    const auto* const flow = config.get_if<OpticalFlowConfig>();
    ASSERT_NE(flow, nullptr);
    OpticalFlowConfig expected = OpticalFlowConfig::quality({64, 48});
    expected.pyramid.warps = 5;
    expected.pyramid.levels = 2;
    EXPECT_EQ(flow->pyramid, expected.pyramid);
    EXPECT_EQ(flow->window_weight, expected.window_weight);
    EXPECT_EQ(flow->preset, FlowPreset::kQuality);
    EXPECT_EQ(flow->size, (ImageSize{64, 48}));
  }
}

// Fails when a preset or a method differs from the result of the function with its name.
TEST(Options, PresetsAndMethodsAreThoseOfTheFunctions) {
  const auto expect_same = [](const OpticalFlowConfig& a, const OpticalFlowConfig& b) {
    for (const Option& option : OpticalFlowConfig::options()) {
      char text[2][kMaxOptionText];
      detail::get_option(option, &a, text[0], sizeof(text[0]));
      detail::get_option(option, &b, text[1], sizeof(text[1]));
      EXPECT_STREQ(text[0], text[1]) << option.name;
    }
  };
  const OpticalFlowConfig plain;
  expect_same(plain, OpticalFlowConfig::fast({}));
  OpticalFlowConfig config;
  ASSERT_TRUE(set_option(config, "preset", "quality"));
  expect_same(config, OpticalFlowConfig::quality({}));
  ASSERT_TRUE(set_option(config, "preset", "fast"));
  expect_same(config, plain);
  ASSERT_TRUE(set_option(config, "method", "kernels"));
  expect_same(config, OpticalFlowConfig::with_kernels());
  const OptionSetting back[] = {{"preset", "quality"}, {"method", "pyramid"}};
  const Expected<void> done = set_options(config, back);
  ASSERT_TRUE(done) << done.error().text;
  expect_same(config, OpticalFlowConfig::quality({}));
}

// Fails when a preset changes a value that it does not define.
TEST(Options, APresetKeepsOtherValues) {
  OpticalFlowConfig config = OpticalFlowConfig::fast({320, 240});
  config.format = PixelFormat::kGray16;
  config.roi = {1, 2, 30, 40};
  config.depth = 3;
  config.invalid = InvalidFlow::kZero;
  config.confidence_threshold = 0.25f;
  ASSERT_TRUE(set_option(config, "preset", "quality"));
  EXPECT_EQ(config.size, (ImageSize{320, 240}));
  EXPECT_EQ(config.format, PixelFormat::kGray16);
  EXPECT_EQ(config.roi.width, 30);
  EXPECT_EQ(config.depth, 3);
  EXPECT_EQ(config.invalid, InvalidFlow::kZero);
  EXPECT_EQ(config.confidence_threshold, 0.25f);
  // Setting the current method changes nothing.
  config.window = 9;
  ASSERT_TRUE(set_option(config, "method", "pyramid"));
  EXPECT_EQ(config.window, 9);
  EXPECT_EQ(config.pyramid, OpticalFlowConfig::quality({}).pyramid);
  // The confidence of the kernels has a different unit.
  ASSERT_TRUE(set_option(config, "method", "kernels"));
  EXPECT_EQ(config.depth, 3);
  EXPECT_EQ(config.invalid, InvalidFlow::kZero);
  EXPECT_EQ(config.confidence_threshold, 0.0f);
}

// Fails when the library's own kernels keep the taps and convolutions of the previous kernels.
TEST(Options, KernelsSetByAWordAreTheLibrarysOwn) {
  SpatioTemporalFilterConfig config;
  config.size = {64, 48};
  config.kernels.origin = KernelOrigin::kCallback;
  config.kernels.convolutions = 8;
  config.kernels.terms = 4;
  config.kernels.nx = 1;
  EXPECT_EQ(get_option(config, "kernels")->view(), "callback");
  ASSERT_TRUE(set_option(config, "kernels", "foveated"));
  const Expected<OperatorInfo> info = SpatioTemporalFilter::info_for(config);
  ASSERT_TRUE(info) << info.error().text;
  EXPECT_EQ(info->plane_count, 3);
  // From one word to another, the taps stay the same.
  ASSERT_TRUE(set_option(config, "taps", "7x5x4"));
  ASSERT_TRUE(set_option(config, "kernels", "uniform"));
  EXPECT_EQ(get_option(config, "taps")->view(), "7x5x4");
}

// ---- names

// Fails when a name with '-' in place of '_' is not accepted.
TEST(Options, NamesAcceptHyphensAndUnderscores) {
  for_each_row(
      [](const OperatorDescription& description, const Option& option, OperatorConfig config) {
        std::string name = option.name;
        EXPECT_EQ(find_option(description.options, name), &option);
        for (char& letter : name)
          if (letter == '_') letter = '-';
        EXPECT_EQ(find_option(description.options, name), &option);
        const Expected<void> done = config.set_option(name, text_of(config, option));
        EXPECT_TRUE(done) << done.error().text;
      });
}

// Fails when an unknown name is accepted, or is refused without the nearest name or, if none is
// near, without a list of the names.
TEST(Options, UnknownNamesAreRefused) {
  for (const OperatorDescription& description : operators()) {
    SCOPED_TRACE(description.name);
    for (const std::string bad : {"Depth", "dept", "depths", " depth", "dpeth", "drpth"}) {
      EXPECT_EQ(find_option(description.options, bad), nullptr);
      EXPECT_EQ(refusal(OperatorConfig(description), bad, "1"),
                "there is no option \"" + bad + "\"; the nearest is depth");
    }
    for (const std::string bad : {"nonsense", "", "xy", "ze"}) {
      EXPECT_EQ(find_option(description.options, bad), nullptr);
      const std::string text = refusal(OperatorConfig(description), bad, "1");
      expect_words(text, {"no option \"" + bad + "\""});
      // As many names as fit in the text, each of them complete.
      std::string names = text.substr(text.find("there are ") + 10);
      std::size_t count = 0;
      for (std::size_t at = 0; at <= names.size(); ++count) {
        const std::size_t end = std::min(names.find(", ", at), names.size());
        const std::string name = names.substr(at, end - at);
        if (name == "...") {
          EXPECT_GE(count, 10u);
          count = description.options.size();
          break;
        }
        ASSERT_LT(count, description.options.size());
        EXPECT_EQ(name, description.options[count].name);
        at = end + 2;
      }
      EXPECT_EQ(count, description.options.size());
    }
  }
  OpticalFlowConfig config;
  const auto text = get_option(config, "nonsense");
  ASSERT_FALSE(text);
  expect_words(text.error().text, {"no option \"nonsense\""});
  const auto done = set_option(config, std::string(5000, 'x'), "1");
  ASSERT_FALSE(done);
  expect_words(done.error().text, {"there are method, preset"});
}

// Fails when another name than the nearest one is proposed, or one that is not near.
TEST(Options, NearestName) {
  const auto nearest = [](std::string_view given) {
    NearestName search(given);
    for (const Option& option : OpticalFlowConfig::options()) search.consider(option.name);
    return std::string(search.found());
  };
  EXPECT_EQ(nearest("windw"), "window");
  EXPECT_EQ(nearest("widnow"), "window");
  EXPECT_EQ(nearest("window_sigm"), "window_sigma");
  EXPECT_EQ(nearest("window-sgma"), "window_sigma");
  EXPECT_EQ(nearest("confidence-treshold"), "confidence_threshold");
  EXPECT_EQ(nearest("threshold"), "confidence_threshold");
  EXPECT_EQ(nearest("color"), "");
  EXPECT_EQ(nearest("backend"), "");
  EXPECT_EQ(nearest(""), "");
  EXPECT_EQ(nearest(std::string(5000, 'w')), "");
}

// ---- round trip

/// A value that differs from the current one, or an empty text if there is none.
std::string another_value(const OperatorConfig& config, const Option& option,
                          const std::string& initial, const std::string& model) {
  const std::string now = text_of(config, option);
  switch (option.type) {
    case OptionType::kBool:
      return now == "true" ? "false" : "true";
    case OptionType::kInt: {
      const double value = config.get_number(option) + 2.0;
      return exact(option, value <= option.high ? value : option.low);
    }
    case OptionType::kFloat: {
      // Digits that a float cannot represent in a short text.
      const double value = config.get_number(option) + 1.0 / 3.0;
      return exact(option, value <= option.high ? value : option.low);
    }
    case OptionType::kChoice:
      return now == option.choices.back().word ? option.choices.front().word
                                               : option.choices.back().word;
    case OptionType::kText:
      break;
  }
  const std::string name = option.name;
  if (name == "template") return "erosion | edge";
  if (name == "initial") return initial;
  if (name == "model") return model;
  for (const char* text :
       {"1,2,30,20", "7x5x4", "per-pixel", "-0.25", "gaussian-1.5", "5x5/3x3:32", "a"}) {
    OperatorConfig changed = config;
    if (text != now && changed.set_option(name, text) && changed.info()) return text;
  }
  ADD_FAILURE() << name << " takes none of the texts of this test";
  return "";
}

// Fails when a configuration that is printed and read again differs, or when an option cannot be
// set together with others.
TEST(Options, TextsReproduceTheConfiguration) {
  const test::TemporaryFolder folder;
  const std::string initial = folder / "initial.pgm";
  std::ofstream(initial) << "P5 64 48 255\n" << std::string(64 * 48, 'x');
  const auto file_of = [&](std::span<const std::uint8_t> bytes, const char* name) {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  };
  const std::string characters = file_of(library_model("digits-small"), "characters.ocellus");
  const std::string patches = file_of(library_cortex_model("digits"), "patches.ocellus");
  const std::string network = folder / "network.ocellus";
  ASSERT_TRUE(CorticalNetwork::create(binary_tree(4, 32))->save_file(network.c_str()));
  for (const OperatorDescription& description : operators()) {
    std::vector<Settings> setups = {{}};
    // Values of a choice; with the first of them, the others are possible.
    if (description.name == std::string("flow")) {
      setups.push_back({{"method", "pyramid"}});
      setups.push_back({{"levels", "3"}});
      setups.push_back({{"solver", "variational"}});
    }
    if (description.name == std::string("halftone")) setups.push_back({{"template", ""}});
    if (description.name == std::string("digits")) setups.push_back({{"layout", "find"}});
    if (description.name == std::string("cortex")) setups.push_back({{"layout", "tiles"}});
    if (description.name == std::string("network"))
      setups.insert(setups.end(), {{{"layout", "tiles"}}, {{"model", ""}}, {{"learn", "false"}}});
    if (description.name == std::string("cnn")) setups.push_back({{"initial", ""}});
    for (const Meaning& meaning : meanings())
      if (meaning.operator_name == description.name) setups.push_back(meaning.with);
    std::set<std::string> covered;
    for (const Settings& setup : setups) {
      SCOPED_TRACE(description.name);
      OperatorConfig config = made(description, setup);
      for (const Option& option : description.options) {
        const bool is_set = std::any_of(setup.begin(), setup.end(), [&](const auto& setting) {
          return setting.first == option.name;
        });
        if (is_set || !config.means_something(option)) continue;
        const std::string& model = description.name == std::string("cortex")    ? patches
                                   : description.name == std::string("network") ? network
                                                                                : characters;
        const std::string value = another_value(config, option, initial, model);
        OperatorConfig changed = config;
        const Expected<void> done = changed.set_option(option.name, value);
        ASSERT_TRUE(done) << done.error().text;
        // The options of the setup must still apply.
        const bool good = std::all_of(setup.begin(), setup.end(), [&](const auto& setting) {
          return changed.means_something(*find_option(description.options, setting.first));
        });
        if (!good) continue;
        EXPECT_NE(text_of(changed, option), text_of(config, option)) << option.name;
        config = changed;
        covered.insert(option.name);
      }
      Settings printed;
      for (const Option& option : description.options)
        if (config.means_something(option))
          printed.insert(printed.begin(), {option.name, text_of(config, option)});
      const OperatorConfig again = made(description, printed);
      for (const Option& option : description.options) {
        EXPECT_EQ(again.means_something(option), config.means_something(option)) << option.name;
        if (config.means_something(option)) {
          EXPECT_EQ(text_of(again, option), text_of(config, option)) << option.name;
        }
        if (option.type != OptionType::kText && config.means_something(option)) {
          EXPECT_EQ(again.get_number(option), config.get_number(option)) << option.name;
        }
      }
      const Expected<OperatorInfo> info = again.info();
      EXPECT_TRUE(info) << info.error().text;
    }
    for (const Option& option : description.options)
      EXPECT_TRUE(covered.count(option.name) > 0) << description.name << " " << option.name;
  }
}

// Fails when a region or taps are read from an invalid text.
TEST(Options, TextsOfNumbersAreChecked) {
  const OperatorConfig filter = made(*find_operator("filter"), {});
  for (const char* bad : {"1", "1,2,3", "1,2,3,4,5", "1,2,3,0", "-1,2,3,4", "1,2,0,4", "a,b,c,d",
                          "1, 2,3,4", "1,2,3,4 ", "1;2;3;4", "99999999999,0,1,1", ","})
    expect_words(refusal(filter, "roi", bad), {"roi: ", bad, "x,y,width,height"});
  for (const char* bad :
       {"", "7", "7x5", "7x5x1", "1x5x4", "7x26x4", "7x5x4x3", "7X5X4", "7x5x4 ", "-7x5x4"})
    expect_words(refusal(filter, "taps", bad), {"taps: ", bad, "NXxNYxNT", "2 to 25"});
  OperatorConfig config = filter;
  ASSERT_TRUE(config.set_option("roi", "1,2,30,20"));
  ASSERT_TRUE(config.set_option("roi", "")) << "an empty text selects the whole image";
  EXPECT_TRUE(config.get_if<SpatioTemporalFilterConfig>()->roi.empty());
}

// Fails when kernels that are neither a word nor a file are accepted, or when the error does not
// name the file.
TEST(Options, KernelsAreAWordOrAFile) {
  const test::TemporaryFolder folder;
  const std::string damaged = folder / "damaged.ocellus";
  std::ofstream(damaged) << "no kernels";
  OperatorConfig config = made(*find_operator("filter"), {});
  const auto refused = [&](const std::string& value) {
    OperatorConfig changed = config;
    const Expected<void> done = changed.set_option("kernels", value);
    EXPECT_FALSE(done) << value;
    return done ? Error{} : done.error();
  };
  const std::string missing = folder / "missing.ocellus";
  EXPECT_EQ(refused(missing).status, Status::kIoError);
  expect_words(refused(missing).text, {"kernels: ", missing, "uniform, per-pixel, foveated"});
  EXPECT_EQ(refused(damaged).status, Status::kCorruptFile);
  expect_words(refused(damaged).text, {"kernels: ", damaged});
  EXPECT_EQ(refused(folder.path()).status, Status::kIoError);
  for (const std::string& bad : {std::string(), std::string("a\0b", 3), std::string(5000, 'k')}) {
    EXPECT_EQ(refused(bad).status, Status::kInvalidArgument);
    expect_words(refused(bad).text, {"kernels: ", "uniform, per-pixel, foveated"});
  }
}

// ---- Text

// Fails when a text that is too long is cut off or becomes an empty one, or when a refused text
// changes the value.
TEST(Text, RefusesTextThatIsTooLong) {
  static_assert(std::is_constructible_v<Text<8>, const char(&)[8]>);
  static_assert(!std::is_constructible_v<Text<8>, const char(&)[9]>);
  static_assert(!std::is_constructible_v<Text<8>, const char*>);
  static_assert(!std::is_constructible_v<Text<8>, std::string>);
  constexpr Text<8> kLongest("1234567");
  static_assert(kLongest.view() == "1234567");
  Text<8> text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(Text<8>::capacity(), 7u);
  EXPECT_TRUE(text.assign("1234567"));
  EXPECT_STREQ(text.c_str(), "1234567");
  EXPECT_FALSE(text.assign("12345678"));
  EXPECT_FALSE(text.assign(std::string_view("ab\0c", 4)));
  EXPECT_FALSE(text.assign(std::string_view("\0", 1)));
  EXPECT_EQ(text.view(), "1234567");
  Text<8> other;
  EXPECT_TRUE(text.assign("ab"));
  EXPECT_TRUE(other.assign("ab"));
  EXPECT_TRUE(text == other);
  for (std::size_t i = 2; i < 8; ++i)
    EXPECT_EQ(text.data[i], '\0') << "the rest of the longer text remains";
  EXPECT_TRUE(text.assign(""));
  EXPECT_TRUE(text.empty());
  EXPECT_FALSE(text == other);
}

// Fails when an option cuts off a text, or refuses it without a reason.
TEST(Text, OptionsRefuseLongTextWithAReason) {
  const OperatorConfig cnn = made(*find_operator("cnn"), {});
  expect_words(refusal(cnn, "boundary", std::string(32, '1')), {"boundary: ", "32", "at most 31"});
  expect_words(refusal(cnn, "template", std::string(2048, 'a')),
               {"template: ", "2048", "at most 2047"});
  expect_words(refusal(cnn, "initial", std::string("a\0b", 3)), {"initial: ", "NUL"});
  OperatorConfig longest = cnn;
  EXPECT_TRUE(longest.set_option("initial", std::string(2047, 'a')));
  EXPECT_EQ(text_of(longest, *find_option(longest.options(), "initial")), std::string(2047, 'a'));
}

}  // namespace
}  // namespace ocellus
