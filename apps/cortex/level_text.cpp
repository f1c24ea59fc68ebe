#include "apps/cortex/level_text.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/common/input_error.h"
#include "apps/common/printable.h"
#include "cortical_network/hierarchy.h"

namespace ocellus::app {
namespace {

CorticalLevel parse_level(const std::string& text) {
  CorticalLevel level;
  const char* const end = detail::parse_level(text.c_str(), level);
  if (end == nullptr || *end != '\0') {
    throw InputError(fmt::format(
        "--levels: '{}' is not a level; it must be the window, the stride and the number of "
        "minicolumns, such as 12x12/2x2:256",
        printable(text)));
  }
  return level;
}

/// Returns false if the text has no star.
bool parse_fields(const std::string& text, CortexParameters& parameters) {
  if (text.find('*') == std::string::npos) return false;
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%5d*%5d:%5d%n", &parameters.fields,
                               &parameters.field_inputs, &parameters.levels[0].minicolumns, &end);
  if (read != 3 || static_cast<std::size_t>(end) != text.size() || parameters.fields < 1) {
    throw InputError(fmt::format(
        "--levels: '{}' is not a level; it must be the numbers of hypercolumns, 1 or more, of "
        "their inputs and of minicolumns, such as 15*78:200",
        printable(text)));
  }
  return true;
}

}  // namespace

int parse_levels(const std::vector<std::string>& texts, std::span<CorticalLevel> levels,
                 CortexParameters* fields) {
  if (texts.size() > levels.size()) {
    throw InputError(
        fmt::format("--levels has {} levels; it may have {}", texts.size(), levels.size()));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i == 0 && fields != nullptr && parse_fields(texts[i], *fields)) continue;
    levels[i] = parse_level(texts[i]);
  }
  return static_cast<int>(texts.size());
}

}  // namespace ocellus::app
