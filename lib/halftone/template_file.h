// Reads and writes a template file (*.ocellus). cell_templates.fbs describes its table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/model_file.h"
#include "ocellus/cell_templates.h"
#include "ocellus/status.h"

namespace ocellus::file {
struct CellStage;
}

namespace ocellus::detail {

/// cell_library.json as a FlatBuffer, from the build.
std::span<const std::uint8_t> cell_library() noexcept;

/// A stage of a table, without checks: there are at most kMaxTemplateWeights weights.
CellStage stage_of(const file::CellStage& table) noexcept;

/// The maximum length of the table: 16 stages of radius 4 and the note need less.
inline constexpr ModelKind kCellTemplateKind{"template", "template file", 1, 16320};
/// Largest size of a file in bytes.
inline constexpr std::size_t kMaxCellTemplateFileBytes =
    model_arrays_at(kCellTemplateKind.max_table_bytes);

/// Checks the table. `bytes` are the whole file, aligned to 8 bytes. `model` is the header parsed
/// from them. Errors: CorruptFile.
Expected<CellTemplateFileInfo> parse_cell_template_file(
    const void* bytes, const ModelHeader& model,
    std::array<CellStage, kMaxCellStages>& stages) noexcept;

/// The bytes of a template file.
struct CellTemplateFileBytes {
  alignas(8) unsigned char bytes[kMaxCellTemplateFileBytes];
  std::size_t count = 0;
};

/// Makes a file that the reader accepts. `note`: cut off at 255 characters. Errors: InvalidArgument
/// (a stage with a plane, a value that the reader refuses).
Expected<void> encode_cell_templates(std::span<const CellStage> stages, std::string_view note,
                                     CellTemplateFileBytes& file) noexcept;

}  // namespace ocellus::detail
