// Reads a template file (*.ocl). The layout stands in template.fbs.
#pragma once

#include <array>
#include <cstdint>

#include "ocellus/cell_templates.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// The version that is written and read.
inline constexpr int kCellTemplateVersion = 1;
/// Sixteen stages of radius 4 and the note take less.
inline constexpr int kMaxCellTemplateFileBytes = 16384;

/// `bytes` are a whole file, aligned to 8. Nothing of it is believed before it was checked.
Expected<CellTemplateFileInfo> parse_cell_template_file(
    const void* bytes, std::uint64_t file_bytes,
    std::array<CellStage, kMaxCellStages>& stages) noexcept;

}  // namespace ocellus::detail
