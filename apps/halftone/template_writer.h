// Writes a template file (*.ocellus). lib/halftone/cell_templates.fbs describes its table.
#pragma once

#include <string>
#include <vector>

#include "ocellus/cellular_network.h"

namespace ocellus::app {

/// Stages, and where they come from: printable ASCII, cut off after 255 characters.
struct CellTemplateFile {
  std::vector<CellStage> stages;
  std::string note;
};

/// Nobody sees half a file, nor one that the library does not take: it has read it before it is put
/// in its place. Throws InputError.
void write_template_file(const std::string& path, const CellTemplateFile& file);

}  // namespace ocellus::app
