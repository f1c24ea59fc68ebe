#include "apps/halftone/template_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "apps/common/input_error.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"

namespace ocellus::app {

const char* const kCellJsonHelp =
    "The file is one stage or {\"note\": \"...\", \"stages\": [...]}. The note names the source. A "
    "stage is an\n"
    "object with these fields; a missing one has its default (in parentheses):\n"
    "  \"a\", \"b\"            arrays of rows: 3x3, 5x5, 7x7 or 9x9, both of the same size (0)\n"
    "  \"threshold\"         (0)\n"
    "  \"continuous\"        true: a continuous-time template; 1 is subtracted from A's center to\n"
    "                      convert it (false)\n"
    "  \"levels\"            2 to 256 (2)\n"
    "  \"xi\"                (1)\n"
    "  \"input\"             the input u of the stage: \"previous\" or \"frame\" (\"previous\")\n"
    "  \"start\"             \"input\", \"previous\", \"constant\", \"noise\", \"blue-noise\" or\n"
    "                      \"error-diffusion\" (\"input\")\n"
    "  \"start_value\"       of the start \"constant\", -1 to 1\n"
    "  \"seed\"              of the start \"noise\"\n"
    "  \"boundary\"          \"zero-flux\", \"fixed\" or \"periodic\" (\"zero-flux\")\n"
    "  \"boundary_value\"    of the boundary \"fixed\", -1 to 1\n"
    "  \"update\"            \"colors\", \"raster\" or \"synchronous\" (\"colors\")\n"
    "  \"color_spacing\"     of the update \"colors\", 2 to 9; 0: the least (0)\n"
    "  \"move\"              \"update\" or \"swap\" (\"update\")\n"
    "  \"sweeps\"            maximum number of sweeps, 1 to 100000 (100)\n"
    "  \"group_stages\"      this stage and the next N - 1 stages are a group, which is repeated\n"
    "                      until a pass changes nothing; 0: none (0)\n"
    "  \"max_passes\"        maximum number of passes of the group, 1 to 100000 (10000)\n"
    "For example:\n"
    "  {\"a\": [[0, 1, 0], [1, 3, 1], [0, 1, 0]], \"b\": [[0, 0, 0], [0, 4, 0], [0, 0, 0]],\n"
    "   \"threshold\": -1, \"continuous\": true, \"start\": \"constant\", \"start_value\": 1,\n"
    "   \"boundary\": \"fixed\", \"boundary_value\": -1, \"sweeps\": 1000}";

namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<double>>;

/// Sets a member to a number, which may be that of an enumerator.
template <auto kMember>
void set(CellStage& stage, double value) {
  auto& member = stage.*kMember;
  member = static_cast<std::remove_reference_t<decltype(member)>>(value);
}
template <auto kMember>
std::size_t get(const CellStage& stage) {
  return static_cast<std::size_t>(stage.*kMember);
}

struct NumberField {
  const char* name;
  double low;
  double high;
  bool whole;
  void (*set)(CellStage& stage, double value);
};

constexpr double kMaxWeight = 16383.0;
constexpr NumberField kNumbers[] = {
    {"threshold", -kMaxWeight, kMaxWeight, false,
     [](CellStage& s, double v) { s.weights.threshold = static_cast<float>(v); }},
    {"levels", 2, 256, true, set<&CellStage::levels>},
    {"xi", 1e-6, 100, false, set<&CellStage::xi>},
    {"start_value", -1, 1, false, set<&CellStage::start_value>},
    {"seed", 0, 4294967295.0, true, set<&CellStage::seed>},
    {"boundary_value", -1, 1, false, set<&CellStage::boundary_value>},
    {"color_spacing", 0, 9, true, set<&CellStage::color_spacing>},
    {"sweeps", 1, 100000, true, set<&CellStage::max_sweeps>},
    {"group_stages", 0, kMaxCellStages, true, set<&CellStage::group_stages>},
    {"max_passes", 1, 100000, true, set<&CellStage::max_passes>},
};

/// The words in the order of the enumerators. An empty word stands for a value that a file cannot
/// hold.
struct WordField {
  const char* name;
  std::array<std::string_view, 7> words;
  void (*set)(CellStage& stage, double word);
  std::size_t (*get)(const CellStage& stage);
};

constexpr WordField kWords[] = {
    {"input", {"previous", "frame"}, set<&CellStage::input>, get<&CellStage::input>},
    {"start",
     {"constant", "input", "", "noise", "blue-noise", "error-diffusion", "previous"},
     set<&CellStage::start>,
     get<&CellStage::start>},
    {"boundary",
     {"fixed", "zero-flux", "periodic"},
     set<&CellStage::boundary>,
     get<&CellStage::boundary>},
    {"update",
     {"colors", "raster", "synchronous"},
     set<&CellStage::update>,
     get<&CellStage::update>},
    {"move", {"update", "swap"}, set<&CellStage::move>, get<&CellStage::move>},
};

/// A field without a meaning, and what would give it one; null: its default may be given.
struct Meaningless {
  const char* field;
  const char* needs;
};

/// The fields that have no meaning with the others.
std::vector<Meaningless> meaningless(const CellStage& stage) {
  std::vector<Meaningless> fields;
  if (stage.start != CellStart::kConstant)
    fields.push_back({"start_value", "\"start\": \"constant\""});
  if (stage.start != CellStart::kNoise) fields.push_back({"seed", "\"start\": \"noise\""});
  if (stage.boundary != CellBoundary::kFixed)
    fields.push_back({"boundary_value", "\"boundary\": \"fixed\""});
  if (stage.update != CellUpdate::kColors)
    fields.push_back({"color_spacing", "\"update\": \"colors\""});
  if (stage.group_stages == 0) {
    fields.push_back({"group_stages", nullptr});
    fields.push_back({"max_passes", "\"group_stages\" above 0"});
  }
  return fields;
}

/// The field of this name, or null.
template <typename Fields>
auto find_field(const Fields& fields, std::string_view name) {
  const auto found = std::find_if(std::begin(fields), std::end(fields),
                                  [name](const auto& field) { return field.name == name; });
  return found == std::end(fields) ? nullptr : &*found;
}

void set_number(CellStage& stage, const NumberField& field, double value,
                const std::string& where) {
  // False for NaN.
  const bool good =
      value >= field.low && value <= field.high && (!field.whole || value == std::floor(value));
  if (!good) {
    throw InputError(fmt::format("{}: {} is {:g}; it must be {} {:.10g} to {:.10g}", where,
                                 field.name, value, field.whole ? "a whole number," : "a number,",
                                 field.low, field.high));
  }
  field.set(stage, value);
}

void set_word(CellStage& stage, const WordField& field, std::string_view value,
              const std::string& where) {
  // Underscores, as in the C++ names, are accepted, too.
  std::string dashed(value);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::string known;
  for (std::size_t i = 0; i < field.words.size(); ++i) {
    if (field.words[i].empty()) continue;
    if (field.words[i] == dashed) {
      field.set(stage, static_cast<double>(i));
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(field.words[i]);
  }
  throw InputError(fmt::format("{}: {} is \"{}\"; it must be one of {}", where, field.name,
                               printable(value, kMostOfValue), known));
}

/// The fields of a stage while they are read.
struct Draft {
  CellStage stage;
  bool continuous = false;
  std::optional<Rows> a;
  std::optional<Rows> b;
};

void check_rows(const Rows& rows, char name, const std::string& where) {
  const std::size_t side = rows.empty() ? 0 : rows.front().size();
  const auto wrong = [&](const std::string& what) {
    throw InputError(fmt::format("{}: {}; {} must be 3x3, 5x5, 7x7 or 9x9", where, what, name));
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != side) {
      wrong(fmt::format("row {} of {} has {} numbers, row 1 has {}", i + 1, name, rows[i].size(),
                        side));
    }
  }
  const bool good = side % 2 == 1 && side >= 3 && side <= 2 * kMaxTemplateRadius + 1;
  if (rows.size() != side || !good)
    wrong(fmt::format("{} is {}x{} (rows x columns)", name, rows.size(), side));
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      if (std::fabs(rows[i][j]) <= kMaxWeight) continue;  // false for NaN
      throw InputError(
          fmt::format("{}: {}, row {}, column {} is {:g}; it must be a number, {:g} to "
                      "{:g}",
                      where, name, i + 1, j + 1, rows[i][j], -kMaxWeight, kMaxWeight));
    }
  }
}

CellStage finished(Draft draft, bool continuous, const std::string& where) {
  if (!draft.a && !draft.b)
    throw InputError(fmt::format("{}: neither a nor b is given; one of them is needed", where));
  const std::size_t side = draft.a ? draft.a->size() : draft.b->size();
  if (draft.a && draft.b && draft.b->size() != side) {
    throw InputError(fmt::format("{}: a is {}x{} and b is {}x{}; they must have the same size",
                                 where, side, side, draft.b->size(), draft.b->size()));
  }
  draft.stage.weights.radius = static_cast<int>(side / 2);
  for (const auto& [rows, weights] :
       {std::pair{&draft.a, &draft.stage.weights.a}, std::pair{&draft.b, &draft.stage.weights.b}}) {
    if (!*rows) continue;
    auto weight = weights->begin();
    for (const auto& row : **rows) {
      for (const double value : row) *weight++ = static_cast<float>(value);
    }
  }
  if (draft.continuous || continuous)
    draft.stage.weights = from_continuous_time(draft.stage.weights);
  return draft.stage;
}

void check_count(std::size_t stages, const std::string& where) {
  if (stages > kMaxCellStages) {
    throw InputError(
        fmt::format("{}: more than {} stages, which is the limit", where, kMaxCellStages));
  }
}

Rows json_rows(const Json& value, const std::string& where, const std::string& name) {
  const auto wrong = [&](const std::string& what) {
    throw InputError(fmt::format("{}: {} must be an array of rows, which are arrays of numbers{}",
                                 where, name, what));
  };
  if (!value.is_array()) wrong("");
  Rows rows;
  for (const Json& row : value) {
    if (!row.is_array()) wrong(fmt::format("; row {} is not an array", rows.size() + 1));
    std::vector<double> numbers;
    for (const Json& weight : row) {
      if (!weight.is_number()) {
        wrong(fmt::format("; row {}, column {} is {}", rows.size() + 1, numbers.size() + 1,
                          shown_json(weight)));
      }
      numbers.push_back(weight.get<double>());
    }
    rows.push_back(numbers);
  }
  check_rows(rows, name[0], where);
  return rows;
}

CellStage json_stage(const Json& stage, bool continuous, const std::string& where) {
  if (!stage.is_object()) throw InputError(fmt::format("{}: must be an object", where));
  Draft draft;
  for (const auto& [name, value] : stage.items()) {
    const auto shown = [&member = value] { return shown_json(member); };
    if (name == "a" || name == "b") {
      (name == "a" ? draft.a : draft.b) = json_rows(value, where, name);
    } else if (name == "continuous") {
      if (!value.is_boolean()) {
        throw InputError(
            fmt::format("{}: continuous is {}; it must be true or false", where, shown()));
      }
      draft.continuous = value.get<bool>();
    } else if (const NumberField* number = find_field(kNumbers, name)) {
      if (!value.is_number()) {
        throw InputError(fmt::format("{}: {} is {}; it must be a number, {:.10g} to {:.10g}", where,
                                     name, shown(), number->low, number->high));
      }
      set_number(draft.stage, *number, value.get<double>(), where);
    } else if (const WordField* word = find_field(kWords, name)) {
      if (!value.is_string())
        throw InputError(fmt::format("{}: {} is {}; it must be a word", where, name, shown()));
      set_word(draft.stage, *word, value.get<std::string>(), where);
    } else {
      throw InputError(fmt::format(
          "{}: \"{}\" is not a field; the fields are a, b, threshold, continuous, levels, xi, "
          "input, start, start_value, seed, boundary, boundary_value, update, color_spacing, "
          "move, sweeps, group_stages, max_passes",
          where, printable(name, kMostOfValue)));
    }
  }
  // What gives a field its meaning may have been forgotten.
  for (const auto& [field, needs] : meaningless(draft.stage)) {
    if (needs != nullptr && stage.contains(field))
      throw InputError(fmt::format("{}: {} has no meaning without {}", where, field, needs));
  }
  return finished(std::move(draft), continuous, where);
}

/// The shortest decimal number that is exactly this float.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

bool any(const CellStage& stage, const std::array<float, kMaxTemplateWeights>& weights) {
  const int side = 2 * stage.weights.radius + 1;
  return std::any_of(weights.begin(), weights.begin() + side * side,
                     [](float weight) { return weight != 0.0f; });
}

/// B is left out when it is 0. A is left out when it is 0 and B is not.
bool shows_a(const CellStage& stage) {
  return any(stage, stage.weights.a) || !any(stage, stage.weights.b);
}

Json rows_json(const CellStage& stage, const std::array<float, kMaxTemplateWeights>& weights) {
  const int side = 2 * stage.weights.radius + 1;
  Json rows = Json::array();
  for (int y = 0; y < side; ++y) {
    Json row = Json::array();
    for (int x = 0; x < side; ++x)
      row.push_back(shortest(weights[static_cast<std::size_t>(y * side + x)]));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

CellTemplates parse_cell_templates(const std::string& source, bool continuous) {
  const Json root = json_object(source);
  CellTemplates templates;
  if (!root.contains("stages")) {
    templates.stages.push_back(json_stage(root, continuous, "the stage"));
    return templates;
  }
  for (const auto& [name, value] : root.items()) {
    if (name != "note" && name != "stages") {
      throw InputError(fmt::format("\"{}\" is unknown; beside \"stages\" only \"note\" is allowed",
                                   printable(name, kMostOfValue)));
    }
  }
  if (root.contains("note")) {
    if (!root["note"].is_string()) throw InputError("\"note\" must be a string");
    templates.note = root["note"].get<std::string>();
  }
  const Json& stages = root["stages"];
  if (!stages.is_array() || stages.empty())
    throw InputError("\"stages\" must be an array of 1 to 16 stages");
  for (const Json& stage : stages) {
    const std::string where = fmt::format("stage {}", templates.stages.size() + 1);
    check_count(templates.stages.size() + 1, where);
    templates.stages.push_back(json_stage(stage, continuous, where));
  }
  return templates;
}

nlohmann::ordered_json cell_templates_json(const CellTemplates& templates) {
  nlohmann::ordered_json root;
  if (!templates.note.empty()) root["note"] = templates.note;
  root["stages"] = nlohmann::ordered_json::array();
  for (const CellStage& stage : templates.stages) {
    nlohmann::ordered_json object;
    if (shows_a(stage)) object["a"] = rows_json(stage, stage.weights.a);
    if (any(stage, stage.weights.b)) object["b"] = rows_json(stage, stage.weights.b);
    object["threshold"] = shortest(stage.weights.threshold);
    object["levels"] = stage.levels;
    object["xi"] = shortest(stage.xi);
    for (const WordField& field : kWords) object[field.name] = field.words.at(field.get(stage));
    object["start_value"] = shortest(stage.start_value);
    object["seed"] = stage.seed;
    object["boundary_value"] = shortest(stage.boundary_value);
    object["color_spacing"] = stage.color_spacing;
    object["sweeps"] = stage.max_sweeps;
    object["group_stages"] = stage.group_stages;
    object["max_passes"] = stage.max_passes;
    for (const Meaningless& none : meaningless(stage)) object.erase(none.field);
    root["stages"].push_back(object);
  }
  return root;
}

}  // namespace ocellus::app
