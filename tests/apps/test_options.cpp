// The option tables on the command line, in reports, in files and in the documentation.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/operator_options.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

using nlohmann::json;

/// Commands with the name of their operator: all operators except `filter` have one.
std::vector<const char*> commands() {
  std::vector<const char*> names;
  for (const OperatorDescription& description : operators())
    if (std::string(description.name) != "filter") names.push_back(description.name);
  return names;
}

std::string without_blanks(const std::string& text) {
  std::string kept;
  for (const char c : text)
    if (c != ' ' && c != '\n') kept += c;
  return kept;
}

bool is_offered(const Option& option) {
  return std::string_view(option.name) != "depth" && std::string_view(option.name) != "priority";
}
/// `flow --deviation` names a file of the plane that this option adds.
bool names_a_file(const Option& option) {
  return std::string_view(option.name) == "deviation";
}

// Example failure: an option of the table is missing on the command line, or its help shows a
// different range or default.
TEST(ProgramOptions, AreInTheHelp) {
  for (const char* name : commands()) {
    const OperatorDescription& description = *find_operator(name);
    const OperatorConfig defaults(description);
    const std::string help = without_blanks(run_program({name, "--help"}).out);
    for (const Option& option : description.options) {
      const std::string flag = app::flag_of(option);
      if (!is_offered(option)) {
        EXPECT_EQ(help.find(flag), std::string::npos) << name << " " << flag;
        continue;
      }
      EXPECT_NE(help.find(flag), std::string::npos) << name << " " << flag;
      if (names_a_file(option)) continue;
      EXPECT_NE(help.find(without_blanks(option.help)), std::string::npos) << name << " " << flag;
      EXPECT_NE(help.find(without_blanks(app::values_text(option))), std::string::npos)
          << name << " " << flag;
      const std::string standard = defaults.get_option(option).c_str();
      if (!standard.empty()) {
        // CLI11 writes "=default" before version 2.4, and "[default]" since.
        const std::string value = without_blanks(standard);
        EXPECT_TRUE(help.find("=" + value) != std::string::npos ||
                    help.find("[" + value + "]") != std::string::npos)
            << name << " " << flag << " " << standard;
      }
    }
  }
}

std::vector<std::string> command_of(const char* name) {
  return {name, "test:32x32,frames=2", "--limit", std::string(name) == "flow" ? "2" : "1"};
}

// Example failure: two different runs report the same configuration, or a report cannot be used as
// a configuration.
TEST(ProgramOptions, AreInTheReport) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> runs = {
      {"flow"},
      {"flow", "--preset", "quality", "--smoothness", "7.5", "--invalid", "zero", "--roi",
       "2,3,20,21", "--warps=2"},
      {"flow", "--ridge", "0.25", "--window-weight", "gaussian"},
      {"flow", "--method", "kernels", "--kernels", "foveated", "--fovea-x", "3.5", "--storage",
       "half", "--taps", "5x7x2"},
      {"halftone"},
      {"halftone", "--template", "hlf5", "--start", "noise", "--seed", "4294967295"},
      {"cnn"},
      {"cnn", "--template", "erosion | edge", "--boundary", "-0.25", "--update", "raster",
       "--warm-start=false"},
  };
  for (const std::vector<std::string>& run : runs) {
    const std::vector<std::string> more(run.begin() + 1, run.end());
    const char* const name = run.front().c_str();
    const json report = json_of(plus(command_of(name), more));
    const json& config = report["config"];
    EXPECT_EQ(config["operator"], name);
    app::OptionTexts texts;
    for (std::size_t i = 0; i < more.size(); ++i) {
      const std::size_t equals = more[i].find('=');
      if (equals != std::string::npos)
        texts.emplace_back(more[i].substr(2, equals - 2), more[i].substr(equals + 1));
      else
        texts.emplace_back(more[i].substr(2), more[i + 1]), ++i;
    }
    const OperatorConfig expected = app::operator_config(*find_operator(name), texts);
    std::size_t options = 1;  // "operator"
    for (const Option& option : expected.options()) {
      EXPECT_EQ(config.contains(option.name), expected.means_something(option)) << option.name;
      if (!expected.means_something(option)) continue;
      ++options;
      const json& value = config[option.name];
      const std::string text = expected.get_option(option).c_str();
      EXPECT_EQ(value.is_string() ? value.get<std::string>() : value.dump(),
                value.is_string() ? text : json::parse(text).dump())
          << option.name;
      EXPECT_EQ(value.is_boolean(), option.type == OptionType::kBool) << option.name;
      EXPECT_EQ(value.is_number(),
                option.type == OptionType::kInt || option.type == OptionType::kFloat)
          << option.name;
    }
    EXPECT_EQ(config.size(), options);
    // The configuration alone, and the whole report.
    for (const json& contents : {config, report}) {
      std::ofstream(folder / "c.json") << contents;
      EXPECT_EQ(json_of(plus(command_of(name), {"--config", folder / "c.json"}))["config"], config);
    }
  }
}

// Example failure: a file of options with a mistake is accepted, or the file takes precedence over
// the command line.
TEST(ProgramOptions, CanComeFromAFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "c.json";
  const auto with = [&](const std::string& contents, const std::vector<std::string>& more = {}) {
    std::ofstream(path) << contents;
    return plus(plus(command_of("flow"), {"--config", path}), more);
  };
  EXPECT_EQ(json_of(with(R"({"window": 9, "window-weight": "gaussian"})"))["config"]["window"], 9);
  EXPECT_EQ(json_of(with(R"({"sweeps": 9, "preset": "quality"})",
                         {"--sweeps", "13"}))["config"]["sweeps"],
            13);
  expect_error(with("{"), {"c.json", "JSON"});
  expect_error(with("[1]"), {"c.json", "object"});
  expect_error(with(R"({"windows": 9})"), {"windows", "window"});
  expect_error(with(R"({"window": [9]})"), {"c.json", "window", "number"});
  expect_error(with(R"({"window": 8})"), {"--window is 8", "odd"});
  expect_error(with(R"({"operator": "cnn", "window": 9})"), {"c.json", "cnn", "flow"});
  expect_error(with(R"({"window": )" + std::string(100000, '[') + std::string(100000, ']') + "}"),
               {"c.json", "window", "an array"});
  expect_error(plus(command_of("flow"), {"--config", "/dev/zero"}), {"/dev/zero", "regular file"});
  std::filesystem::remove(path);
  expect_error(plus(command_of("flow"), {"--config", path}), {"c.json"});
  EXPECT_EQ(
      json_of({"latency", "--size", "32x32", "--fps", "500", "--frames", "3", "--budget-ms",
               "10000", "--memory", "host", "--pipeline", "flow window=7"})["config"]["window"],
      7);
}

// Example failure: the default is a method for slow motion, and a motion of two pixels between two
// frames is computed wrongly.
TEST(ProgramOptions, FlowWithoutOptionsIsThePresetFast) {
  const json plain = json_of(command_of("flow"));
  EXPECT_EQ(plain["config"]["method"], "pyramid");
  EXPECT_EQ(plain["config"]["preset"], "fast");
  EXPECT_EQ(plain["config"], json_of(plus(command_of("flow"), {"--preset", "fast"}))["config"]);
}

// Example failure: docs/options.md is from an earlier table.
TEST(ProgramOptions, AreInTheDocumentation) {
  std::ifstream file(std::string(OCELLUS_DOCS) + "/options.md");
  if (!file) GTEST_SKIP() << "docs/options.md does not exist";
  std::stringstream page;
  page << file.rdbuf();
  const std::string tables = run_program({"options", "--markdown"}).out;
  const std::size_t begin = page.str().find("## flow");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(page.str().substr(begin) + "\n", tables)
      << "update the page with toolchains/options-page";
}

// Example failure: the JSON lacks an operator or an option.
TEST(ProgramOptions, ArePrintedAsJson) {
  const json all = json_of({"options"});
  ASSERT_EQ(all["operators"].size(), operators().size());
  for (std::size_t i = 0; i < operators().size(); ++i) {
    EXPECT_EQ(all["operators"][i]["operator"], operators()[i].name);
    EXPECT_EQ(all["operators"][i]["options"].size(), operators()[i].options.size());
  }
  expect_error({"options", "flwo"}, {"flwo", "flow"});
  EXPECT_NE(run_program({"options", "flow"}).out.find("window_weight"), std::string::npos);
}

}  // namespace
}  // namespace ocellus::test
