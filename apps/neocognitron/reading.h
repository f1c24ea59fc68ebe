// The classes of a model of the neocognitron.
#pragma once

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

 private:
  CharacterModelInfo info_;
  bool numbers_ = true;
};

}  // namespace ocellus::app
