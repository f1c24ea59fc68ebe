#include "apps/halftone/template_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "apps/common/input_error.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"

namespace ocellus::app {

const char* const kCellTextHelp =
    "The text has one field in each line; # begins a comment. A missing field has its\n"
    "default (in parentheses):\n"
    "  note WORDS                    the source of the templates\n"
    "  stage                         begins the next stage of a chain (optional for the first)\n"
    "  a                             rows of numbers follow, one row in each line: 3x3, 5x5, 7x7\n"
    "  b                             or 9x9; A and B have the same size (0)\n"
    "  threshold T                   (0)\n"
    "  continuous                    this is a continuous-time template; 1 is subtracted from A's\n"
    "                                center to convert it\n"
    "  levels M                      2 to 256 (2)\n"
    "  xi X                          (1)\n"
    "  input previous|frame          the input u of the stage (previous)\n"
    "  start input|previous|constant V|noise SEED|blue-noise|error-diffusion   (input)\n"
    "  boundary zero-flux|fixed V|periodic                                     (zero-flux)\n"
    "  update colors SPACING|raster|synchronous      spacing 0: the least     (colors 0)\n"
    "  move update|swap              (update)\n"
    "  sweeps N                      maximum number of sweeps, 1 to 100000 (100)\n"
    "  group_stages N                this stage and the next N - 1 stages are a group, which is\n"
    "                                repeated until a pass changes nothing; 0: none (0)\n"
    "  max_passes N                  maximum number of passes of the group, 1 to 100000 (10000)";
const char* const kCellJsonHelp =
    "JSON is one stage or {\"note\": \"...\", \"stages\": [...]}. A stage is an object with the "
    "same fields:\n"
    "  {\"a\": [[0, 1, 0], [1, 3, 1], [0, 1, 0]], \"b\": [[0, 0, 0], [0, 4, 0], [0, 0, 0]],\n"
    "   \"threshold\": -1, \"continuous\": true, \"start\": \"constant\", \"start_value\": 1,\n"
    "   \"boundary\": \"fixed\", \"boundary_value\": -1, \"sweeps\": 1000}\n"
    "  and \"levels\", \"xi\", \"input\", \"seed\", \"update\", \"color_spacing\", \"move\",\n"
    "  \"group_stages\", \"max_passes\".";

namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<double>>;

// ---- the fields, the same in both forms

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
    {"levels", 2, 256, true, [](CellStage& s, double v) { s.levels = static_cast<int>(v); }},
    {"xi", 1e-6, 100, false, [](CellStage& s, double v) { s.xi = static_cast<float>(v); }},
    {"start_value", -1, 1, false,
     [](CellStage& s, double v) { s.start_value = static_cast<float>(v); }},
    {"seed", 0, 4294967295.0, true,
     [](CellStage& s, double v) { s.seed = static_cast<std::uint32_t>(v); }},
    {"boundary_value", -1, 1, false,
     [](CellStage& s, double v) { s.boundary_value = static_cast<float>(v); }},
    {"color_spacing", 0, 9, true,
     [](CellStage& s, double v) { s.color_spacing = static_cast<int>(v); }},
    {"sweeps", 1, 100000, true, [](CellStage& s, double v) { s.max_sweeps = static_cast<int>(v); }},
    {"group_stages", 0, kMaxCellStages, true,
     [](CellStage& s, double v) { s.group_stages = static_cast<int>(v); }},
    {"max_passes", 1, 100000, true,
     [](CellStage& s, double v) { s.max_passes = static_cast<int>(v); }},
};

/// The words in the order of the enumerators. An empty word stands for a value that a file cannot
/// hold.
struct WordField {
  const char* name;
  std::vector<std::string_view> words;
  void (*set)(CellStage& stage, int word);
  int (*get)(const CellStage& stage);
};

const std::array<WordField, 5>& word_fields() {
  static const std::array<WordField, 5> kWords = {
      {{"input",
        {"previous", "frame"},
        [](CellStage& s, int w) { s.input = static_cast<CellInput>(w); },
        [](const CellStage& s) { return static_cast<int>(s.input); }},
       {"start",
        {"constant", "input", "", "noise", "blue-noise", "error-diffusion", "previous"},
        [](CellStage& s, int w) { s.start = static_cast<CellStart>(w); },
        [](const CellStage& s) { return static_cast<int>(s.start); }},
       {"boundary",
        {"fixed", "zero-flux", "periodic"},
        [](CellStage& s, int w) { s.boundary = static_cast<CellBoundary>(w); },
        [](const CellStage& s) { return static_cast<int>(s.boundary); }},
       {"update",
        {"colors", "raster", "synchronous"},
        [](CellStage& s, int w) { s.update = static_cast<CellUpdate>(w); },
        [](const CellStage& s) { return static_cast<int>(s.update); }},
       {"move",
        {"update", "swap"},
        [](CellStage& s, int w) { s.move = static_cast<CellMove>(w); },
        [](const CellStage& s) { return static_cast<int>(s.move); }}}};
  return kWords;
}

const WordField* word_field(std::string_view name) {
  for (const WordField& field : word_fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const NumberField* number_field(std::string_view name) {
  for (const NumberField& field : kNumbers) {
    if (field.name == name) return &field;
  }
  return nullptr;
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
      field.set(stage, static_cast<int>(i));
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

constexpr const char* kFields =
    "note, stage, a, b, threshold, continuous, levels, xi, input, start, boundary, update, move, "
    "sweeps, group_stages, max_passes";

// ---- text

/// One line and its words.
struct TextLine {
  int number = 0;
  std::vector<std::string> words;
  std::string rest;  // the text after the first word, without a comment

  std::string where() const { return fmt::format("line {}", number); }
};

std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument) return std::nullopt;
  // A number that is out of range becomes infinite, which no field accepts.
  if (error != std::errc{}) return std::copysign(HUGE_VAL, word[0] == '-' ? -1.0 : 1.0);
  return value;
}

std::vector<TextLine> lines_of(const std::string& source) {
  std::vector<TextLine> lines;
  std::istringstream text(source);
  std::string content;
  for (int number = 1; std::getline(text, content); ++number) {
    TextLine line;
    line.number = number;
    content = content.substr(0, content.find('#'));
    std::istringstream words(content);
    for (std::string word; words >> word;) line.words.push_back(word);
    if (!line.words.empty()) {
      line.rest = content.substr(content.find(line.words[0]) + line.words[0].size());
      line.rest.erase(0, line.rest.find_first_not_of(" \t\r"));
      line.rest.erase(line.rest.find_last_not_of(" \t\r") + 1);
    }
    if (!line.words.empty()) lines.push_back(line);
  }
  return lines;
}

class TextReader {
 public:
  TextReader(const std::string& source, bool continuous)
      : lines_(lines_of(source)), continuous_(continuous) {}

  CellTemplateFile read() {
    if (lines_.empty()) throw InputError("the text is empty; it must hold a or b and their rows");
    while (at_ < lines_.size()) field(lines_[at_++]);
    end_stage();
    return std::move(file_);
  }

 private:
  void field(const TextLine& line) {
    const std::string& name = line.words[0];
    if (name == "note") {
      file_.note = line.rest;
      return;
    }
    if (name == "stage") {
      no_more(line, 1);
      // The first word "stage" ends no stage before it.
      if (begun_) end_stage();
      begun_ = true;
      stage_line_ = line.number;
      return;
    }
    if (!begun_) {
      begun_ = true;
      stage_line_ = line.number;
    }
    if (name == "a" || name == "b") {
      auto& rows = name == "a" ? draft_.a : draft_.b;
      if (rows) throw InputError(fmt::format("{}: a second {}", line.where(), name));
      no_more(line, 1);
      rows = rows_after(line, name[0]);
    } else if (name == "continuous") {
      no_more(line, 1);
      draft_.continuous = true;
    } else if (const NumberField* number = number_field(name)) {
      value(line, *number, 1);
      no_more(line, 2);
    } else if (const WordField* word = word_field(name)) {
      if (line.words.size() < 2)
        throw InputError(fmt::format("{}: a word is missing after {}", line.where(), name));
      set_word(draft_.stage, *word, line.words[1], line.where());
      // Some words are followed by a number.
      const char* number_name = nullptr;
      bool needed = true;
      if (name == "start" && line.words[1] == "constant") number_name = "start_value";
      if (name == "start" && line.words[1] == "noise") number_name = "seed";
      if (name == "boundary" && line.words[1] == "fixed") number_name = "boundary_value";
      if (name == "update" && line.words[1] == "colors") {
        number_name = "color_spacing";
        needed = false;
      }
      if (number_name != nullptr && (needed || line.words.size() > 2))
        value(line, *number_field(number_name), 2);
      no_more(line, number_name != nullptr ? 3 : 2);
    } else {
      throw InputError(fmt::format("{}: \"{}\" is not a field; the fields are {}", line.where(),
                                   printable(name, kMostOfValue), kFields));
    }
  }

  void value(const TextLine& line, const NumberField& number, std::size_t at) {
    if (line.words.size() <= at) {
      throw InputError(
          fmt::format("{}: a number is missing after {}", line.where(), line.words[at - 1]));
    }
    const std::optional<double> parsed = number_in(line.words[at]);
    if (!parsed) {
      throw InputError(fmt::format(
          "{}: {} is \"{}\"; it must be a number, {:.10g} to {:.10g}", line.where(), number.name,
          printable(line.words[at], kMostOfValue), number.low, number.high));
    }
    set_number(draft_.stage, number, *parsed, line.where());
  }

  static void no_more(const TextLine& line, std::size_t count) {
    if (line.words.size() > count) {
      throw InputError(fmt::format("{}: \"{}\" follows after the field's value", line.where(),
                                   printable(line.words[count], kMostOfValue)));
    }
  }

  Rows rows_after(const TextLine& name_line, char name) {
    Rows rows;
    for (; at_ < lines_.size() && number_in(lines_[at_].words[0]); ++at_) {
      std::vector<double> row;
      for (const std::string& word : lines_[at_].words) {
        const std::optional<double> weight = number_in(word);
        if (!weight) {
          throw InputError(fmt::format("{}: \"{}\" in a row of {} is not a number",
                                       lines_[at_].where(), printable(word, kMostOfValue), name));
        }
        row.push_back(*weight);
      }
      rows.push_back(row);
    }
    check_rows(rows, name, name_line.where());
    return rows;
  }

  void end_stage() {
    const std::string where = fmt::format("the stage of line {}", stage_line_);
    file_.stages.push_back(finished(std::move(draft_), continuous_, where));
    check_count(file_.stages.size(), where);
    draft_ = {};
  }

  std::vector<TextLine> lines_;
  bool continuous_;
  std::size_t at_ = 0;
  CellTemplateFile file_;
  Draft draft_;
  bool begun_ = false;
  int stage_line_ = 1;
};

// ---- JSON

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
    } else if (const NumberField* number = number_field(name)) {
      if (!value.is_number()) {
        throw InputError(fmt::format("{}: {} is {}; it must be a number, {:.10g} to {:.10g}", where,
                                     name, shown(), number->low, number->high));
      }
      set_number(draft.stage, *number, value.get<double>(), where);
    } else if (const WordField* word = word_field(name)) {
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
  return finished(std::move(draft), continuous, where);
}

CellTemplateFile parse_json(const std::string& source, bool continuous) {
  const Json root = json_object(source);
  CellTemplateFile file;
  if (!root.contains("stages")) {
    file.stages.push_back(json_stage(root, continuous, "the stage"));
    return file;
  }
  for (const auto& [name, value] : root.items()) {
    if (name != "note" && name != "stages") {
      throw InputError(fmt::format("\"{}\" is unknown; beside \"stages\" only \"note\" is allowed",
                                   printable(name, kMostOfValue)));
    }
  }
  if (root.contains("note")) {
    if (!root["note"].is_string()) throw InputError("\"note\" must be a string");
    file.note = root["note"].get<std::string>();
  }
  const Json& stages = root["stages"];
  if (!stages.is_array() || stages.empty())
    throw InputError("\"stages\" must be an array of 1 to 16 stages");
  for (const Json& stage : stages) {
    const std::string where = fmt::format("stage {}", file.stages.size() + 1);
    check_count(file.stages.size() + 1, where);
    file.stages.push_back(json_stage(stage, continuous, where));
  }
  return file;
}

// ---- output as text and JSON

/// The shortest decimal number that is exactly this float.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

std::string_view word_of(const CellStage& stage, const char* field_name) {
  const WordField& field = *word_field(field_name);
  return field.words.at(static_cast<std::size_t>(field.get(stage)));
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

std::string rows_text(const CellStage& stage,
                      const std::array<float, kMaxTemplateWeights>& weights) {
  const int side = 2 * stage.weights.radius + 1;
  std::size_t width = 0;
  std::vector<std::string> numbers;
  for (int i = 0; i < side * side; ++i) {
    numbers.push_back(fmt::format("{}", weights[static_cast<std::size_t>(i)]));
    width = std::max(width, numbers.back().size());
  }
  std::string text;
  for (int i = 0; i < side * side; ++i) {
    text +=
        fmt::format("{}{:>{}}{}", i % side == 0 ? "  " : " ", numbers[static_cast<std::size_t>(i)],
                    width, i % side == side - 1 ? "\n" : "");
  }
  return text;
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

const CellStage kDefaults;

}  // namespace

CellTemplateFile parse_cell_templates(const std::string& source, bool continuous) {
  const std::size_t first = source.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (source[first] == '{' || source[first] == '['))
    return parse_json(source, continuous);
  return TextReader(source, continuous).read();
}

std::string cell_templates_text(const CellTemplateFile& file) {
  std::string text;
  if (!file.note.empty()) text += fmt::format("note {}\n", printable(file.note));
  for (const CellStage& stage : file.stages) {
    text += "stage\n";
    if (shows_a(stage)) text += "a\n" + rows_text(stage, stage.weights.a);
    if (any(stage, stage.weights.b)) text += "b\n" + rows_text(stage, stage.weights.b);
    if (stage.weights.threshold != 0.0f)
      text += fmt::format("threshold {}\n", stage.weights.threshold);
    if (stage.levels != kDefaults.levels) text += fmt::format("levels {}\n", stage.levels);
    if (stage.xi != kDefaults.xi) text += fmt::format("xi {}\n", stage.xi);
    if (stage.input != kDefaults.input) text += fmt::format("input {}\n", word_of(stage, "input"));
    if (stage.start != kDefaults.start) {
      text += fmt::format("start {}", word_of(stage, "start"));
      if (stage.start == CellStart::kConstant) text += fmt::format(" {}", stage.start_value);
      if (stage.start == CellStart::kNoise) text += fmt::format(" {}", stage.seed);
      text += '\n';
    }
    if (stage.boundary != kDefaults.boundary) {
      text += fmt::format("boundary {}", word_of(stage, "boundary"));
      if (stage.boundary == CellBoundary::kFixed) text += fmt::format(" {}", stage.boundary_value);
      text += '\n';
    }
    if (stage.update != kDefaults.update || stage.color_spacing != kDefaults.color_spacing) {
      text += fmt::format("update {}", word_of(stage, "update"));
      if (stage.update == CellUpdate::kColors) text += fmt::format(" {}", stage.color_spacing);
      text += '\n';
    }
    if (stage.move != kDefaults.move) text += fmt::format("move {}\n", word_of(stage, "move"));
    if (stage.max_sweeps != kDefaults.max_sweeps)
      text += fmt::format("sweeps {}\n", stage.max_sweeps);
    if (stage.group_stages != kDefaults.group_stages)
      text += fmt::format("group_stages {}\n", stage.group_stages);
    if (stage.max_passes != kDefaults.max_passes)
      text += fmt::format("max_passes {}\n", stage.max_passes);
  }
  return text;
}

nlohmann::ordered_json cell_templates_json(const CellTemplateFile& file) {
  nlohmann::ordered_json root;
  if (!file.note.empty()) root["note"] = file.note;
  root["stages"] = nlohmann::ordered_json::array();
  for (const CellStage& stage : file.stages) {
    nlohmann::ordered_json object;
    if (shows_a(stage)) object["a"] = rows_json(stage, stage.weights.a);
    if (any(stage, stage.weights.b)) object["b"] = rows_json(stage, stage.weights.b);
    object["threshold"] = shortest(stage.weights.threshold);
    object["levels"] = stage.levels;
    object["xi"] = shortest(stage.xi);
    for (const WordField& field : word_fields())
      object[field.name] = field.words.at(static_cast<std::size_t>(field.get(stage)));
    if (stage.start == CellStart::kConstant) object["start_value"] = shortest(stage.start_value);
    if (stage.start == CellStart::kNoise) object["seed"] = stage.seed;
    if (stage.boundary == CellBoundary::kFixed)
      object["boundary_value"] = shortest(stage.boundary_value);
    if (stage.update == CellUpdate::kColors) object["color_spacing"] = stage.color_spacing;
    object["sweeps"] = stage.max_sweeps;
    if (stage.group_stages > 0) {
      object["group_stages"] = stage.group_stages;
      object["max_passes"] = stage.max_passes;
    }
    root["stages"].push_back(object);
  }
  return root;
}

}  // namespace ocellus::app
