// ocellus template: makes template files of the cellular network, and lists and shows templates.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/halftone/template_json.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"

namespace ocellus::app {
namespace {

struct TemplateMakeOptions {
  std::string in;
  std::string out;
  bool continuous = false;
};

/// Checks the stages as an operator would.
void check_stages(const CellTemplates& templates) {
  CellularNetworkConfig config;
  config.size = {64, 64};
  config.stage_count = static_cast<int>(templates.stages.size());
  std::copy(templates.stages.begin(), templates.stages.end(), config.stages.begin());
  take(CellularNetwork::info_for(config));
}

static_assert(kMostTemplateText == std::size_t{1} << 20, "the help says so");

void run_make(const TemplateMakeOptions& options) {
  // A chain takes only names with this ending for files.
  if (!options.out.ends_with(".ocellus"))
    throw InputError(fmt::format("{}: the name must end in .ocellus", options.out));
  InputText text(options.in);
  CellTemplates templates;
  try {
    const std::string source = read_text(text, kMostTemplateText);
    if (source.find_first_not_of(" \t\r\n") == std::string::npos)
      throw InputError("it is empty; it must hold templates as JSON");
    templates = parse_cell_templates(source, options.continuous);
    check_stages(templates);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", text.name(), error.what()));
  }
  const auto file = std::make_unique<detail::CellTemplateFileBytes>();
  take(detail::encode_cell_templates(templates.stages, templates.note, *file), options.out);
  write_file(options.out, {file->bytes, file->count});
  fmt::print("{}: {}\n", printable(options.out), counted(templates.stages.size(), "stage"));
}

void run_list(bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const CellTemplateInfo& info : cell_templates()) {
      nlohmann::ordered_json entry;
      entry["name"] = info.name;
      entry["description"] = info.description;
      entry["source"] = info.source;
      entry["converted"] = info.converted;
      entry["stages"] = info.stages;
      if (info.number != nullptr) entry["number"] = info.number;
      list.push_back(entry);
    }
    print_json({{"templates", list}});
    return;
  }
  std::size_t width = 0;
  for (const CellTemplateInfo& info : cell_templates())
    width = std::max(width, std::string(info.name).size());
  for (const CellTemplateInfo& info : cell_templates())
    fmt::print("{:<{}}  {}\n", info.name, width, info.description);
}

void run_show(const std::string& what) {
  CellTemplates templates;
  const bool is_file = what.ends_with(".ocellus") && what.find('|') == std::string::npos;
  if (is_file) {
    std::array<CellStage, kMaxCellStages> stages;
    const auto info = take(read_cell_template_file(what.c_str(), stages), "template");
    templates.note = info.note;
    templates.stages.assign(stages.begin(), stages.begin() + info.stages);
  } else if (const auto single = cell_template(what)) {
    // A single name. A template that needs another one before it can be shown, too.
    templates.stages.push_back(*single);
  } else {
    std::array<CellStage, kMaxCellStages> stages;
    const int count = take(parse_cell_chain(what, stages), "template");
    templates.stages.assign(stages.begin(), stages.begin() + count);
  }
  if (!is_file) templates.note = printable(what);
  print_json(cell_templates_json(templates));
}

}  // namespace

void add_template_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "template", "Make, list and show templates of the cellular network (*.ocellus)");
  command->require_subcommand(1);
  // Bad input is thrown, so a callback that returns was successful.
  const auto done = [&exit_code] { exit_code = kDone; };

  auto* const make =
      command->add_subcommand("make", "Write templates given as JSON to a file and check it");
  const auto options = std::make_shared<TemplateMakeOptions>();
  make->add_option("IN", options->in, "The file to read; - is standard input")->required();
  make->add_option("-o,--output", options->out, "The file to write")
      ->required()
      ->type_name("FILE.ocellus");
  make->add_flag("--continuous", options->continuous,
                 "The templates are continuous-time templates: 1 is subtracted from A's center in "
                 "every stage");
  make->footer(std::string(kCellJsonHelp) + "\n\nIN may be a pipe. It may have at most 1 MiB.");
  make->callback([make, options, done] {
    check_options(*make, {});
    run_make(*options);
    done();
  });

  auto* const list = command->add_subcommand("list", "List the templates of the library");
  const auto list_json = std::make_shared<bool>(false);
  add_json_option(*list, *list_json);
  list->callback([list_json, done] {
    run_list(*list_json);
    done();
  });

  auto* const show = command->add_subcommand(
      "show", "Show the stages of a name, a chain or a file, as JSON that make reads");
  const auto what = std::make_shared<std::string>();
  show->add_option("TEMPLATE", *what, "Name, chain (\"erosion | edge\") or FILE.ocellus")
      ->required();
  const auto always = std::make_shared<bool>();
  add_json_option(*show, *always);
  show->get_option("--json")->description("Has no effect: the output is always JSON");
  show->callback([show, what, always, done] {
    check_options(*show, {});
    run_show(*what);
    done();
  });
}

}  // namespace ocellus::app
