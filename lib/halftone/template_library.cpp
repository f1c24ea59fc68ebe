// The table of templates, and the search for a name.
#include "halftone/template_library.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "halftone/stage_check.h"
#include "ocellus/halftone.h"

namespace ocellus {
namespace {

using Choice = detail::TemplateChoice;
using Entry = detail::TemplateEntry;

using Weights = std::array<float, kMaxTemplateWeights>;

// ---- weights

constexpr std::size_t kCenter = 4;  // of 3x3

void center(Weights& weights, float value) {
  weights[kCenter] = value;
}

void square(Weights& weights, float neighbors, float middle) {
  std::fill(weights.begin(), weights.begin() + 9, neighbors);
  weights[kCenter] = middle;
}

void cross(Weights& weights, float neighbors, float middle) {
  for (const std::size_t i : {1u, 3u, 5u, 7u}) weights[i] = neighbors;
  weights[kCenter] = middle;
}

/// Rotates 3x3 weights clockwise by `count` quarter turns.
void turn(Weights& weights, int count) {
  for (int i = 0; i < count; ++i) {
    const Weights before = weights;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column)
        weights[row * 3 + column] = before[(2 - column) * 3 + row];
    }
  }
}

/// Sets symmetric 5x5 weights. `values` are the weights at distances (0, 0), (0, 1), (0, 2), (1,
/// 1), (1, 2) and (2, 2) along the two axes.
void rings(Weights& weights, const std::array<float, 6>& values) {
  constexpr std::size_t kRing[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 5; ++column) {
      weights[static_cast<std::size_t>(row * 5 + column)] =
          values[kRing[std::abs(row - 2)][std::abs(column - 2)]];
    }
  }
}

// ---- settings of several templates

/// Allows the most sweeps: a change that propagates from cell to cell needs as many sweeps as its
/// path has cells.
void until_rest(CellStage& stage) {
  stage.max_sweeps = detail::kMaxCellSweeps;
}

void outside(CellStage& stage, float value) {
  stage.boundary = CellBoundary::kFixed;
  stage.boundary_value = value;
}
void outside_white(CellStage& stage) {
  outside(stage, -1.0f);
}

/// For a gray result: y equals x.
void gray(CellStage& stage) {
  stage.levels = 256;
  stage.xi = 1.0f;
}

void convert(CellStage& stage) {
  stage.weights = from_continuous_time(stage.weights);
}

/// The operands are the frame and the result of the previous stage.
void with_the_frame(CellStage& stage) {
  stage.input = CellInput::kFrame;
  stage.start = CellStart::kPrevious;
}

/// Black where all n cells of the structuring element are black. B must be the element, not
/// mirrored.
void erode(CellStage& stage, int cells) {
  stage.weights.threshold = 1.0f - static_cast<float>(cells);
}
/// Black where at least one cell of the element is black. B must be the mirrored element.
void dilate(CellStage& stage, int cells) {
  stage.weights.threshold = static_cast<float>(cells) - 1.0f;
}

void halftone(CellStage& stage) {
  // Cells of 0 outside the image keep the weights between cells symmetric, so the sweeps converge.
  // If the nearest cell were used outside with a radius of 2, the weights would not be symmetric.
  outside(stage, 0.0f);
  convert(stage);
}

void gauss(CellStage& stage, int radius, float sigma) {
  stage.weights = gaussian_template(radius, sigma);
  stage.start = CellStart::kErrorDiffusion;
  outside(stage, 0.0f);
}

void shadow(CellStage& stage, int turns) {
  // A cell stays black if it or its neighbor toward the source of the shadow is black. TEMLIB has z
  // = 0 and cells of 0 outside, so cells in the shadow and at the border would have a state of 0.
  stage.weights.a = {0, 0, 0, 0, 2, 2, 0, 0, 0};
  turn(stage.weights.a, turns);
  center(stage.weights.b, 2.0f);
  stage.weights.threshold = 1.0f;
  stage.start = CellStart::kConstant;
  stage.start_value = 1.0f;
  outside_white(stage);
  until_rest(stage);
  convert(stage);
}

void components(CellStage& stage, const std::array<float, 9>& a) {
  // TEMLIB has cells of 0 outside, which would give states of 0 at the border.
  std::copy(a.begin(), a.end(), stage.weights.a.begin());
  outside_white(stage);
  until_rest(stage);
  convert(stage);
}

// ---- the library

constexpr const char* kSigma = "sigma in cells, 0.2 to 3";

// In continuous time, a template without feedback settles at sgn(B u + z). A template whose only
// feedback is a self-feedback weight of 1 does the same. In discrete time, a self-feedback weight
// of 0 gives this result, so these templates need no conversion.
constexpr Entry kEntries[] = {
    {{"hlf3", "halftone, 3x3", "HLF3", true},
     [](CellStage& s, const Choice&) {
       s.weights.a = {-0.07f, -0.1f, -0.07f, -0.1f, 1.03f, -0.1f, -0.07f, -0.1f, -0.07f};
       s.weights.b = {0.07f, 0.1f, 0.07f, 0.1f, 0.32f, 0.1f, 0.07f, 0.1f, 0.07f};
       halftone(s);
     }},
    {{"hlf5", "halftone, 5x5, least squares under a smooth kernel", "HLF5", true},
     [](CellStage& s, const Choice&) {
       s.weights.radius = 2;
       rings(s.weights.a, {1.05f, -0.46f, -0.099f, -0.324f, -0.07f, -0.0245f});
       rings(s.weights.b, {0.81f, 0.46f, 0.099f, 0.324f, 0.07f, 0.0245f});
       halftone(s);
     }},
    {{"hlf5kc", "halftone, 5x5, with sharper edges", "HLF5KC", true},
     [](CellStage& s, const Choice&) {
       s.weights.radius = 2;
       rings(s.weights.a, {1.05f, -0.604f, -0.13f, -0.359f, -0.086f, -0.03f});
       rings(s.weights.b, {2.122f, 0.756f, 0.068f, 0.355f, 0.0f, 0.0f});
       halftone(s);
     }},
    {{"gauss3", "halftone, 3x3, least squares under a Gaussian eye, from error diffusion",
      "gaussian_template of ocellus/halftone.h", false, 1, kSigma},
     [](CellStage& s, const Choice& choice) { gauss(s, 1, choice.number); },
     0.65f,
     0.2f,
     3.0f},
    {{"gauss5", "halftone, 5x5, least squares under a Gaussian eye, from error diffusion",
      "gaussian_template", false, 1, kSigma},
     [](CellStage& s, const Choice& choice) { gauss(s, 2, choice.number); },
     0.9f,
     0.2f,
     3.0f},
    {{"gauss7", "halftone, 7x7, least squares under a Gaussian eye, from error diffusion",
      "gaussian_template", false, 1, kSigma},
     [](CellStage& s, const Choice& choice) { gauss(s, 3, choice.number); },
     1.05f,
     0.2f,
     3.0f},
    {{"gauss9", "halftone, 9x9, least squares under a Gaussian eye, from error diffusion",
      "gaussian_template", false, 1, kSigma},
     [](CellStage& s, const Choice& choice) { gauss(s, 4, choice.number); },
     1.2f,
     0.2f,
     3.0f},
    {{"invhlf3", "gray image of a halftone of hlf3", "INVHLF3"},
     [](CellStage& s, const Choice&) {
       s.weights.b = {0.07f, 0.1f, 0.07f, 0.1f, 0.32f, 0.1f, 0.07f, 0.1f, 0.07f};
       gray(s);
     }},
    {{"invhlf5", "gray image of a halftone of hlf5", "INVHLF5"},
     [](CellStage& s, const Choice&) {
       s.weights.radius = 2;
       rings(s.weights.b, {0.162f, 0.092f, 0.0198f, 0.0648f, 0.014f, 0.0049f});
       gray(s);
     }},

    {{"threshold", "black where u is at least the number (0 when left out)",
      "THRES; there from the start value, which two levels do not keep: here by B = 1", false, 1,
      "-1 to 1"},
     [](CellStage& s, const Choice& choice) {
       center(s.weights.b, 1.0f);
       s.weights.threshold = -choice.number;
     },
     0.0f,
     -1.0f,
     1.0f},
    {{"edge", "black cells that touch a white one, also at a corner", "EDGE"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, -1.0f, 8.0f);
       s.weights.threshold = -1.0f;
     }},
    {{"edgegray", "edges of a gray image, on their dark side",
      "EDGEGRAY; its self weight of 2 would hold dark areas that are no edges: here 0"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, -1.0f, 8.0f);
       s.weights.threshold = -0.5f;
     }},
    {{"corner", "black cells with 5 or more white neighbors of 8", "CORNER"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, -1.0f, 4.0f);
       s.weights.threshold = -5.0f;
     }},

    {{"erosion", "erosion by the 3x3 square", "the rule of EROSION for nine cells"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, 1.0f, 1.0f);
       erode(s, 9);
     }},
    {{"erosion_cross", "erosion by the cross of 5 cells", "TEXTUERO"},
     [](CellStage& s, const Choice&) {
       cross(s.weights.b, 1.0f, 1.0f);
       erode(s, 5);
     }},
    {{"erosion_l", "erosion by a cell, the one above and the one on the right", "EROSION"},
     [](CellStage& s, const Choice&) {
       s.weights.b = {0, 1, 0, 0, 1, 1, 0, 0, 0};
       erode(s, 3);
     }},
    {{"dilation", "dilation by the 3x3 square", "the rule of DILATION for nine cells"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, 1.0f, 1.0f);
       dilate(s, 9);
     }},
    {{"dilation_cross", "dilation by the cross of 5 cells", "TEXTUDIL"},
     [](CellStage& s, const Choice&) {
       cross(s.weights.b, 1.0f, 1.0f);
       dilate(s, 5);
     }},
    {{"dilation_l", "dilation by a cell, the one above and the one on the right", "DILATION"},
     [](CellStage& s, const Choice&) {
       s.weights.b = {0, 0, 0, 1, 1, 0, 0, 1, 0};  // the mirrored element
       dilate(s, 3);
     }},

    {{"hole", "fills white areas that no way of side by side white cells joins to the outside",
      "HOLE; outside white instead of 0, which would shut the border", true},
     [](CellStage& s, const Choice&) {
       cross(s.weights.a, 1.0f, 3.0f);
       center(s.weights.b, 4.0f);
       s.weights.threshold = -1.0f;
       s.start = CellStart::kConstant;
       s.start_value = 1.0f;
       outside_white(s);
       until_rest(s);
       convert(s);
     }},
    {{"recall", "of the frame, the objects that touch the stage before, whole",
      "RECALL; FIGREC's z of 3 recalls all", true},
     [](CellStage& s, const Choice&) {
       square(s.weights.a, 0.5f, 4.0f);
       center(s.weights.b, 4.0f);
       s.weights.threshold = 2.5f;
       with_the_frame(s);
       outside_white(s);
       until_rest(s);
       convert(s);
     }},
    {{"connectivity", "of the frame, the objects of which the stage before lacks nothing",
      "CONNECTI", true},
     [](CellStage& s, const Choice&) {
       cross(s.weights.a, 0.5f, 3.0f);
       cross(s.weights.b, -0.5f, 3.0f);
       s.weights.threshold = -4.5f;
       with_the_frame(s);
       outside_white(s);
       until_rest(s);
       convert(s);
     }},
    {{"hollow",
      "fills concave places: white cells with 4 or more black neighbors of 8, until none is left",
      "HOLLOW", true},
     [](CellStage& s, const Choice&) {
       square(s.weights.a, 0.5f, 2.0f);
       center(s.weights.b, 2.0f);
       s.weights.threshold = 3.25f;
       outside_white(s);
       until_rest(s);
       convert(s);
     }},
    {{"figdel", "keeps single black cells only", "FIGDEL"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, -1.0f, 1.0f);
       s.weights.threshold = -8.0f;
       outside_white(s);
     }},
    {{"figextr", "takes single black cells away", "FIGEXTR"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, 1.0f, 8.0f);
       s.weights.threshold = -1.0f;
       outside_white(s);
     }},
    {{"smkiller", "takes small objects away: the majority of nine, until nothing changes",
      "SMKILLER; the nearest cell outside instead of 0, so that no state is 0", true},
     [](CellStage& s, const Choice&) {
       square(s.weights.a, 1.0f, 2.0f);
       until_rest(s);
       convert(s);
     }},
    {{"average", "smooths: the majority of the cross, until nothing changes",
      "AVERAGE; the nearest cell outside instead of 0, so that no state is 0", true},
     [](CellStage& s, const Choice&) {
       cross(s.weights.a, 1.0f, 2.0f);
       until_rest(s);
       convert(s);
     }},
    {{"patchmaker", "grows objects by one cell side by side a sweep, 10 times", "PATCHMAK", true},
     [](CellStage& s, const Choice&) {
       cross(s.weights.a, 1.0f, 2.0f);
       center(s.weights.b, 1.0f);
       s.weights.threshold = 4.5f;
       outside_white(s);
       // A sequential sweep would let objects grow further on one side than on the other.
       s.update = CellUpdate::kSynchronous;
       s.max_sweeps = 10;
       convert(s);
     }},
    {{"junction", "black cells with 3 or more black neighbors of 8", "JUNCTION"},
     [](CellStage& s, const Choice&) {
       square(s.weights.b, 1.0f, 6.0f);
       s.weights.threshold = -3.0f;
       outside_white(s);
     }},
    {{"skeleton",
      "thins objects by one layer and keeps them connected; again and again: the skeleton",
      "SKELBW1 to SKELBW8", false, 8},
     [](CellStage& s, const Choice& choice) {
       if (choice.stage % 2 == 0) {
         s.weights.b = {1, 1, 0, 1, 7, -1, 0, -1, 0};
         s.weights.threshold = -3.0f;
       } else {
         s.weights.b = {1, 1, 1, 0, 7, 0, -0.5f, -1, -0.5f};
         s.weights.threshold = -3.4f;
       }
       turn(s.weights.b, choice.stage / 2);
       outside_white(s);
     }},
    {{"center", "shrinks objects by one layer; again and again: to one cell each",
      "CENTER1 to CENTER8", false, 8},
     [](CellStage& s, const Choice& choice) {
       if (choice.stage % 2 == 0) {
         s.weights.b = {1, 0, 0, 1, 4, -1, 1, 0, 0};
       } else {
         s.weights.b = {1, 1, 1, 1, 6, 0, 1, 0, -1};
       }
       s.weights.threshold = -1.0f;
       turn(s.weights.b, choice.stage / 2);
       outside_white(s);
     }},

    {{"shadow", "the shadow to the left of black cells", "SHADOW; z 1 and white outside", true},
     [](CellStage& s, const Choice&) { shadow(s, 0); }},
    {{"shadow_up", "the shadow above black cells", "SHADOW, turned", true},
     [](CellStage& s, const Choice&) { shadow(s, 1); }},
    {{"shadow_right", "the shadow to the right of black cells", "SHADOW, turned", true},
     [](CellStage& s, const Choice&) { shadow(s, 2); }},
    {{"shadow_down", "the shadow below black cells", "SHADOW, turned", true},
     [](CellStage& s, const Choice&) { shadow(s, 3); }},
    {{"ccd", "one cell for each run of a row, every second one from the right",
      "CCD_HOR; white outside", true},
     [](CellStage& s, const Choice&) {
       components(s, {0, 0, 0, 1, 2, -1, 0, 0, 0});
     }},
    {{"ccd_vertical", "one cell for each run of a column, every second one from below",
      "CCD_VERT; white outside", true},
     [](CellStage& s, const Choice&) {
       components(s, {0, 1, 0, 0, 2, 0, 0, -1, 0});
     }},
    {{"ccd_diagonal", "one cell for each run of a diagonal, every second one from the lower right",
      "CCD_DIAG; white outside", true},
     [](CellStage& s, const Choice&) {
       components(s, {1, 0, 0, 0, 2, 0, 0, 0, -1});
     }},
    {{"ccd_antidiagonal",
      "one cell for each run of a diagonal, every second one from the lower left",
      "CCD_DIAG, turned", true},
     [](CellStage& s, const Choice&) {
       components(s, {0, 0, 1, 0, 2, 0, -1, 0, 0});
     }},

    {{"lognot", "black where the stage before is white", "LOGNOT"},
     [](CellStage& s, const Choice&) { center(s.weights.b, -2.0f); }},
    {{"logand", "black where the frame and the stage before are", "LOGAND", true},
     [](CellStage& s, const Choice&) {
       center(s.weights.a, 2.0f);
       center(s.weights.b, 1.0f);
       s.weights.threshold = -1.0f;
       with_the_frame(s);
       convert(s);
     }},
    {{"logor", "black where the frame or the stage before is", "LOGOR", true},
     [](CellStage& s, const Choice&) {
       center(s.weights.a, 2.0f);
       center(s.weights.b, 1.0f);
       s.weights.threshold = 1.0f;
       with_the_frame(s);
       convert(s);
     }},
    {{"logdif", "black where the stage before is and the frame is not",
      "LOGAND of the frame's complement", true},
     [](CellStage& s, const Choice&) {
       center(s.weights.a, 2.0f);
       center(s.weights.b, -1.0f);
       s.weights.threshold = -1.0f;
       with_the_frame(s);
       convert(s);
     }},

    // With many levels, y equals x between the outermost levels. There, an equilibrium of x' = -x +
    // A y + .. is a fixed point of (1) with the same A, so nothing is converted.
    {{"diffusion", "blurs a gray image, 10 times by a 3x3 kernel",
      "DIFFUS; the nearest cell outside instead of 0, which would darken or light the border"},
     [](CellStage& s, const Choice&) {
       s.weights.a = {0.1f, 0.15f, 0.1f, 0.15f, 0.0f, 0.15f, 0.1f, 0.15f, 0.1f};
       gray(s);
       // Each sweep is a time step, which all cells must take at once.
       s.update = CellUpdate::kSynchronous;
       s.max_sweeps = 10;
     }},
    {{"laplace", "relaxes a gray image toward Laplace's equation, 100 sweeps",
      "LAPLACE; its equation solved for x, because -3 as a self weight swings in discrete time"},
     [](CellStage& s, const Choice&) {
       cross(s.weights.a, 0.25f, 0.0f);
       gray(s);
       s.max_sweeps = 100;
     }},
};

constexpr std::size_t kCount = std::size(kEntries);

constexpr auto kInfos = [] {
  std::array<CellTemplateInfo, kCount> infos{};
  for (std::size_t i = 0; i < kCount; ++i) infos[i] = kEntries[i].info;
  return infos;
}();

// Alternative names of templates.
constexpr struct {
  std::string_view alias;
  std::string_view name;
} kAliases[] = {
    {"erosion_square", "erosion"}, {"dilation_square", "dilation"},
    {"shadow_left", "shadow"},     {"ccd_horizontal", "ccd"},
    {"figrec", "recall"},
};

/// Levenshtein distance of two names.
int distance(std::string_view a, std::string_view b) {
  a = a.substr(0, detail::kMaxTemplateName);
  b = b.substr(0, detail::kMaxTemplateName);
  std::array<int, detail::kMaxTemplateName + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

namespace detail {

const TemplateEntry* find_template(std::string_view name) noexcept {
  for (const auto& alias : kAliases) {
    if (alias.alias == name) name = alias.name;
  }
  const auto* const entry =
      std::find_if(std::begin(kEntries), std::end(kEntries),
                   [name](const TemplateEntry& e) { return e.info.name == name; });
  return entry == std::end(kEntries) ? nullptr : entry;
}

NearestTemplates::NearestTemplates(std::string_view name) noexcept {
  std::array<const char*, kCount> order;
  for (std::size_t i = 0; i < kCount; ++i) order[i] = kEntries[i].info.name;
  std::partial_sort(order.begin(), order.begin() + 3, order.end(),
                    [name](const char* a, const char* b) {
                      const int to_a = distance(name, a);
                      const int to_b = distance(name, b);
                      return to_a != to_b ? to_a < to_b : std::strcmp(a, b) < 0;
                    });
  std::snprintf(text, sizeof(text), "%s, %s and %s", order[0], order[1], order[2]);
}

}  // namespace detail

CellTemplate from_continuous_time(CellTemplate continuous) noexcept {
  const int side = 2 * continuous.radius + 1;
  const int self = continuous.radius * side + continuous.radius;
  // `create` reports a radius that is out of range.
  if (self >= 0 && self < kMaxTemplateWeights) continuous.a[static_cast<std::size_t>(self)] -= 1.0f;
  return continuous;
}

std::span<const CellTemplateInfo> cell_templates() noexcept {
  return kInfos;
}

}  // namespace ocellus
