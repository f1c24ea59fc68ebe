#include "apps/common/operator_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "apps/common/input_error.h"
#include "apps/common/input_guard.h"

namespace ocellus::app {
namespace {

/// Parses one word of an operator's text: option=value.
std::pair<std::string, std::string> parse_word(const std::string& flag, const std::string& word,
                                               const std::string& whole, OptionTable table) {
  if (word.front() == '|' || word.back() == '|') {
    throw InputError(
        fmt::format("{}: '{}': blanks are not allowed around a bar here; write "
                    "template=erosion|edge",
                    flag, whole));
  }
  const std::size_t equals = word.find('=');
  if (const Option* const option = find_option(table, word);
      option != nullptr && option->type == OptionType::kBool) {
    throw InputError(fmt::format(
        "{0}: '{1}' in '{2}' is not of the form option=value; write {1}=true", flag, word, whole));
  }
  if (equals == std::string::npos || equals == 0) {
    throw InputError(
        fmt::format("{}: '{}' in '{}' is not of the form option=value, such as preset=fast", flag,
                    word, whole));
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// As parse_operator_text. An error does not always name the flag.
OperatorText parse_words(const std::string& flag, const std::vector<std::string>& words,
                         const OperatorOptions* of_command_line) {
  const std::string whole = fmt::format("{}", fmt::join(words, " "));
  const std::string name = words.empty() ? "" : words.front();
  const OperatorDescription& description = operator_description(name);
  OperatorText made{flag, whole, name, OperatorConfig(description), {}};
  OptionTexts& options = made.options;
  if (of_command_line != nullptr && &of_command_line->description() == &description)
    options = of_command_line->given();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [option, value] = parse_word(flag, words[i], whole, description.options);
    if (option == "config") {
      note_input(value);
      const OptionTexts file = read_config_file(value, description);
      options.insert(options.end(), file.begin(), file.end());
      continue;
    }
    set_text(options, description.options, option, value);
  }
  if (const Expected<void> set = set_options(made.config, options); !set) {
    // Without options in the text, all options are from the command line.
    const std::string reason = set.error().text;
    throw InputError(
        made.in_context(words.size() == 1 ? with_flag(made.config.options(), reason) : reason));
  }
  note_files_of(description.options, options);
  return made;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool OperatorText::sets(const std::string& option) const {
  return sets_option(options, config.options(), option);
}

std::string OperatorText::in_context(const std::string& error) const {
  return text == name ? error : fmt::format("{}: '{}': {}", flag, text, error);
}

OperatorText parse_operator_text(const std::string& flag, const std::string& text,
                                 const OperatorOptions* of_command_line) {
  std::string blank = text;
  std::replace(blank.begin(), blank.end(), '\t', ' ');
  std::vector<std::string> words;
  for (const std::string& word : split(blank, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  try {
    return parse_words(flag, words, of_command_line);
  } catch (const InputError& error) {
    const std::string reason = error.what();
    throw InputError(reason.rfind("--", 0) == 0 ? reason : flag + ": " + reason);
  }
}

}  // namespace ocellus::app
