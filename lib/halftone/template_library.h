// The library of templates, as the parser of chains sees it.
#pragma once

#include <cstddef>
#include <string_view>

#include "ocellus/cell_templates.h"

namespace ocellus::detail {

/// Longest name of a template, in characters.
inline constexpr std::size_t kMaxTemplateName = 48;

/// What a template's stages depend on.
struct TemplateChoice {
  float number = 0.0f;  ///< the number in brackets after the name
  int stage = 0;        ///< index of the stage, for names of several stages
};

struct TemplateEntry {
  CellTemplateInfo info;
  void (*make)(CellStage& stage, const TemplateChoice& choice);
  float number = 0.0f;  ///< its default and range
  float low = 0.0f;
  float high = 0.0f;
};

/// The template of this name or alias, in lower case. Null when there is none.
const TemplateEntry* find_template(std::string_view name) noexcept;

/// The three names most similar to `name`, as "a, b and c".
struct NearestTemplates {
  char text[3 * (kMaxTemplateName + 8)] = {};

  explicit NearestTemplates(std::string_view name) noexcept;
};

}  // namespace ocellus::detail
