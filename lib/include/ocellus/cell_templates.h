// The library of templates of the cellular network: stages by name, and chains of them.
//
// Source, where nothing else is said: TEMLIB, the template file of the MATCNN toolbox, whose names
// are those of the "Software Library for Cellular Wave Computing Engines" (version 3.1, 2010).
// Black is +1.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "ocellus/cellular_network.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// What the library knows of a name.
struct CellTemplateInfo {
  const char* name;
  const char* description;
  const char* source;  ///< its name there; what stands there and why it is another here
  /// Made by `from_continuous_time`. The others are discrete-time templates, have no feedback in
  /// continuous time, or had to be made anew, as `source` says.
  bool converted = false;
  /// Stages that the name stands for. More than one: it is taken by `parse_cell_chain` only.
  int stages = 1;
  /// What the number in brackets after the name is, with its range; null when there is none.
  const char* number = nullptr;
};

/// All templates, in the order of the documentation. Static storage.
std::span<const CellTemplateInfo> cell_templates() noexcept;

/// The stage that a link of a chain stands for, see `parse_cell_chain`, but for files and names of
/// several stages. Errors: InvalidArgument.
Expected<CellStage> cell_template(std::string_view link) noexcept;

/// Reads a chain: links with "|" between them, such as "threshold(0.2) | erosion(cross) | edge".
/// Returns the number of stages.
///
/// A link is the path of a template file (it ends in .ocellus), or the name of a template with
/// parameters in brackets, separated by commas, in any order:
/// - a word: the variant. erosion(cross) is erosion_cross.
/// - a number: the template's own, such as the threshold.
/// - sweeps=N: `max_sweeps`.
///
/// Upper and lower case count the same. Nothing is allocated.
/// Errors: InvalidArgument (the text names the link, its place, and names that are like it), and of
/// files: IoError, CorruptFile.
Expected<int> parse_cell_chain(std::string_view chain,
                               std::array<CellStage, kMaxCellStages>& stages) noexcept;

/// What a template file holds.
struct CellTemplateFileInfo {
  int stages = 0;
  char note[256] = {};  ///< where the templates come from, as the file says; printable ASCII
};

/// Reads and checks a template file (*.ocellus); its stages go to `stages`. Nothing is allocated.
/// Errors: InvalidArgument (no path), IoError, CorruptFile.
Expected<CellTemplateFileInfo> read_cell_template_file(
    const char* path, std::array<CellStage, kMaxCellStages>& stages) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
