// ocellus options: prints the option tables of the operators.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"

namespace ocellus::app {
namespace {

std::string default_text(const OperatorConfig& defaults, const Option& option) {
  return defaults.get_option(option).c_str();
}

/// Escapes the text of a cell of a Markdown table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

void print_markdown(const OperatorDescription& description) {
  const OperatorConfig defaults(description);
  fmt::print("## {}\n\n{}.\n\n", description.name, description.summary);
  fmt::print("| option | values | default | meaning |\n|---|---|---|---|\n");
  for (const Option& option : description.options) {
    const std::string standard = default_text(defaults, option);
    fmt::print("| `{}` | {} | {} | {}{} |\n", option.name, cell(values_text(option)),
               standard.empty() ? "" : "`" + standard + "`", cell(option.help),
               option.needs[0] != '\0' ? fmt::format(". Needs {}", cell(option.needs)) : "");
  }
  fmt::print("\n");
}

nlohmann::ordered_json option_json(const OperatorConfig& defaults, const Option& option) {
  constexpr const char* kTypes[] = {"bool", "int", "float", "choice", "text"};
  nlohmann::ordered_json json;
  json["name"] = option.name;
  json["type"] = kTypes[static_cast<std::size_t>(option.type)];
  json["default"] = default_text(defaults, option);
  if (option.type == OptionType::kInt || option.type == OptionType::kFloat)
    json["range"] = {option.low, option.high};
  for (const OptionChoice& choice : option.choices) json["choices"].push_back(choice.word);
  if (option.unit[0] != '\0') json["unit"] = option.unit;
  json["help"] = option.help;
  if (option.needs[0] != '\0') json["needs"] = option.needs;
  return json;
}

nlohmann::ordered_json operator_json(const OperatorDescription& description) {
  const OperatorConfig defaults(description);
  nlohmann::ordered_json json = {{"operator", description.name}, {"summary", description.summary}};
  json["options"] = nlohmann::ordered_json::array();
  for (const Option& option : description.options)
    json["options"].push_back(option_json(defaults, option));
  return json;
}

void print_text(const OperatorDescription& description) {
  const OperatorConfig defaults(description);
  fmt::print("{}: {}\n", description.name, description.summary);
  for (const Option& option : description.options) {
    const std::string values = values_text(option);
    fmt::print("  {:<22} {}{}{}\n", option.name, option.help, values.empty() ? "" : ": ", values);
    const std::string standard = default_text(defaults, option);
    if (!standard.empty()) fmt::print("  {:<22}   default {}\n", "", standard);
    if (option.needs[0] != '\0') fmt::print("  {:<22}   needs {}\n", "", option.needs);
  }
}

}  // namespace

void add_options_command(CLI::App& program, int& exit_code) {
  struct Choice {
    std::vector<std::string> names;
    bool markdown = false;
    bool json = false;
  };
  CLI::App* const command =
      program.add_subcommand("options",
                             "Print the options of the operators with values, defaults and "
                             "meanings");
  command->footer(
      "C++ members, JSON and --pipeline use these names. The command line and the GStreamer\n"
      "elements use the same names with '-' in place of '_'.");
  const auto o = std::make_shared<Choice>();
  command->add_option("OPERATOR", o->names, "Names of operators; all operators if none is given");
  CLI::Option* const markdown =
      command->add_flag("--markdown", o->markdown, "Print tables in Markdown");
  add_json_option(*command, o->json);
  command->get_option("--json")->excludes(markdown);
  command->callback([o, &exit_code] {
    std::vector<const OperatorDescription*> chosen;
    for (const std::string& name : o->names) chosen.push_back(&operator_description(name));
    if (chosen.empty())
      for (const OperatorDescription& description : operators()) chosen.push_back(&description);
    nlohmann::ordered_json json;
    json["operators"] = nlohmann::ordered_json::array();
    for (const OperatorDescription* description : chosen) {
      if (o->json)
        json["operators"].push_back(operator_json(*description));
      else if (o->markdown)
        print_markdown(*description);
      else
        print_text(*description);
    }
    if (o->json) print_json(json);
    exit_code = kDone;
  });
}

}  // namespace ocellus::app
