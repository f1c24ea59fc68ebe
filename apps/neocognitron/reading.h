// The result of the neocognitron as text and JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "ocellus/neocognitron.h"

namespace ocellus::app {

/// The names of a model's classes.
class CharacterNames {
 public:
  /// Reads the model. Throws InputError.
  explicit CharacterNames(const std::string& model);

  const CharacterModelInfo& info() const { return info_; }
  int classes() const { return info_.classes; }
  std::string name(int label) const { return info_.names[static_cast<std::size_t>(label)].c_str(); }
  /// The class with this name, or -1.
  int find(const std::string& name) const;
  /// The class of a label of a file: the class whose name is the label if all names are numbers,
  /// otherwise the class of this number. -1: there is none.
  int class_of(int label) const;

  /// The characters of a field as one text, with a line end between lines. A rejected character is
  /// a question mark, an empty tile is a blank. Names are separated by blanks if one of them has
  /// more than one character.
  std::string text_of(const NeocognitronRecord& record, int field) const;

 private:
  CharacterModelInfo info_;
  bool numbers_ = true;
  bool long_names_ = false;
};

/// The characters of a field as {"class", "confidence", "margin", "box"} with "rejected", "capped"
/// and "empty" where they are true.
nlohmann::ordered_json characters_json(const NeocognitronRecord& record, int field);

}  // namespace ocellus::app
