#include <algorithm>
#include <array>
#include <charconv>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "halftone/stage_check.h"
#include "ocellus/cell_templates.h"
#include "ocellus/halftone.h"

namespace ocellus {
namespace {

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

/// A quarter turn to the right of 3x3 weights, `count` times.
void turn(Weights& weights, int count) {
  for (int i = 0; i < count; ++i) {
    const Weights before = weights;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column)
        weights[row * 3 + column] = before[(2 - column) * 3 + row];
    }
  }
}

/// 5x5 weights that are the same on all sides. By the distances along both axes: 0 0, 0 1, 0 2, 1
/// 1, 1 2, 2 2.
void rings(Weights& weights, const std::array<float, 6>& values) {
  constexpr std::size_t kRing[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 5; ++column) {
      weights[static_cast<std::size_t>(row * 5 + column)] =
          values[kRing[std::abs(row - 2)][std::abs(column - 2)]];
    }
  }
}

// ---- what several templates share

/// What spreads from cell to cell needs as many sweeps as its way is long.
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

/// A gray result, so that y is x.
void gray(CellStage& stage) {
  stage.levels = 256;
  stage.xi = 1.0f;
}

void convert(CellStage& stage) {
  stage.weights = from_continuous_time(stage.weights);
}

/// The frame is one operand, the stage before the other.
void with_the_frame(CellStage& stage) {
  stage.input = CellInput::kFrame;
  stage.start = CellStart::kPrevious;
}

/// Black where all n cells of the element are. `element` is one, not mirrored.
void erode(CellStage& stage, int cells) {
  stage.weights.threshold = 1.0f - static_cast<float>(cells);
}
/// Black where one of them is.
void dilate(CellStage& stage, int cells) {
  stage.weights.threshold = static_cast<float>(cells) - 1.0f;
}

void halftone(CellStage& stage) {
  // With cells of 0 outside the weights between cells are symmetric, so that the sweeps end. They
  // are not with the nearest cell outside and a radius of 2.
  outside(stage, 0.0f);
  convert(stage);
}

void gauss(CellStage& stage, int radius, float sigma) {
  stage.weights = gaussian_template(radius, sigma);
  stage.start = CellStart::kErrorDiffusion;
  outside(stage, 0.0f);
}

void shadow(CellStage& stage, int turns) {
  // A cell stays black when it is black in the image or the one from which the shadow falls is.
  // TEMLIB has z = 0 and 0 outside: cells in the shadow and at the border then have a state of 0.
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
  // 0 outside, as in TEMLIB, would leave states of 0 at the border.
  std::copy(a.begin(), a.end(), stage.weights.a.begin());
  outside_white(stage);
  until_rest(stage);
  convert(stage);
}

// ---- the library

struct Choice {
  float number = 0.0f;
  int stage = 0;
};

struct Entry {
  CellTemplateInfo info;
  void (*make)(CellStage& stage, const Choice& choice);
  float number = 0.0f;  // its default and range
  float low = 0.0f;
  float high = 0.0f;
};

constexpr const char* kSigma = "sigma in cells, 0.2 to 3";

// A template with a self weight of 1 and no other feedback comes to sgn(B u + z) in continuous
// time; so does one without feedback. In discrete time a self weight of 0 does that: they need no
// conversion.
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
       s.weights.b = {0, 0, 0, 1, 1, 0, 0, 1, 0};  // the element, mirrored
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
       // All cells at once: else a sweep would carry growth further to one side than to the other.
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

    // With many levels y is x between the outermost ones, and there an equilibrium of x' = -x + A y
    // + .. is a fixed point of (1) with the same A: nothing is converted.
    {{"diffusion", "blurs a gray image, 10 times by a 3x3 kernel",
      "DIFFUS; the nearest cell outside instead of 0, which would darken or light the border"},
     [](CellStage& s, const Choice&) {
       s.weights.a = {0.1f, 0.15f, 0.1f, 0.15f, 0.0f, 0.15f, 0.1f, 0.15f, 0.1f};
       gray(s);
       // Steps in time, which all cells take at once.
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

// Other names of the same.
constexpr struct {
  std::string_view alias;
  std::string_view name;
} kAliases[] = {
    {"erosion_square", "erosion"}, {"dilation_square", "dilation"},
    {"shadow_left", "shadow"},     {"ccd_horizontal", "ccd"},
    {"figrec", "recall"},
};

constexpr std::size_t kMaxName = 48;

const Entry* find(std::string_view name) {
  for (const auto& alias : kAliases) {
    if (alias.alias == name) name = alias.name;
  }
  const auto* const entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                         [name](const Entry& e) { return e.info.name == name; });
  return entry == std::end(kEntries) ? nullptr : entry;
}

/// Least number of letters to put in, take away or change.
int distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxName);
  b = b.substr(0, kMaxName);
  std::array<int, kMaxName + 1> row{};
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

/// The three names that are most like `name`, "a, b and c".
struct Nearest {
  char text[3 * (kMaxName + 8)] = {};

  explicit Nearest(std::string_view name) {
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
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return text.substr(text.size());
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// A link while it is read: where it stands, for errors.
struct Link {
  std::string_view text;
  int number = 1;          // in the chain
  std::size_t column = 1;  // of its first character

  /// "link 2 (\"edge(\", character 9): " and what is wrong.
  __attribute__((format(printf, 2, 3))) tl::unexpected<Error> error(const char* format,
                                                                    ...) const noexcept {
    char what[Error::kTextCapacity];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return tl::unexpected(make_error(
        Status::kInvalidArgument, "link %d (\"%.*s\", character %zu): %s", number,
        static_cast<int>(std::min<std::size_t>(text.size(), 60)), text.data(), column, what));
  }
};

/// What a link that is no file says.
struct Parsed {
  const Entry* entry = nullptr;
  Choice choice;
  int sweeps = 0;  // 0 = the template's own
};

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size();
}

bool is_file(std::string_view link) {
  return link.ends_with(".ocellus");
}

/// Where there is what others separate with; between brackets a comma has its place.
std::size_t separator_in(std::string_view link) {
  int depth = 0;
  for (std::size_t i = 0; i < link.size(); ++i) {
    if (link[i] == '(') ++depth;
    if (link[i] == ')') --depth;
    const bool comma = link[i] == ',' && depth <= 0;
    if (comma || link[i] == '!' || link[i] == ';') return i;
  }
  return std::string_view::npos;
}

Expected<Parsed> parse_link(const Link& link) noexcept {
  char name[kMaxName + 1] = {};
  std::size_t length = 0;
  const auto add = [&](std::string_view word) {
    for (const char c : word) {
      if (length < kMaxName)
        name[length++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  };
  if (const std::size_t mark = separator_in(link.text); mark != std::string_view::npos) {
    return link.error(
        "\"%c\" is no separator; templates of a chain stand with the bar | between them",
        link.text[mark]);
  }
  const std::size_t open = link.text.find('(');
  const std::string_view base = trimmed(link.text.substr(0, open));
  if (open != std::string_view::npos && is_file(base))
    return link.error("a file takes no parameters; leave the brackets out");
  if (base.empty()) return link.error("a name is missing before the bracket");
  // A name that is cut off is no name, but may be taken for the beginning of one.
  if (base.size() > kMaxName) return link.error("a name has at most %zu characters", kMaxName);
  add(base);

  Parsed parsed;
  std::string_view number;
  bool variant = false;
  if (open != std::string_view::npos) {
    if (link.text.back() != ')') return link.error("the bracket is not closed by \")\" at the end");
    std::string_view rest = link.text.substr(open + 1, link.text.size() - open - 2);
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      const std::string_view item = trimmed(rest.substr(0, comma));
      more = comma != std::string_view::npos;
      if (more) rest = rest.substr(comma + 1);
      const auto shown = static_cast<int>(std::min<std::size_t>(item.size(), 40));
      if (item.empty())
        return link.error("a parameter is missing; give one or leave the brackets out");
      if (const std::size_t equals = item.find('='); equals != std::string_view::npos) {
        if (trimmed(item.substr(0, equals)) != "sweeps")
          return link.error("\"%.*s\": the only parameter with a name is sweeps", shown,
                            item.data());
        if (!parse_number(trimmed(item.substr(equals + 1)), parsed.sweeps) || parsed.sweeps < 1 ||
            parsed.sweeps > detail::kMaxCellSweeps) {
          return link.error("\"%.*s\": sweeps must be a whole number, 1 to %d", shown, item.data(),
                            detail::kMaxCellSweeps);
        }
      } else if ((item[0] >= 'a' && item[0] <= 'z') || (item[0] >= 'A' && item[0] <= 'Z')) {
        if (variant) return link.error("\"%.*s\" is a second variant", shown, item.data());
        variant = true;
        add("_");
        add(item);
      } else {
        if (!number.empty()) return link.error("\"%.*s\" is a second number", shown, item.data());
        number = item;
      }
    }
  }

  parsed.entry = find({name, length});
  if (parsed.entry == nullptr) {
    // "threshold:0.2", "threshold=0.2" and "threshold 0.2".
    const std::size_t end = base.find_first_of(":= \t");
    if (open == std::string_view::npos && end != std::string_view::npos &&
        find({name, end}) != nullptr) {
      const std::size_t begin = std::min(base.find_first_not_of(":= \t", end), base.size());
      const std::string_view between = base.substr(end, begin - end);
      const std::string_view value = base.substr(begin);
      if (between.find_first_of(":=") != std::string_view::npos ||
          value.find_first_of("0123456789.+-") == 0) {
        return link.error("parameters stand in brackets: %.*s(%.*s)", static_cast<int>(end), name,
                          static_cast<int>(value.size()), value.data());
      }
    }
    return link.error("there is no template \"%s\"; the nearest names are %s", name,
                      Nearest({name, length}).text);
  }
  const Entry& entry = *parsed.entry;
  parsed.choice.number = entry.number;
  if (!number.empty()) {
    const auto shown = static_cast<int>(std::min<std::size_t>(number.size(), 40));
    if (entry.info.number == nullptr)
      return link.error("\"%.*s\": %s takes no number", shown, number.data(), entry.info.name);
    float value = 0.0f;
    if (!parse_number(number, value) || !(value >= entry.low && value <= entry.high)) {
      return link.error("\"%.*s\": the number of %s must be %s", shown, number.data(),
                        entry.info.name, entry.info.number);
    }
    parsed.choice.number = value;
  }
  return parsed;
}

CellStage make_stage(const Parsed& parsed, int index) {
  CellStage stage;
  Choice choice = parsed.choice;
  choice.stage = index;
  parsed.entry->make(stage, choice);
  if (parsed.sweeps > 0) stage.max_sweeps = parsed.sweeps;
  return stage;
}

}  // namespace

CellTemplate from_continuous_time(CellTemplate continuous) noexcept {
  const int side = 2 * continuous.radius + 1;
  const int self = continuous.radius * side + continuous.radius;
  // A radius out of range is for `create` to name.
  if (self >= 0 && self < kMaxTemplateWeights) continuous.a[static_cast<std::size_t>(self)] -= 1.0f;
  return continuous;
}

std::span<const CellTemplateInfo> cell_templates() noexcept {
  return kInfos;
}

Expected<CellStage> cell_template(std::string_view text) noexcept {
  const Link link{trimmed(text)};
  if (link.text.empty()) {
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "the name is empty; it must be that of a template, such as "
                                     "edge"));
  }
  if (is_file(link.text)) return link.error("a file may hold several stages: read it as a chain");
  const Expected<Parsed> parsed = parse_link(link);
  if (!parsed) return tl::unexpected(parsed.error());
  if (parsed->entry->info.stages > 1) {
    return link.error("%s has %d stages: read it as a chain", parsed->entry->info.name,
                      parsed->entry->info.stages);
  }
  return make_stage(*parsed, 0);
}

Expected<int> parse_cell_chain(std::string_view chain,
                               std::array<CellStage, kMaxCellStages>& stages) noexcept {
  if (trimmed(chain).empty()) {
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "the chain is empty; it must name a template, such as edge"));
  }
  int count = 0;
  Link link;
  link.number = 0;
  for (std::size_t begin = 0; begin <= chain.size();) {
    const std::size_t end = std::min(chain.find('|', begin), chain.size());
    const std::string_view between = chain.substr(begin, end - begin);
    link.text = trimmed(between);
    ++link.number;
    // Of an empty link the place where it should be.
    link.column = link.text.empty() ? begin + 1
                                    : static_cast<std::size_t>(link.text.data() - chain.data()) + 1;
    begin = end + 1;
    if (link.text.empty()) return link.error("a template is missing");

    std::array<CellStage, kMaxCellStages> of_link;
    int of_link_count = 0;
    if (is_file(link.text)) {
      char path[4096];
      if (link.text.size() >= sizeof(path))
        return link.error("a path has at most %zu characters", sizeof(path) - 1);
      link.text.copy(path, link.text.size());
      path[link.text.size()] = '\0';
      const auto file = read_cell_template_file(path, of_link);
      if (!file) return tl::unexpected(file.error());
      of_link_count = file->stages;
    } else {
      const Expected<Parsed> parsed = parse_link(link);
      if (!parsed) return tl::unexpected(parsed.error());
      of_link_count = parsed->entry->info.stages;
      for (int i = 0; i < of_link_count; ++i)
        of_link[static_cast<std::size_t>(i)] = make_stage(*parsed, i);
      const CellStage& first = of_link[0];
      if (count == 0 && first.input == CellInput::kFrame && first.start == CellStart::kPrevious) {
        return link.error("%s takes the frame and what a link before it made of it; none is before",
                          parsed->entry->info.name);
      }
    }
    if (count + of_link_count > kMaxCellStages) {
      return link.error("the chain comes to %d stages here; at most %d are allowed",
                        count + of_link_count, kMaxCellStages);
    }
    for (int i = 0; i < of_link_count; ++i)
      stages[static_cast<std::size_t>(count + i)] = of_link[static_cast<std::size_t>(i)];
    count += of_link_count;
  }
  return count;
}

}  // namespace ocellus
