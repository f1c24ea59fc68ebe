#include "apps/common/operator_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/common/input_error.h"
#include "apps/common/input_guard.h"

namespace ocellus::app {
namespace {

const char* type_word(const Option& option) {
  switch (option.type) {
    case OptionType::kInt:
      return "INT";
    case OptionType::kFloat:
      return "NUMBER";
    case OptionType::kChoice:
      return "WORD";
    case OptionType::kBool:
    case OptionType::kText:
      break;
  }
  return "TEXT";
}

std::string help_text(const Option& option) {
  std::string text = option.help;
  if (const std::string values = values_text(option); !values.empty()) text += ": " + values;
  if (option.needs[0] != '\0') text += fmt::format(". Needs {}", option.needs);
  return text;
}

/// Commands wait for each frame before they submit the next one, so a greater depth would only take
/// memory.
bool on_command_line(const Option& option) {
  return std::string_view(option.name) != "depth" && std::string_view(option.name) != "priority";
}

[[noreturn]] void refuse(const std::string& text) {
  throw InputError(text);
}

}  // namespace

std::string operator_names() {
  std::vector<const char*> names;
  for (const OperatorDescription& description : operators()) names.push_back(description.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const OperatorDescription& operator_description(const std::string& name) {
  const OperatorDescription* const found = find_operator(name);
  if (found != nullptr) return *found;
  refuse(fmt::format("'{}' is not an operator; the operators are: {}", name, operator_names()));
}

OperatorConfig operator_config(const OperatorDescription& description, const OptionTexts& options) {
  OperatorConfig config(description);
  if (const Expected<void> set = set_options(config, options); !set) refuse(set.error().text);
  note_files_of(description.options, options);
  return config;
}

OperatorConfig operator_config(const std::string& name, const OptionTexts& options, ImageSize size,
                               PixelFormat format) {
  OperatorConfig config = operator_config(operator_description(name), options);
  config.set_input(size, format);
  return config;
}

void note_files_of(OptionTable table, const OptionTexts& texts) {
  for (const auto& [option, text] : texts) {
    const Option* const row = find_option(table, option);
    if (row == nullptr || row->type != OptionType::kText) continue;
    // A chain of templates may have several.
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(name.size() + 1, rest.size()));
      // @FILE: a file of fields.
      const std::size_t begin = std::min(name.find_first_not_of(" @"), name.size());
      const std::size_t end = name.find_last_not_of(' ') + 1;
      if (begin < end) note_input(std::string(name.substr(begin, end - begin)));
    }
  }
}

nlohmann::ordered_json config_json(const OperatorConfig& config) {
  nlohmann::ordered_json json;
  json["operator"] = config.description().name;
  for (const Option& option : config.options()) {
    if (!config.means_something(option)) continue;
    const std::string text = config.get_option(option).c_str();
    const bool plain = option.type == OptionType::kText || option.type == OptionType::kChoice;
    // The number is printed with the digits that the library gives.
    json[option.name] = plain ? nlohmann::ordered_json(text) : nlohmann::ordered_json::parse(text);
  }
  return json;
}

std::string values_text(const Option& option) {
  switch (option.type) {
    case OptionType::kInt:
    case OptionType::kFloat:
      return fmt::format("{}{:.10g} to {:.10g}{}{}", option.odd ? "odd, " : "", option.low,
                         option.high, option.unit[0] != '\0' ? " " : "", option.unit);
    case OptionType::kChoice: {
      std::vector<std::string> words;
      for (const OptionChoice& choice : option.choices)
        words.push_back(fmt::format("{} ({})", choice.word, choice.help));
      return fmt::format("{}", fmt::join(words, ", "));
    }
    case OptionType::kBool:
    case OptionType::kText:
      break;
  }
  return "";
}

std::string flag_of(const Option& option) {
  std::string name = option.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string with_flag(OptionTable table, std::string text) {
  const std::string name = text.substr(0, text.find_first_of(" :"));
  const Option* const option = find_option(table, name);
  return option == nullptr ? text : flag_of(*option) + text.substr(name.size());
}

TableOptions::TableOptions(OptionTable table, const std::vector<std::string>& only)
    : table_(table) {
  for (const Option& option : table) {
    const bool chosen =
        only.empty() || std::find(only.begin(), only.end(), option.name) != only.end();
    if (chosen && on_command_line(option)) values_.push_back({&option, nullptr, {}});
  }
}

void TableOptions::add_to(CLI::App& command, const std::string& group, const void* defaults) {
  for (Value& value : values_) {
    const Option& option = *value.option;
    if (option.type == OptionType::kBool) {
      value.flag = command.add_flag(flag_of(option), value.text, help_text(option));
    } else {
      value.flag = command.add_option(flag_of(option), value.text, help_text(option))
                       ->type_name(type_word(option));
      // The library checks the value. This check only names the words, for the completion of
      // shells.
      std::vector<const char*> words;
      for (const OptionChoice& choice : option.choices) words.push_back(choice.word);
      if (!words.empty())
        value.flag->check(CLI::Validator("").name(fmt::format("{}", fmt::join(words, ","))));
    }
    char text[kMaxOptionText];
    detail::get_option(option, defaults, text, sizeof(text));
    if (text[0] != '\0') value.flag->default_str(text);
    value.flag->group(group);
  }
}

OptionTexts TableOptions::given() const {
  OptionTexts texts;
  for (const Value& value : values_)
    if (value.flag != nullptr && value.flag->count() > 0)
      texts.emplace_back(value.option->name, value.flag->results().back());
  return texts;
}

void TableOptions::set(void* config) const {
  const OptionTexts texts = given();
  if (const Expected<void> set = detail::set_options(table_, config, settings_of(texts)); !set)
    refuse(with_flag(table_, set.error().text));
}

OperatorOptions::OperatorOptions(const std::string& name, const std::vector<std::string>& only)
    : description_(&operator_description(name)), options_(description_->options, only) {}

void OperatorOptions::add_to(CLI::App& command) {
  const std::string group = fmt::format("Options of {}", description_->name);
  options_.add_to(command, group, OperatorConfig(*description_).data());
  command
      .add_option("--config", file_,
                  "JSON file with values of these options, such as {\"preset\": \"fast\"}, or a "
                  "report of --json; options on the command line take precedence")
      ->type_name("FILE")
      ->group(group);
}

OptionTexts OperatorOptions::given() const {
  OptionTexts texts;
  if (!file_.empty()) {
    note_input(file_);
    texts = read_config_file(file_, *description_);
  }
  for (const auto& [name, value] : options_.given())
    set_text(texts, description_->options, name, value);
  note_files_of(description_->options, texts);
  return texts;
}

OperatorConfig OperatorOptions::config(const OptionTexts& defaults) const {
  OperatorConfig config(*description_);
  OptionTexts texts = given();
  for (const auto& text : defaults)
    if (!sets_option(texts, description_->options, text.first)) texts.push_back(text);
  if (const Expected<void> set = set_options(config, texts); !set)
    refuse(with_flag(config.options(), set.error().text));
  return config;
}

}  // namespace ocellus::app
