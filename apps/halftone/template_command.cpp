#include "apps/halftone/template_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/halftone/template_text.h"
#include "apps/halftone/template_writer.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "ocellus/cell_templates.h"

namespace ocellus::app {
namespace {

struct TemplateMakeOptions {
  std::string in;
  std::string out;
  bool continuous = false;
};

/// Checks the stages as an operator would, without creating an engine.
void check_stages(const CellTemplateFile& file) {
  CellularNetworkConfig config;
  config.size = {64, 64};
  config.stage_count = static_cast<int>(file.stages.size());
  std::copy(file.stages.begin(), file.stages.end(), config.stages.begin());
  EngineConfig engine;
  engine.backend.choice = BackendChoice::kCpu;
  const EngineInfo info = take(Engine::probe(engine), "engine");
  if (const auto checked = CellularNetwork::footprint(info, config); !checked)
    throw InputError(checked.error().text);
}

static_assert(kMostTemplateText == std::size_t{1} << 20, "the help says so");

void run_make(const TemplateMakeOptions& options) {
  // A chain takes only names with this ending for files. The writer reports devices and pipes.
  if (!options.out.ends_with(".ocellus") && !is_special_file(options.out))
    throw InputError(fmt::format("{}: the name must end in .ocellus", options.out));
  InputText text(options.in);
  CellTemplateFile file;
  try {
    const std::string source = read_text(text, kMostTemplateText);
    if (source.empty()) throw InputError("it is empty; it must hold templates as text or JSON");
    if (source.find('\0') != std::string::npos)
      throw InputError("it is not text; it must hold templates as text or JSON");
    file = parse_cell_templates(source, options.continuous);
    check_stages(file);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", text.name(), error.what()));
  }
  write_template_file(options.out, file);
  fmt::print("{}: {}\n", printable(options.out),
             counted(static_cast<std::int64_t>(file.stages.size()), "stage"));
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

void run_show(const std::string& what, bool json) {
  CellTemplateFile file;
  const bool is_file = what.ends_with(".ocellus") && what.find('|') == std::string::npos;
  if (is_file) {
    std::array<CellStage, kMaxCellStages> stages;
    const auto info = take(read_cell_template_file(what.c_str(), stages), "template");
    file.note = info.note;
    file.stages.assign(stages.begin(), stages.begin() + info.stages);
  } else if (const auto single = cell_template(what)) {
    // A single name. A template that needs another one before it can be shown, too.
    file.stages.push_back(*single);
  } else {
    std::array<CellStage, kMaxCellStages> stages;
    const int count = take(parse_cell_chain(what, stages), "template");
    file.stages.assign(stages.begin(), stages.begin() + count);
  }
  if (!is_file) file.note = printable(what);
  if (json) {
    print_json(cell_templates_json(file));
  } else {
    fmt::print("{}", cell_templates_text(file));
  }
}

}  // namespace

void add_template_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "template", "Make, list and show templates of the cellular network (*.ocellus)");
  command->require_subcommand(1);
  // Bad input is thrown, so a callback that returns was successful.
  const auto done = [&exit_code] { exit_code = kDone; };

  auto* const make = command->add_subcommand(
      "make", "Write templates given as text or JSON to a file and check it");
  const auto options = std::make_shared<TemplateMakeOptions>();
  make->add_option("IN", options->in, "The file to read; - is standard input")->required();
  make->add_option("-o,--output", options->out, "The file to write")
      ->required()
      ->type_name("FILE.ocellus");
  make->add_flag("--continuous", options->continuous,
                 "The templates are continuous-time templates: 1 is subtracted from A's center in "
                 "every stage");
  make->footer(std::string(kCellTextHelp) + "\n\n" + kCellJsonHelp +
               "\n\nIN may be a pipe. It may have at most 1 MiB.");
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

  struct Show {
    std::string what;
    bool json = false;
  };
  auto* const show = command->add_subcommand(
      "show", "Show the stages of a name, a chain or a file, as text that make reads");
  const auto shown = std::make_shared<Show>();
  show->add_option("TEMPLATE", shown->what, "Name, chain (\"erosion | edge\") or FILE.ocellus")
      ->required();
  add_json_option(*show, shown->json);
  show->callback([show, shown, done] {
    check_options(*show, {});
    run_show(shown->what, shown->json);
    done();
  });
}

}  // namespace ocellus::app
