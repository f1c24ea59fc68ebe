// Templates of the cellular network as JSON, the form that users write.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ocellus/cellular_network.h"

namespace ocellus::app {

/// Describes the form for --help.
extern const char* const kCellJsonHelp;

/// Stages and a note about their source: printable ASCII, of which a file keeps 255 characters.
struct CellTemplates {
  std::vector<CellStage> stages;
  std::string note;
};

/// On a mistake it throws InputError that names the stage, the field, its value and the allowed
/// values. `continuous`: all stages are continuous-time templates, as if each one said so.
CellTemplates parse_cell_templates(const std::string& source, bool continuous);

/// The JSON that parse_cell_templates reads to the same stages. Fields that a stage does not use
/// are left out.
nlohmann::ordered_json cell_templates_json(const CellTemplates& templates);

}  // namespace ocellus::app
