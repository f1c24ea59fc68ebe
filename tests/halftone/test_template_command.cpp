// ocellus template: JSON gives the intended stages, every mistake is reported, and the output of
// `show` can be read again.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/run_command.h"
#include "ocellus/cell_templates.h"
#include "support/files.h"

namespace ocellus::app {
namespace {

using Stages = std::array<CellStage, kMaxCellStages>;

class TemplateCommand : public testing::Test {
 protected:
  std::string run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    const std::string message = test::run_command(add_template_command, arguments);
    printed_ = testing::internal::GetCapturedStdout();
    return message;
  }

  std::string make(const std::string& source, bool continuous = false) {
    std::ofstream(in_, std::ios::binary) << source;
    std::vector<std::string> arguments = {"template", "make", in_, "-o", out_};
    if (continuous) arguments.push_back("--continuous");
    return run(arguments);
  }

  std::vector<CellStage> made() {
    Stages stages;
    const auto info = read_cell_template_file(out_.c_str(), stages);
    EXPECT_TRUE(info) << info.error().text;
    if (!info) return {};
    note_ = info->note;
    return {stages.begin(), stages.begin() + info->stages};
  }

  const test::TemporaryFolder folder_;
  const std::string in_ = folder_ / "in";
  const std::string out_ = folder_ / "out.ocellus";
  std::string printed_;
  std::string note_;
};

// Fails when a number is stored at a wrong place.
TEST_F(TemplateCommand, ReadsEveryField) {
  ASSERT_EQ(make(R"({"note": "by hand, for a test", "stages": [
      {"a": [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "threshold": -2.5, "start": "noise", "seed": 77,
       "boundary": "fixed", "boundary_value": -1, "update": "colors", "color_spacing": 3,
       "sweeps": 12, "group_stages": 2, "max_passes": 30},
      {"b": [[0, 0, 0], [0, 1.5, 0], [0, 0, 0.25]], "levels": 16, "xi": 0.5, "input": "frame",
       "start": "constant", "start_value": 0.5, "boundary": "periodic", "update": "raster",
       "continuous": true}]})"),
            "");
  EXPECT_EQ(printed_, out_ + ": 2 stages\n");
  const auto stages = made();
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(note_, "by hand, for a test");
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(stages[0].weights.a[i], static_cast<float>(i + 1));
    EXPECT_EQ(stages[0].weights.b[i], 0.0f);
  }
  EXPECT_EQ(stages[0].weights.threshold, -2.5f);
  EXPECT_EQ(stages[0].start, CellStart::kNoise);
  EXPECT_EQ(stages[0].seed, 77u);
  EXPECT_EQ(stages[0].boundary, CellBoundary::kFixed);
  EXPECT_EQ(stages[0].boundary_value, -1.0f);
  EXPECT_EQ(stages[0].color_spacing, 3);
  EXPECT_EQ(stages[0].max_sweeps, 12);
  EXPECT_EQ(stages[0].group_stages, 2);
  EXPECT_EQ(stages[0].max_passes, 30);
  EXPECT_EQ(stages[1].weights.a[4], -1.0f) << "continuous";
  EXPECT_EQ(stages[1].weights.b[4], 1.5f);
  EXPECT_EQ(stages[1].weights.b[8], 0.25f);
  EXPECT_EQ(stages[1].levels, 16);
  EXPECT_EQ(stages[1].xi, 0.5f);
  EXPECT_EQ(stages[1].input, CellInput::kFrame);
  EXPECT_EQ(stages[1].start, CellStart::kConstant);
  EXPECT_EQ(stages[1].start_value, 0.5f);
  EXPECT_EQ(stages[1].boundary, CellBoundary::kPeriodic);
  EXPECT_EQ(stages[1].update, CellUpdate::kRaster);
}

// Fails when JSON gives other stages than those of the library, or a single stage is not read.
TEST_F(TemplateCommand, ReadsJson) {
  ASSERT_EQ(make(R"({"a": [[0, 1, 0], [1, 3, 1], [0, 1, 0]], "b": [[0, 0, 0], [0, 4, 0], [0, 0, 0]],
      "threshold": -1, "continuous": true, "start": "constant", "start_value": 1,
      "boundary": "fixed", "boundary_value": -1, "sweeps": 100000})"),
            "");
  const auto stages = made();
  ASSERT_EQ(stages.size(), 1u);
  const CellStage hole = *cell_template("hole");
  EXPECT_EQ(stages[0].weights.a, hole.weights.a);
  EXPECT_EQ(stages[0].weights.b, hole.weights.b);
  EXPECT_EQ(stages[0].weights.threshold, hole.weights.threshold);
  EXPECT_EQ(stages[0].start, hole.start);
  EXPECT_EQ(stages[0].start_value, hole.start_value);
  EXPECT_EQ(stages[0].boundary_value, hole.boundary_value);
  ASSERT_EQ(make(R"({"note": "n", "stages": [{"b": [[1,1,1],[1,1,1],[1,1,1]], "levels": 3,
      "update": "synchronous", "input": "frame", "xi": 2, "start": "blue_noise"},
      {"a": [[0,0,0],[0,2,0],[0,0,0]]}]})",
                 true),
            "");
  const auto two = made();
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].weights.a[4], -1.0f);
  EXPECT_EQ(two[1].weights.a[4], 1.0f);
  EXPECT_EQ(two[0].update, CellUpdate::kSynchronous);
  EXPECT_EQ(two[0].start, CellStart::kBlueNoise);
  EXPECT_EQ(note_, "n");
}

// Fails when the JSON that shows a template does not make the same template.
TEST_F(TemplateCommand, OutputOfShowCanBeMadeAgain) {
  for (const CellTemplateInfo& info : cell_templates()) {
    Stages stages;
    std::vector<CellStage> expected;
    if (info.stages == 1) {
      expected.push_back(*cell_template(info.name));
    } else {
      const auto count = parse_cell_chain(info.name, stages);
      ASSERT_TRUE(count);
      expected.assign(stages.begin(), stages.begin() + *count);
    }
    ASSERT_EQ(run({"template", "show", info.name}), "");
    ASSERT_EQ(make(printed_), "") << info.name;
    const auto stages_made = made();
    ASSERT_EQ(stages_made.size(), expected.size()) << info.name;
    EXPECT_EQ(note_, info.name);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const CellStage& a = stages_made[i];
      const CellStage& b = expected[i];
      EXPECT_EQ(a.weights.radius, b.weights.radius) << info.name;
      EXPECT_EQ(a.weights.a, b.weights.a) << info.name;
      EXPECT_EQ(a.weights.b, b.weights.b) << info.name;
      EXPECT_EQ(a.weights.threshold, b.weights.threshold) << info.name;
      EXPECT_EQ(a.levels, b.levels) << info.name;
      EXPECT_EQ(a.xi, b.xi) << info.name;
      EXPECT_EQ(a.input, b.input) << info.name;
      EXPECT_EQ(a.start, b.start) << info.name;
      EXPECT_EQ(a.start_value, b.start_value) << info.name;
      EXPECT_EQ(a.boundary, b.boundary) << info.name;
      EXPECT_EQ(a.boundary_value, b.boundary_value) << info.name;
      EXPECT_EQ(a.update, b.update) << info.name;
      EXPECT_EQ(a.color_spacing, b.color_spacing) << info.name;
      EXPECT_EQ(a.max_sweeps, b.max_sweeps) << info.name;
      EXPECT_EQ(a.group_stages, b.group_stages) << info.name;
      EXPECT_EQ(a.max_passes, b.max_passes) << info.name;
    }
  }
  // A file shows the same JSON as the chain of which it was made, with --json, too.
  ASSERT_EQ(run({"template", "show", "erosion(cross) | hlf3", "--json"}), "");
  const std::string text = printed_;
  ASSERT_EQ(make(text), "");
  ASSERT_EQ(run({"template", "show", out_}), "");
  EXPECT_EQ(printed_, text);
}

// Fails when the list lacks a template, or its JSON a field.
TEST_F(TemplateCommand, ListsAllTemplates) {
  ASSERT_EQ(run({"template", "list"}), "");
  for (const CellTemplateInfo& info : cell_templates())
    EXPECT_NE(printed_.find(std::string(info.name) + " "), std::string::npos) << info.name;
  ASSERT_EQ(run({"template", "list", "--json"}), "");
  const auto list = nlohmann::json::parse(printed_).at("templates");
  ASSERT_EQ(list.size(), cell_templates().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const CellTemplateInfo& info = cell_templates()[i];
    EXPECT_EQ(list[i].at("name"), info.name);
    EXPECT_EQ(list[i].at("description"), info.description);
    EXPECT_EQ(list[i].at("source"), info.source);
    EXPECT_EQ(list[i].at("converted"), info.converted);
    EXPECT_EQ(list[i].at("stages"), info.stages);
    EXPECT_EQ(list[i].contains("number"), info.number != nullptr);
  }
}

// Fails when a mistake is accepted, leaves a file, or is reported without its stage, its field, its
// value or the allowed values.
TEST_F(TemplateCommand, ReportsMistakesInJson) {
  const std::string b = R"("b": [[0,0,0],[0,1,0],[0,0,0]])";
  const std::pair<std::string, const char*> cases[] = {
      {"{\"a\": [[1,", "not valid JSON: parse error at line 1, column 11"},
      {"[1]", "the JSON is not an object"},
      {"{}", "the stage: neither a nor b is given"},
      {R"({"stages": []})", "\"stages\" must be an array of 1 to 16 stages"},
      {R"({"stages": [3]})", "stage 1: must be an object"},
      {R"({"stages": [{)" + b + R"(}], "nots": ""})", "\"nots\" is unknown; beside \"stages\""},
      {R"({"stages": [{)" + b + R"(}], "note": 3})", "\"note\" must be a string"},
      {R"({"stages": [{)" + b + R"(}, {)" + b + R"(, "levels": 1}]})",
       "stage 2: levels is 1; it must be a whole number, 2 to 256"},
      {"{" + b + R"(, "levels": "2"})",
       "the stage: levels is \"2\"; it must be a number, 2 to 256"},
      {"{" + b + R"(, "xi": null})", "the stage: xi is null; it must be a number"},
      {"{" + b + R"(, "start": 3})", "the stage: start is 3; it must be a word"},
      {"{" + b + R"(, "start": "plane"})", "the stage: start is \"plane\"; it must be one of"},
      {"{" + b + R"(, "continuous": 1})", "the stage: continuous is 1; it must be true or false"},
      {"{" + b + R"(, "gain": 1})", "the stage: \"gain\" is not a field; the fields are a, b, "},
      {R"({"a": 3})", "the stage: a must be an array of rows"},
      {R"({"a": [[1,2,3], 4]})", "rows, which are arrays of numbers; row 2 is not an array"},
      {R"({"a": [[1,2,3], [1, "NaN", 3], [1,2,3]]})", "row 2, column 2 is \"NaN\""},
      {R"({"a": [[1,2,3], [1, NaN, 3], [1,2,3]]})", "not valid JSON: parse error at line 1"},
      {R"({"a": [[1,2,3], [1, 1e999, 3], [1,2,3]]})", "not valid JSON: "},
      {R"({"a": [[1,2],[3,4]]})", "the stage: a is 2x2 (rows x columns); a must be 3x3"},
      {R"({"a": []})", "the stage: a is 0x0"},
      {R"({"b": [[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4]]})",
       "b is 4x4 (rows x columns); b must be"},
      {R"({"a": [[1,2,3],[1,2],[1,2,3]]})", "row 2 of a has 2 numbers, row 1 has 3"},
      {R"({"a": [[1,2,3],[1,2,3]]})", "the stage: a is 2x3 (rows x columns)"},
      {R"({"a": [[1,2,3],[1,2,20000],[1,2,3]]})",
       "the stage: a, row 2, column 3 is 20000; it must be a number, -16383 to 16383"},
      {"{" + b + R"(, "a": [[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1]]})",
       "the stage: a is 5x5 and b is 3x3; they must have the same size"},
      {"{" + b + R"(, "levels": 257})", "levels is 257; it must be a whole number, 2 to 256"},
      {"{" + b + R"(, "levels": 2.5})", "levels is 2.5; it must be a whole number, 2 to 256"},
      {"{" + b + R"(, "xi": 0})", "xi is 0; it must be a number, 1e-06 to 100"},
      {"{" + b + R"(, "sweeps": 0})", "sweeps is 0; it must be a whole number, 1 to 100000"},
      {"{" + b + R"(, "start_value": 2})", "start_value is 2; it must be a number, -1 to 1"},
      {"{" + b + R"(, "seed": -1})", "seed is -1; it must be a whole number, 0 to 4294967295"},
      {"{" + b + R"(, "seed": 1, "seed": 2})", "the JSON has \"seed\" twice in one object"},
      {"{" + b + R"(, "seed": 1})", "seed has no meaning without \"start\": \"noise\""},
      {"{" + b + R"(, "boundary_value": 0.5})",
       "boundary_value has no meaning without \"boundary\": \"fixed\""},
      {"{" + b + R"(, "update": "raster", "color_spacing": 3})",
       "color_spacing has no meaning without \"update\": \"colors\""},
      {"{" + b + R"(, "boundary": "wrap"})",
       "boundary is \"wrap\"; it must be one of fixed, zero-flux, periodic"},
      {"{" + b + R"(, "color_spacing": 10})",
       "color_spacing is 10; it must be a whole number, 0 to 9"},
      {"{" + b + R"(, "color_spacing": 1})", "color_spacing is 1; it must be 2 to 9"},
      {"{" + b + R"(, "move": "swap", "levels": 3})",
       "stages[0].move is kSwap with 3 levels; swaps need two"},
      {R"({"stages": [{)" + b + R"(}, {"move": "swap", "a": [[1,0,0],[0,0,0],[0,0,0]]}]})",
       "stages[1].move is kSwap; it needs a symmetric A: opposite weights must be equal"},
      {R"({"a": [[16000,0,0],[0,16000,0],[0,0,0]]})", "the weights of stages[0] are too large"},
      {"", "it is empty; it must hold templates as JSON"},
      {" \n", "it is empty; it must hold templates as JSON"},
      {std::string("a\0b", 3), "it must be JSON, which begins with {; it begins with \"a"},
      {"stage\na\n0 0 0\n0 1 0\n0 0 0\n",
       "it must be JSON, which begins with {; it begins with \"stage\""},
  };
  for (const auto& [text, words] : cases) {
    const std::string error = make(text);
    EXPECT_NE(error.find(words), std::string::npos)
        << text << " says: " << (error.empty() ? "nothing" : error);
    EXPECT_TRUE(error.starts_with(in_ + ": ") || error.starts_with(out_ + ": ")) << error;
    EXPECT_FALSE(std::filesystem::exists(out_)) << "a file remains of " << text;
  }
  std::string many = "{" + b + "}";
  for (int i = 1; i < 17; ++i) many += ", {" + b + "}";
  EXPECT_NE(make(R"({"stages": [)" + many + "]}").find("stage 17: more than 16 stages"),
            std::string::npos);
}

// Fails when a file that is missing or cannot be written is reported without its
// name, or when show accepts an invalid file.
TEST_F(TemplateCommand, ReportsBadFiles) {
  EXPECT_NE(run({"template", "make", in_ + ".no", "-o", out_}).find(in_ + ".no"),
            std::string::npos);
  std::ofstream(in_) << R"({"a": [[0,0,0],[0,1,0],[0,0,0]]})";
  const std::string nowhere = folder_ / "no/x.ocellus";
  EXPECT_NE(run({"template", "make", in_, "-o", nowhere}).find(nowhere), std::string::npos);
  EXPECT_NE(run({"template", "make", in_, "-o", "/dev/null"}).find("the name must end in .ocellus"),
            std::string::npos);
  const std::string text = folder_ / "z.txt";
  EXPECT_NE(run({"template", "make", in_, "-o", text}).find("z.txt: the name must end in .ocellus"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(text));
  EXPECT_NE(run({"template", "show", "edeg"}).find("there is no template \"edeg\""),
            std::string::npos);
  EXPECT_NE(run({"template", "show", nowhere}).find("No such file"), std::string::npos);
  EXPECT_NE(run({"template", "show", ""}).find("is empty"), std::string::npos);
}

}  // namespace
}  // namespace ocellus::app
