#include "apps/common/config_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/common/input_error.h"

namespace ocellus::app {
namespace {

/// For error texts. An array or an object is not written out, because it may be nested to any
/// depth.
std::string text_of(const nlohmann::ordered_json& value) {
  return value.is_structured() ? std::string("an ") + value.type_name() : value.dump();
}

}  // namespace

std::vector<OptionSetting> settings_of(const OptionTexts& texts) {
  std::vector<OptionSetting> settings;
  settings.reserve(texts.size());
  for (const auto& [name, value] : texts) settings.push_back({name, value});
  return settings;
}

bool sets_option(const OptionTexts& texts, OptionTable table, const std::string& name) {
  const Option* const row = find_option(table, name);
  return row != nullptr && std::any_of(texts.begin(), texts.end(), [&](const auto& text) {
           return find_option(table, text.first) == row;
         });
}

void set_text(OptionTexts& texts, OptionTable table, const std::string& name,
              const std::string& value) {
  if (const Option* const row = find_option(table, name)) {
    std::erase_if(texts, [&](const auto& text) { return find_option(table, text.first) == row; });
  }
  texts.emplace_back(name, value);
}

Expected<void> set_options(OperatorConfig& config, const OptionTexts& texts) {
  return config.set_options(settings_of(texts));
}

OptionTexts read_config_file(const std::string& path, const OperatorDescription& description) {
  const auto refuse = [&path](const std::string& what) { throw InputError(path + ": " + what); };
  // A device or a pipe may never end.
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  std::ifstream file(path);
  if (error || !file) refuse("the file cannot be opened");
  if (!regular) refuse("it is not a regular file");
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;  // a report may be long
  if (std::filesystem::file_size(path, error) > kMostBytes || error)
    refuse("the file has more than 64 MiB");
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(file, nullptr, false);
  if (file.bad()) refuse("the file cannot be read");
  if (json.is_object() && json.contains("config")) json = nlohmann::ordered_json(json["config"]);
  if (!json.is_object()) {
    refuse("the file is not a JSON object of options, such as {\"" +
           std::string(description.options.front().name) + "\": ...}");
  }
  OptionTexts texts;
  for (const auto& [name, value] : json.items()) {
    if (name == "operator") {
      if (value != description.name) {
        refuse("the options are for the operator " + text_of(value) + ", not for \"" +
               description.name + "\"");
      }
      continue;
    }
    if (find_option(description.options, name) == nullptr) {
      const OptionTexts unknown = {{name, ""}};
      OperatorConfig config(description);
      refuse(set_options(config, unknown).error().text);
    }
    if (value.is_string())
      texts.emplace_back(name, value.get<std::string>());
    else if (value.is_number() || value.is_boolean())
      texts.emplace_back(name, value.dump());
    else
      refuse("\"" + name + "\" is " + text_of(value) +
             "; it must be a string, a number or a boolean");
  }
  return texts;
}

}  // namespace ocellus::app
