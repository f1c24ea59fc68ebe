// The library of templates: the interface for the parser of chains.
#pragma once

#include <cstddef>
#include <string_view>

#include "ocellus/cell_templates.h"

namespace ocellus::detail {

/// Longest name of a template, in characters.
inline constexpr std::size_t kMaxTemplateName = 48;

/// The parameters that a template's stages depend on.
struct TemplateChoice {
  float number = 0.0f;  ///< the number in brackets after the name
  int stage = 0;        ///< index of the stage, for names that stand for several stages
};

struct TemplateEntry {
  CellTemplateInfo info;
  void (*make)(CellStage& stage, const TemplateChoice& choice);
  float number = 0.0f;  ///< default and range of the number
  float low = 0.0f;
  float high = 0.0f;
};

/// Returns the template of this name or alias, which must be in lower case; null if there is none.
const TemplateEntry* find_template(std::string_view name) noexcept;

/// The three names that are most similar to `name`, as "a, b and c".
struct NearestTemplates {
  char text[3 * (kMaxTemplateName + 8)] = {};

  explicit NearestTemplates(std::string_view name) noexcept;
};

}  // namespace ocellus::detail
