// The library of templates by name: the list, the grammar of chains, and the conversion from
// continuous time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "ocellus/cell_templates.h"
#include "ocellus/halftone.h"

namespace ocellus {
namespace {

using Stages = std::array<CellStage, kMaxCellStages>;

std::string error_of(std::string_view chain) {
  Stages stages;
  const auto count = parse_cell_chain(chain, stages);
  return count ? "" : count.error().text;
}

bool same(const CellStage& a, const CellStage& b) {
  return a.weights.radius == b.weights.radius && a.weights.a == b.weights.a &&
         a.weights.b == b.weights.b && a.weights.threshold == b.weights.threshold &&
         a.levels == b.levels && a.start == b.start && a.boundary == b.boundary &&
         a.max_sweeps == b.max_sweeps && a.input == b.input;
}

// Fails when a name is not unique or cannot be used in a chain, or when a text is missing. Also
// fails when a template does not have the stages that the list states.
TEST(CellTemplates, TheListMatchesTheTemplates) {
  std::set<std::string> names;
  EXPECT_GE(cell_templates().size(), 25u);
  for (const CellTemplateInfo& info : cell_templates()) {
    const std::string name = info.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos);
    EXPECT_NE(std::string(info.description), "") << name;
    EXPECT_NE(std::string(info.source), "") << name;
    Stages stages;
    const auto count = parse_cell_chain("edge | " + name, stages);
    ASSERT_TRUE(count) << name << ": " << count.error().text;
    EXPECT_EQ(*count, 1 + info.stages) << name;
    for (int i = 1; i < *count; ++i) {
      const CellStage& stage = stages[static_cast<std::size_t>(i)];
      EXPECT_GE(stage.weights.radius, 1);
      EXPECT_LE(stage.weights.radius, kMaxTemplateRadius);
      const auto weights =
          static_cast<std::size_t>((2 * stage.weights.radius + 1) * (2 * stage.weights.radius + 1));
      bool any = false;
      for (std::size_t w = 0; w < kMaxTemplateWeights; ++w) {
        const bool zero = stage.weights.a[w] == 0.0f && stage.weights.b[w] == 0.0f;
        any = any || !zero;
        EXPECT_TRUE(zero || w < weights) << name << " has a weight outside its radius";
      }
      EXPECT_TRUE(any) << name;
    }
    EXPECT_EQ(cell_template(name).has_value(), info.stages == 1) << name;
  }
}

// Fails when an entry called converted still has its original self weight. With a self weight above
// the sum of all other weights, no cell could ever change.
TEST(CellTemplates, CellsOfEveryTemplateCanChange) {
  for (const CellTemplateInfo& info : cell_templates()) {
    if (!info.converted) continue;
    const CellStage stage = *cell_template(info.name);
    const int r = stage.weights.radius;
    const int weights = (2 * r + 1) * (2 * r + 1);
    double others = std::fabs(static_cast<double>(stage.weights.threshold));
    for (int i = 0; i < weights; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i != weights / 2) others += std::fabs(static_cast<double>(stage.weights.a[at]));
      others += std::fabs(static_cast<double>(stage.weights.b[at]));
    }
    const double self = static_cast<double>(stage.weights.a[static_cast<std::size_t>(weights / 2)]);
    EXPECT_GE(self, 0.0) << info.name << ": sweeps may oscillate";
    EXPECT_LT(self, others) << info.name;
  }
}

// Fails when a weight other than the cell's own is changed, or by a wrong amount.
TEST(CellTemplates, ConversionSubtractsOneFromTheSelfWeight) {
  for (int radius = 1; radius <= kMaxTemplateRadius; ++radius) {
    CellTemplate continuous;
    continuous.radius = radius;
    continuous.threshold = 0.25f;
    for (int i = 0; i < kMaxTemplateWeights; ++i) {
      continuous.a[static_cast<std::size_t>(i)] = static_cast<float>(i);
      continuous.b[static_cast<std::size_t>(i)] = static_cast<float>(-i);
    }
    const CellTemplate discrete = from_continuous_time(continuous);
    CellTemplate expected = continuous;
    expected.a[static_cast<std::size_t>(2 * radius * (radius + 1))] -= 1.0f;
    EXPECT_EQ(discrete.a, expected.a);
    EXPECT_EQ(discrete.b, expected.b);
    EXPECT_EQ(discrete.radius, radius);
    EXPECT_EQ(discrete.threshold, 0.25f);
  }
  CellTemplate wild;
  wild.radius = 1 << 14;  // no weight may be written
  EXPECT_EQ(from_continuous_time(wild).a, wild.a);
}

// Fails when white space, case, parentheses or the words in them are read wrongly.
TEST(CellTemplates, ChainsAreParsed) {
  Stages stages;
  const auto count = parse_cell_chain("  Erosion( cross )|dilation\t| EDGE ", stages);
  ASSERT_TRUE(count) << count.error().text;
  ASSERT_EQ(*count, 3);
  EXPECT_TRUE(same(stages[0], *cell_template("erosion_cross")));
  EXPECT_TRUE(same(stages[1], *cell_template("dilation")));
  EXPECT_TRUE(same(stages[2], *cell_template("edge")));
  EXPECT_TRUE(same(*cell_template("erosion(square)"), *cell_template("erosion")));
  EXPECT_TRUE(same(*cell_template("shadow(left)"), *cell_template("shadow")));
  EXPECT_TRUE(same(*cell_template("figrec"), *cell_template("recall")));
  EXPECT_EQ(cell_template("threshold(0.25)")->weights.threshold, -0.25f);
  EXPECT_EQ(cell_template("threshold(-1)")->weights.threshold, 1.0f);
  EXPECT_EQ(cell_template("threshold")->weights.threshold, 0.0f);
  EXPECT_EQ(cell_template("gauss5")->weights.b, gaussian_template(2, 0.9f).b);
  EXPECT_EQ(cell_template("gauss5(1.5)")->weights.a, gaussian_template(2, 1.5f).a);
  EXPECT_EQ(cell_template("diffusion(sweeps=25)")->max_sweeps, 25);
  EXPECT_EQ(cell_template("diffusion")->max_sweeps, 10);
  const auto both = cell_template("shadow ( sweeps = 7 , up )");
  ASSERT_TRUE(both) << both.error().text;
  EXPECT_EQ(both->max_sweeps, 7);
  EXPECT_EQ(both->weights.a, cell_template("shadow_up")->weights.a);
}

// Fails when the brackets of a group are read wrongly, or stay in the text of a link.
TEST(CellTemplates, GroupsAreParsed) {
  Stages stages;
  const auto count = parse_cell_chain(
      " edge | [ skeleton ] |[erosion(cross)|dilation]*7| [ edge ] * 100000", stages);
  ASSERT_TRUE(count) << count.error().text;
  ASSERT_EQ(*count, 12);
  EXPECT_TRUE(same(stages[9], *cell_template("erosion_cross")));
  EXPECT_TRUE(same(stages[11], *cell_template("edge")));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(stages[i].group_stages, i == 1 ? 8 : i == 9 ? 2 : i == 11 ? 1 : 0) << i;
    EXPECT_EQ(stages[i].max_passes, i == 9 ? 7 : i == 11 ? 100'000 : 10'000) << i;
  }
}

// Fails when an invalid chain is accepted, or when the error does not state the link, the position
// and the allowed values.
TEST(CellTemplates, ReportsMistakesInChains) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the chain is empty; it must name a template, such as edge"},
      {" \t", "the chain is empty"},
      {"edge | edeg",
       "link 2 (\"edeg\", character 8): there is no template \"edeg\"; the nearest "
       "names are edge, "},
      {"dillation", "the nearest names are dilation, "},
      {"erosion(disc)", "there is no template \"erosion_disc\"; the nearest names are erosion"},
      {"edge || edge", "link 2 (\"\", character 7): a template is missing"},
      {"edge |", "link 2 (\"\", character 7): a template is missing"},
      {"| edge", "link 1 (\"\", character 1): a template is missing"},
      {"(cross)", "a name is missing before the bracket"},
      {"erosion(cross", "the bracket is not closed"},
      {"erosion(cross) x", "the bracket is not closed"},
      {"erosion()", "a parameter is missing; give one or leave the brackets out"},
      {"erosion(cross,)", "a parameter is missing"},
      {"erosion(cross, l)", "\"l\" is a second variant"},
      {"threshold(0.1, 0.2)", "\"0.2\" is a second number"},
      {"threshold(1.5)", "\"1.5\": the number of threshold must be -1 to 1"},
      {"threshold(0.5x)", "\"0.5x\": the number of threshold must be -1 to 1"},
      {"threshold(1e99)", "the number of threshold must be -1 to 1"},
      {"gauss9(0)", "\"0\": the number of gauss9 must be sigma in cells, 0.2 to 3"},
      {"edge(3)", "\"3\": edge takes no number"},
      {"diffusion(steps=3)", "\"steps=3\": the only parameter with a name is sweeps"},
      {"diffusion(sweeps=0)", "\"sweeps=0\": sweeps must be a whole number, 1 to 100000"},
      {"diffusion(sweeps=100001)", "sweeps must be a whole number, 1 to 100000"},
      {"diffusion(sweeps=ten)", "sweeps must be a whole number, 1 to 100000"},
      {"diffusion(sweeps=)", "sweeps must be a whole number, 1 to 100000"},
      {"skeleton | center | edge",
       "link 3 (\"edge\", character 21): the chain has 17 stages up to this link; at most 16"},
      {"recall", "recall combines the frame with the result of a previous link; there is none"},
      {"a_name_that_is_longer_than_any_template_could_ever_be_called", "at most 48 characters"},
      {"threshold:0.2", "write parameters in brackets: threshold(0.2)"},
      {"edge | Threshold = -0.5",
       "link 2 (\"Threshold = -0.5\", character 8): write parameters in "
       "brackets: threshold(-0.5)"},
      {"threshold 0.2", "write parameters in brackets: threshold(0.2)"},
      {"threshold:", "write parameters in brackets: threshold()"},
      {"edge edge", "there is no template \"edge edge\""},
      {"thresh:0.2", "there is no template \"thresh:0.2\""},
      {"erosion, edge", "\",\" is not a separator; separate the templates of a chain by |"},
      {"erosion(cross),edge", "\",\" is not a separator"},
      {"erosion ! edge", "\"!\" is not a separator; separate the templates of a chain by |"},
      {"hole | erosion; edge", "link 2 (\"erosion; edge\", character 8): \";\" is not a separator"},
      {"x.ocellus(3)", "a file takes no parameters; leave the brackets out"},
      {"no/such/file.ocellus", "template file \"no/such/file.ocellus\": No such file or directory"},
      {"[edge",
       "link 1 (\"edge\", character 2): the group that begins at character 1 is not closed"},
      {"erosion | [edge | dilation",
       "link 3 (\"dilation\", character 19): the group that begins at character 11 is not closed"},
      {"edge]", "\"]\" closes a group, but no \"[\" begins one"},
      {"[[edge]]", "link 1 (\"[edge]]\", character 2): a group cannot contain another one"},
      {"[edge]]", "link 1 (\"edge]]\", character 2): \"]\" follows a group; it must be * and"},
      {"[edge | [erosion]]", "a group cannot contain another one"},
      {"[]", "a template is missing"},
      {"[edge |]", "link 2 (\"\", character 8): a template is missing"},
      {"[edge]*0",
       "\"*0\" follows a group; it must be * and a whole number of passes, 1 to 100000"},
      {"[edge]*100001", "\"*100001\" follows a group"},
      {"[edge]*x", "\"*x\" follows a group"},
      {"[edge] 3", "\"3\" follows a group"},
      {"[edge] edge", "\"edge\" follows a group"},
      {".ocellus", "template file \".ocellus\": "},
  };
  for (const auto& [chain, words] : cases) {
    const std::string error = error_of(chain);
    EXPECT_NE(error.find(words), std::string::npos)
        << "\"" << chain << "\" says: " << (error.empty() ? "nothing" : error);
  }
  EXPECT_NE(error_of(std::string(5000, 'x').append(".ocellus")).find("at most 4095"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(5000, 'x')).find("at most 48"), std::string::npos);
}

// Fails when several stages, a file or nothing are accepted where one stage is required.
TEST(CellTemplates, ParsingOneStageRefusesOtherTexts) {
  const std::pair<const char*, const char*> cases[] = {
      {"skeleton", "skeleton has 8 stages: read it as a chain"},
      {"x.ocellus", "a file may hold several stages: read it as a chain"},
      {"", "the name is empty"},
      {"edge | edge", "there is no template"},
      {"[edge]", "a group may have several stages: read it as a chain"},
  };
  for (const auto& [name, words] : cases) {
    const auto stage = cell_template(name);
    ASSERT_FALSE(stage) << name;
    EXPECT_EQ(stage.error().status, Status::kInvalidArgument);
    EXPECT_NE(std::string(stage.error().text).find(words), std::string::npos) << stage.error().text;
  }
}

// Fails when an invalid chain changes more than the stages before its mistake.
TEST(CellTemplates, AWrongChainChangesNoMoreThanItsFirstStages) {
  Stages stages;
  stages[1].levels = 77;
  EXPECT_FALSE(parse_cell_chain("edge | nothing", stages));
  EXPECT_EQ(stages[1].levels, 77);
}

}  // namespace
}  // namespace ocellus
