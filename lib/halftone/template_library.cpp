// The library of templates, which cell_library.json describes, and chains of its names.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "cell_library_generated.h"
#include "core/failure.h"
#include "halftone/plan.h"
#include "halftone/stage_check.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"
#include "ocellus/halftone.h"

namespace ocellus {
namespace {

using file::LibraryTemplate;

/// Longest name of a template, in characters.
constexpr std::size_t kMaxTemplateName = 48;

const file::CellLibrary& library() noexcept {
  return *flatbuffers::GetRoot<file::CellLibrary>(detail::cell_library().data());
}

/// The template of this name or alias, which must be in lower case; null if there is none.
const LibraryTemplate* find_template(std::string_view name) noexcept {
  const auto& all = *library().templates();
  const auto found = std::find_if(all.begin(), all.end(), [name](const LibraryTemplate* one) {
    return one->name()->string_view() == name ||
           (one->alias() != nullptr && one->alias()->string_view() == name);
  });
  return found == all.end() ? nullptr : *found;
}

/// Levenshtein distance of two names.
int distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxTemplateName);
  b = b.substr(0, kMaxTemplateName);
  std::array<int, kMaxTemplateName + 1> row{};
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

/// The three templates whose names are most similar to `name`.
std::array<CellTemplateInfo, 3> nearest_templates(std::string_view name) noexcept {
  std::array<CellTemplateInfo, 3> nearest;
  std::partial_sort_copy(cell_templates().begin(), cell_templates().end(), nearest.begin(),
                         nearest.end(),
                         [name](const CellTemplateInfo& a, const CellTemplateInfo& b) {
                           const int to_a = distance(name, a.name);
                           const int to_b = distance(name, b.name);
                           return to_a != to_b ? to_a < to_b : std::string_view(a.name) < b.name;
                         });
  return nearest;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return text.substr(text.size());
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// A link of a chain, with its position for error texts.
struct Link {
  std::string_view text;
  int number = 1;          // index in the chain, from 1
  std::size_t column = 1;  // position of the first character, from 1

  /// Makes an error that begins with "link 2 (\"edge(\", character 9): ".
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

/// A group of links while it is open.
struct Group {
  bool open = false;
  int first = 0;  // its first stage
  std::size_t column = 1;
};

/// The parsed content of a link that names a template.
struct Parsed {
  const LibraryTemplate* entry = nullptr;
  float number = 0.0f;
  int sweeps = 0;  // 0: those of the template

  const char* name() const noexcept { return entry->name()->c_str(); }
  int stages() const noexcept { return static_cast<int>(entry->stages()->size()); }
};

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size();
}

bool is_file(std::string_view link) {
  return link.ends_with(".ocellus");
}

/// Position of a character that is probably meant as a separator. Commas inside brackets are
/// allowed.
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

/// A name in lower case, with its variant.
struct Name {
  char text[kMaxTemplateName + 1] = {};
  std::size_t length = 0;

  void add(std::string_view word) noexcept {
    for (const char c : word) {
      if (length < kMaxTemplateName)
        text[length++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  std::string_view view() const noexcept { return {text, length}; }
};

/// Parses what stands between the brackets of a link. Adds a variant to `name`.
Expected<void> parse_parameters(const Link& link, std::string_view rest, Name& name,
                                std::string_view& number, int& sweeps) noexcept {
  bool variant = false;
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
        return link.error("\"%.*s\": the only parameter with a name is sweeps", shown, item.data());
      if (!parse_number(trimmed(item.substr(equals + 1)), sweeps) || sweeps < 1 ||
          sweeps > detail::kMaxCellSweeps) {
        return link.error("\"%.*s\": sweeps must be a whole number, 1 to %d", shown, item.data(),
                          detail::kMaxCellSweeps);
      }
    } else if ((item[0] >= 'a' && item[0] <= 'z') || (item[0] >= 'A' && item[0] <= 'Z')) {
      if (variant) return link.error("\"%.*s\" is a second variant", shown, item.data());
      variant = true;
      name.add("_");
      name.add(item);
    } else {
      if (!number.empty()) return link.error("\"%.*s\" is a second number", shown, item.data());
      number = item;
    }
  }
  return {};
}

/// The error of a name that is no template. `base` is the text before the brackets.
tl::unexpected<Error> no_template(const Link& link, std::string_view base, bool brackets,
                                  const Name& name) noexcept {
  // Users write "threshold:0.2", "threshold=0.2" and "threshold 0.2". The error shows the correct
  // form.
  const std::size_t end = base.find_first_of(":= \t");
  if (!brackets && end != std::string_view::npos && find_template({name.text, end}) != nullptr) {
    const std::size_t begin = std::min(base.find_first_not_of(":= \t", end), base.size());
    const std::string_view between = base.substr(end, begin - end);
    const std::string_view value = base.substr(begin);
    if (between.find_first_of(":=") != std::string_view::npos ||
        value.find_first_of("0123456789.+-") == 0) {
      return link.error("write parameters in brackets: %.*s(%.*s)", static_cast<int>(end),
                        name.text, static_cast<int>(value.size()), value.data());
    }
  }
  const auto [first, second, third] = nearest_templates(name.view());
  return link.error("there is no template \"%s\"; the nearest names are %s, %s and %s", name.text,
                    first.name, second.name, third.name);
}

Expected<Parsed> parse_link(const Link& link) noexcept {
  if (const std::size_t mark = separator_in(link.text); mark != std::string_view::npos) {
    return link.error("\"%c\" is not a separator; separate the templates of a chain by |",
                      link.text[mark]);
  }
  const std::size_t open = link.text.find('(');
  const bool brackets = open != std::string_view::npos;
  const std::string_view base = trimmed(link.text.substr(0, open));
  if (brackets && is_file(base))
    return link.error("a file takes no parameters; leave the brackets out");
  if (base.empty()) return link.error("a name is missing before the bracket");
  // A truncated name could match another template, so long names are an error.
  if (base.size() > kMaxTemplateName)
    return link.error("a name has at most %zu characters", kMaxTemplateName);
  Name name;
  name.add(base);

  Parsed parsed;
  std::string_view number;
  if (brackets) {
    if (link.text.back() != ')') return link.error("the bracket is not closed by \")\" at the end");
    OCELLUS_TRY(parse_parameters(link, link.text.substr(open + 1, link.text.size() - open - 2),
                                 name, number, parsed.sweeps));
  }
  parsed.entry = find_template(name.view());
  if (parsed.entry == nullptr) return no_template(link, base, brackets, name);
  const LibraryTemplate& entry = *parsed.entry;
  parsed.number = entry.default_number();
  if (number.empty()) return parsed;
  const auto shown = static_cast<int>(std::min<std::size_t>(number.size(), 40));
  if (entry.number() == nullptr)
    return link.error("\"%.*s\": %s takes no number", shown, number.data(), parsed.name());
  if (!parse_number(number, parsed.number) ||
      !(parsed.number >= entry.least() && parsed.number <= entry.most())) {
    return link.error("\"%.*s\": the number of %s must be %s", shown, number.data(), parsed.name(),
                      entry.number()->c_str());
  }
  return parsed;
}

CellStage make_stage(const Parsed& parsed, int index) {
  CellStage stage =
      detail::stage_of(*parsed.entry->stages()->Get(static_cast<flatbuffers::uoffset_t>(index)));
  switch (parsed.entry->number_is()) {
    case file::NumberUse_none:
      break;
    case file::NumberUse_negative_threshold:
      stage.weights.threshold = -parsed.number;
      break;
    case file::NumberUse_sigma:
      stage.weights = gaussian_template(stage.weights.radius, parsed.number);
      break;
  }
  if (parsed.entry->converted()) stage.weights = from_continuous_time(stage.weights);
  if (parsed.sweeps > 0) stage.max_sweeps = parsed.sweeps;
  return stage;
}

/// What follows the last link of a group.
struct GroupEnd {
  bool closes = false;
  int passes = 0;  // 0: the default
};

/// Removes the brackets of a group, and the number of passes behind it, from the text of a link.
Expected<GroupEnd> take_brackets(Link& link, Group& group, int stage) noexcept {
  GroupEnd end;
  while (link.text.starts_with('[')) {
    if (group.open) return link.error("a group cannot contain another one; close it by \"]\"");
    group = {true, stage, link.column};
    const std::string_view rest = trimmed(link.text.substr(1));
    link.column += static_cast<std::size_t>(rest.data() - link.text.data());
    link.text = rest;
  }
  const std::size_t close = link.text.find(']');
  if (close == std::string_view::npos) return end;
  if (!group.open) return link.error("\"]\" closes a group, but no \"[\" begins one");
  std::string_view after = trimmed(link.text.substr(close + 1));
  if (!after.empty()) {
    if (!after.starts_with('*') || !parse_number(trimmed(after.substr(1)), end.passes) ||
        end.passes < 1 || end.passes > detail::kMaxCellPasses) {
      return link.error(
          "\"%.*s\" follows a group; it must be * and a whole number of passes, 1 to %d",
          static_cast<int>(std::min<std::size_t>(after.size(), 40)), after.data(),
          detail::kMaxCellPasses);
    }
  }
  end.closes = true;
  link.text = trimmed(link.text.substr(0, close));
  return end;
}

}  // namespace

namespace detail {

std::span<const std::uint16_t, kBlueNoiseSize * kBlueNoiseSize> blue_noise_ranks() noexcept {
  return std::span<const std::uint16_t, kBlueNoiseSize * kBlueNoiseSize>(
      library().blue_noise()->data(), kBlueNoiseSize * kBlueNoiseSize);
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
  struct Infos {
    std::array<CellTemplateInfo, 64> info;
    std::size_t count = 0;
  };
  static const Infos infos = [] {
    Infos made;
    for (const LibraryTemplate* one : *library().templates()) {
      if (made.count == made.info.size()) __builtin_trap();
      made.info[made.count++] = {one->name()->c_str(),
                                 one->description()->c_str(),
                                 one->source()->c_str(),
                                 one->converted(),
                                 static_cast<int>(one->stages()->size()),
                                 one->number() == nullptr ? nullptr : one->number()->c_str()};
    }
    return made;
  }();
  return {infos.info.data(), infos.count};
}

Expected<CellStage> cell_template(std::string_view text) noexcept {
  const Link link{trimmed(text)};
  if (link.text.empty()) {
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "the name is empty; it must be that of a template, such as "
                                     "edge"));
  }
  if (is_file(link.text)) return link.error("a file may hold several stages: read it as a chain");
  if (link.text.front() == '[')
    return link.error("a group may have several stages: read it as a chain");
  OCELLUS_TRY_ASSIGN(parsed, parse_link(link));
  if (parsed->stages() > 1) {
    return link.error("%s has %d stages: read it as a chain", parsed->name(), parsed->stages());
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
  Group group;
  Link link;
  link.number = 0;
  for (std::size_t begin = 0; begin <= chain.size();) {
    const std::size_t end = std::min(chain.find('|', begin), chain.size());
    const std::string_view between = chain.substr(begin, end - begin);
    link.text = trimmed(between);
    ++link.number;
    // For an empty link, use the position where its name is missing.
    link.column = link.text.empty() ? begin + 1
                                    : static_cast<std::size_t>(link.text.data() - chain.data()) + 1;
    begin = end + 1;
    OCELLUS_TRY_ASSIGN(group_end, take_brackets(link, group, count));
    if (link.text.empty()) return link.error("a template is missing");

    std::array<CellStage, kMaxCellStages> of_link;
    int of_link_count = 0;
    if (is_file(link.text)) {
      char path[4096];
      if (link.text.size() >= sizeof(path))
        return link.error("a path has at most %zu characters", sizeof(path) - 1);
      link.text.copy(path, link.text.size());
      path[link.text.size()] = '\0';
      OCELLUS_TRY_ASSIGN(file, read_cell_template_file(path, of_link));
      of_link_count = file->stages;
    } else {
      OCELLUS_TRY_ASSIGN(parsed, parse_link(link));
      of_link_count = parsed->stages();
      for (int i = 0; i < of_link_count; ++i)
        of_link[static_cast<std::size_t>(i)] = make_stage(*parsed, i);
      const CellStage& first = of_link[0];
      if (count == 0 && first.input == CellInput::kFrame && first.start == CellStart::kPrevious) {
        return link.error("%s combines the frame with the result of a previous link; there is none",
                          parsed->name());
      }
    }
    if (count + of_link_count > kMaxCellStages) {
      return link.error("the chain has %d stages up to this link; at most %d are allowed",
                        count + of_link_count, kMaxCellStages);
    }
    for (int i = 0; i < of_link_count; ++i) {
      const CellStage& stage = of_link[static_cast<std::size_t>(i)];
      if (group.open && stage.group_stages > 0)
        return link.error("the file has a group of stages; a group cannot contain another one");
      stages[static_cast<std::size_t>(count + i)] = stage;
    }
    count += of_link_count;
    if (group_end->closes) {
      CellStage& first = stages[static_cast<std::size_t>(group.first)];
      first.group_stages = count - group.first;
      if (group_end->passes > 0) first.max_passes = group_end->passes;
      group.open = false;
    }
  }
  if (group.open) {
    return link.error("the group that begins at character %zu is not closed by \"]\"",
                      group.column);
  }
  return count;
}

}  // namespace ocellus
