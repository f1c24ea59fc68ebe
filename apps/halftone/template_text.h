// Templates of the cellular network in the forms that users write: plain text and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "apps/halftone/template_writer.h"

namespace ocellus::app {

/// Descriptions of the two forms for --help.
extern const char* const kCellTextHelp;
extern const char* const kCellJsonHelp;

/// Parses JSON if the first character is { or [, otherwise text. On a mistake it throws InputError
/// that names the line (text) or the element (JSON), the field, its value and the allowed values.
/// `continuous`: all stages are continuous-time templates, as if each one said so.
CellTemplateFile parse_cell_templates(const std::string& source, bool continuous);

/// The text that parse_cell_templates reads to the same stages. Fields that a stage does not use or
/// that have their default are left out.
std::string cell_templates_text(const CellTemplateFile& file);
nlohmann::ordered_json cell_templates_json(const CellTemplateFile& file);

}  // namespace ocellus::app
