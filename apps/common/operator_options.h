// OperatorOptions: the command-line options of an operator, made from its option table.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/config_file.h"
#include "ocellus/operators.h"

namespace ocellus::app {

/// The names of all operators, with commas between them.
std::string operator_names();

/// The operator with this name. Throws InputError that lists the known names.
const OperatorDescription& operator_description(const std::string& name);

/// The default configuration with these options set. Throws InputError with the library's reason,
/// which names the option as in the option table.
OperatorConfig operator_config(const OperatorDescription& description, const OptionTexts& options);
/// The same, for frames of this size and format.
OperatorConfig operator_config(const std::string& name, const OptionTexts& options, ImageSize size,
                               PixelFormat format);

/// Marks the files that these options of an operator name as inputs: the library reads them.
void note_files_of(OptionTable table, const OptionTexts& texts);

/// The values of all options that apply to this configuration, by name.
nlohmann::ordered_json config_json(const OperatorConfig& config);

/// The allowed values: "odd, 3 to 31 pixels", or the words of a choice with their meanings. Empty
/// for a bool or a text.
std::string values_text(const Option& option);
/// The command-line flag, such as "--window-sigma" for "window_sigma".
std::string flag_of(const Option& option);
/// An error text of the library in which the option's name at the beginning is replaced by its
/// command-line flag.
std::string with_flag(OptionTable table, std::string text);

/// Rows of an option table as command-line options.
class TableOptions {
 public:
  /// `only` lists the options to offer; if it is empty, all are offered.
  explicit TableOptions(OptionTable table, const std::vector<std::string>& only = {});
  TableOptions(const TableOptions&) = delete;
  TableOptions& operator=(const TableOptions&) = delete;

  /// Adds the options to `command`; this object must outlive it. `defaults`: a configuration.
  void add_to(CLI::App& command, const std::string& group, const void* defaults);
  /// The options given on the command line, in the order of the table.
  OptionTexts given() const;
  /// Sets the given options. Throws InputError with the library's reason, which names the option by
  /// its flag.
  void set(void* config) const;

 private:
  struct Value {
    const Option* option;
    CLI::Option* flag = nullptr;
    std::string text;
  };

  OptionTable table_;
  std::vector<Value> values_;
};

class OperatorOptions {
 public:
  /// `only` lists the options to offer; if it is empty, all are offered.
  explicit OperatorOptions(const std::string& name, const std::vector<std::string>& only = {});
  OperatorOptions(const OperatorOptions&) = delete;
  OperatorOptions& operator=(const OperatorOptions&) = delete;

  const OperatorDescription& description() const { return *description_; }
  /// Adds the options to `command`; this object must outlive it. `depth` is not offered, because
  /// commands wait for each frame before they submit the next.
  void add_to(CLI::App& command);

  /// The options given by the --config file and by the command line. The command line takes
  /// precedence.
  OptionTexts given() const;
  /// `defaults` replace the operator's own where an option is not given. Throws InputError with the
  /// library's reason, which names the option by its flag.
  OperatorConfig config(const OptionTexts& defaults = {}) const;

 private:
  const OperatorDescription* description_;
  TableOptions options_;
  std::string file_;
};

}  // namespace ocellus::app
