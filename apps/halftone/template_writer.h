// Writes a template file (*.ocellus). lib/halftone/cell_templates.fbs describes its table.
#pragma once

#include <string>
#include <vector>

#include "ocellus/cellular_network.h"

namespace ocellus::app {

/// Stages and a note about their source: printable ASCII, cut off after 255 characters.
struct CellTemplateFile {
  std::vector<CellStage> stages;
  std::string note;
};

/// Writes the file and lets the library read it before it replaces the target. So no reader sees
/// half a file or one that the library refuses. Throws InputError.
void write_template_file(const std::string& path, const CellTemplateFile& file);

}  // namespace ocellus::app
