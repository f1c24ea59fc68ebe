// An operator with its options as one text, such as "halftone preset=fast".
#pragma once

#include <string>
#include <vector>

#include "apps/common/config_file.h"
#include "apps/common/operator_options.h"
#include "ocellus/operators.h"

namespace ocellus::app {

/// The parts between separators, at least one.
std::vector<std::string> split(const std::string& text, char separator);

/// An operator with its own options.
struct OperatorText {
  std::string flag;  ///< of the command line, which has the text
  std::string text;  ///< as given, without surrounding blanks
  std::string name;
  OperatorConfig config;
  OptionTexts options;  ///< that were given

  bool sets(const std::string& option) const;
  /// An error text. The operator's text precedes it if it contains options.
  std::string in_context(const std::string& error) const;
};

/// Parses the name of an operator, then option=value with the names of its options. If
/// `of_command_line` is given and has options of this operator, it provides the values that the
/// text does not set. Throws InputError, which names `flag`.
OperatorText parse_operator_text(const std::string& flag, const std::string& text,
                                 const OperatorOptions* of_command_line = nullptr);

}  // namespace ocellus::app
