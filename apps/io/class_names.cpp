#include "apps/io/class_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "apps/common/printable.h"
#include "apps/io/input_file.h"
#include "ocellus/neocognitron_model.h"

namespace ocellus::app {

std::vector<std::string> read_class_names(const std::string& path) {
  InputText input(path);
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  std::string text;
  try {
    text = read_text(input, kMostBytes);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", input.name(), error.what()));
  }
  std::vector<std::string> names;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("{}: line {}: {}", input.name(), number, what));
    };
    std::istringstream words(line);
    std::vector<std::string> found;
    for (std::string word; words >> word;) found.push_back(word);
    if (found.empty()) continue;
    if (found.size() > 2)
      fail(
          fmt::format("it has {} words; it must have a name, or a label and a name", found.size()));
    if (found.size() == 2 && found[0] != std::to_string(names.size())) {
      fail(fmt::format("its label is {}; it must be {}, because labels begin at 0 and ascend",
                       printable(found[0], kMostOfValue), names.size()));
    }
    const std::string& name = found.back();
    if (const auto same = std::find(names.begin(), names.end(), name); same != names.end()) {
      fail(fmt::format("the name {} is also that of label {}", printable(name, kMostOfValue),
                       same - names.begin()));
    }
    if (names.size() == kMaxCharacterClasses)
      fail(fmt::format("there are more than {} names", kMaxCharacterClasses));
    names.push_back(name);
  }
  if (names.empty()) throw InputError(fmt::format("{}: it has no names", input.name()));
  return names;
}

}  // namespace ocellus::app
