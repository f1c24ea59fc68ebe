// The library of templates for the cellular network: stages by name, and chains of stages.
//
// Source, unless a template names another one: TEMLIB, the template file of the MATCNN toolbox. Its
// names are those of the "Software Library for Cellular Wave Computing Engines" (version 3.1,
// 2010). Black is +1.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "ocellus/cellular_network.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Describes one template of the library.
struct CellTemplateInfo {
  const char* name{};         ///< for chains, in lower case
  const char* description{};  ///< what the template computes
  const char* source{};       ///< name in the source, and how and why the values differ from it
  /// True if `from_continuous_time` made the values. The other templates are discrete-time
  /// templates, have no feedback in continuous time, or were designed anew, as `source` says.
  bool converted = false;
  /// Number of stages that the name stands for. A name with more than one stage is accepted by
  /// `parse_cell_chain` only.
  int stages = 1;
  /// Meaning and range of the number in brackets after the name; null if the template takes none.
  const char* number = nullptr;
};

/// All templates, in the order of the documentation. Static storage.
std::span<const CellTemplateInfo> cell_templates() noexcept;

/// Returns the stage that one link of a chain stands for; see `parse_cell_chain`. Does not accept
/// files and names that stand for several stages. Errors: InvalidArgument.
Expected<CellStage> cell_template(std::string_view link) noexcept;

/// Parses a chain: links separated by "|", such as "threshold(0.2) | erosion(cross) | edge".
/// Returns the number of stages.
///
/// A link is the path of a template file (it ends in .ocellus), or the name of a template.
/// Parameters may follow the name in brackets, separated by commas, in any order:
/// - a word: the variant. erosion(cross) is erosion_cross.
/// - a number: the template's own parameter, such as the threshold.
/// - sweeps=N: `max_sweeps`.
///
/// "[skeleton]" or "[erosion | edge] * 5" is a group: its links are repeated until a pass changes
/// nothing, at most 5 times, or CellStage::max_passes times if there is no number. A group cannot
/// contain a group, nor a file that has one.
///
/// Case is ignored. Does not allocate. Errors: InvalidArgument (the text names the link, its
/// position, and similar names); IoError and CorruptFile for files.
Expected<int> parse_cell_chain(std::string_view chain,
                               std::array<CellStage, kMaxCellStages>& stages) noexcept;

/// Describes the content of a template file.
struct CellTemplateFileInfo {
  int stages = 0;       ///< number of stages, 1 to kMaxCellStages
  char note[256] = {};  ///< origin of the templates, as stated in the file; printable ASCII
};

/// Reads and checks a template file (*.ocellus) and writes its stages to `stages`. Does not
/// allocate. Errors: InvalidArgument (no path), IoError, CorruptFile.
Expected<CellTemplateFileInfo> read_cell_template_file(
    const char* path, std::array<CellStage, kMaxCellStages>& stages) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
