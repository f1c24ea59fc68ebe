// Templates of the cellular network as people write them: plain text and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "apps/halftone/template_writer.h"

namespace ocellus::app {

/// What the two forms look like, for --help.
extern const char* const kCellTextHelp;
extern const char* const kCellJsonHelp;

/// JSON when the first character is { or [, else text. Every mistake is an InputError that names
/// the line (text) or the element (JSON), the field, its value, and what would be right.
/// `continuous`: all stages are continuous-time templates, as if each said so.
CellTemplateFile parse_cell_templates(const std::string& source, bool continuous);

/// What parse_cell_templates reads to the same stages. Fields that a stage does not use, or that
/// have their default, are left out.
std::string cell_templates_text(const CellTemplateFile& file);
nlohmann::ordered_json cell_templates_json(const CellTemplateFile& file);

}  // namespace ocellus::app
