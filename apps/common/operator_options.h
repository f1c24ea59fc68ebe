// OperatorOptions: an operator's options on a command line, made from its table.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/config_file.h"
#include "ocellus/operators.h"

namespace ocellus::app {

/// The operator of this name. Throws InputError that lists the names.
const OperatorDescription& operator_description(const std::string& name);

/// The default configuration with these options. Throws InputError with the library's reason, which
/// names the option as the table does.
OperatorConfig operator_config(const OperatorDescription& description, const OptionTexts& options);
/// The same for frames of this size and format.
OperatorConfig operator_config(const std::string& name, const OptionTexts& options, ImageSize size,
                               PixelFormat format);

/// Values of all options that have a meaning, by name.
nlohmann::ordered_json config_json(const OperatorConfig& config);

/// "odd, 3 to 31 pixels", or the words of a choice with what they mean; "" of a bool or a text.
std::string values_text(const Option& option);
/// "--window-sigma" for "window_sigma".
std::string flag_of(const Option& option);
/// An error's text of the library with the option in front as the command line calls it.
std::string with_flag(const OperatorConfig& config, std::string text);

class OperatorOptions {
 public:
  /// `only`: the options that there are; empty: all.
  explicit OperatorOptions(const std::string& name, const std::vector<std::string>& only = {});
  OperatorOptions(const OperatorOptions&) = delete;
  OperatorOptions& operator=(const OperatorOptions&) = delete;

  const OperatorDescription& description() const { return *description_; }
  /// This object must outlive the command. Not among the options: `depth`, because commands wait
  /// for each frame before they submit the next.
  void add_to(CLI::App& command);

  /// Those that --config's file and the command line give; the command line's win.
  OptionTexts given() const;
  /// Throws InputError with the library's reason, which names the option as the command line does.
  OperatorConfig config() const;

 private:
  struct Value {
    const Option* option;
    CLI::Option* flag = nullptr;
    std::string text;
  };

  const OperatorDescription* description_;
  std::vector<Value> values_;
  std::string file_;
};

}  // namespace ocellus::app
