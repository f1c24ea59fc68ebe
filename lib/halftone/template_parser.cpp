// Parses chains of templates.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "core/failure.h"
#include "halftone/stage_check.h"
#include "halftone/template_library.h"
#include "ocellus/cell_templates.h"

namespace ocellus {
namespace {

using detail::find_template;
using detail::kMaxTemplateName;
using detail::TemplateChoice;
using detail::TemplateEntry;

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
  const TemplateEntry* entry = nullptr;
  TemplateChoice choice;
  int sweeps = 0;  // 0: those of the template
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

Expected<Parsed> parse_link(const Link& link) noexcept {
  char name[kMaxTemplateName + 1] = {};
  std::size_t length = 0;
  const auto add = [&](std::string_view word) {
    for (const char c : word) {
      if (length < kMaxTemplateName)
        name[length++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  };
  if (const std::size_t mark = separator_in(link.text); mark != std::string_view::npos) {
    return link.error("\"%c\" is not a separator; separate the templates of a chain by |",
                      link.text[mark]);
  }
  const std::size_t open = link.text.find('(');
  const std::string_view base = trimmed(link.text.substr(0, open));
  if (open != std::string_view::npos && is_file(base))
    return link.error("a file takes no parameters; leave the brackets out");
  if (base.empty()) return link.error("a name is missing before the bracket");
  // A truncated name could match another template, so long names are an error.
  if (base.size() > kMaxTemplateName)
    return link.error("a name has at most %zu characters", kMaxTemplateName);
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

  parsed.entry = find_template({name, length});
  if (parsed.entry == nullptr) {
    // Users write "threshold:0.2", "threshold=0.2" and "threshold 0.2". The error shows the correct
    // form.
    const std::size_t end = base.find_first_of(":= \t");
    if (open == std::string_view::npos && end != std::string_view::npos &&
        find_template({name, end}) != nullptr) {
      const std::size_t begin = std::min(base.find_first_not_of(":= \t", end), base.size());
      const std::string_view between = base.substr(end, begin - end);
      const std::string_view value = base.substr(begin);
      if (between.find_first_of(":=") != std::string_view::npos ||
          value.find_first_of("0123456789.+-") == 0) {
        return link.error("write parameters in brackets: %.*s(%.*s)", static_cast<int>(end), name,
                          static_cast<int>(value.size()), value.data());
      }
    }
    return link.error("there is no template \"%s\"; the nearest names are %s", name,
                      detail::NearestTemplates({name, length}).text);
  }
  const TemplateEntry& entry = *parsed.entry;
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
  TemplateChoice choice = parsed.choice;
  choice.stage = index;
  parsed.entry->make(stage, choice);
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
      of_link_count = parsed->entry->info.stages;
      for (int i = 0; i < of_link_count; ++i)
        of_link[static_cast<std::size_t>(i)] = make_stage(*parsed, i);
      const CellStage& first = of_link[0];
      if (count == 0 && first.input == CellInput::kFrame && first.start == CellStart::kPrevious) {
        return link.error("%s combines the frame with the result of a previous link; there is none",
                          parsed->entry->info.name);
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
