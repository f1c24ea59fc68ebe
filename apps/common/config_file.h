// Reads option values from JSON files such as {"window": 15, "roi": "0,0,64,64"}. The program and
// the GStreamer elements use it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ocellus/operators.h"

namespace ocellus::app {

/// Pairs of an option's name and its value as text.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

/// The same. The texts must outlive the result.
std::vector<OptionSetting> settings_of(const OptionTexts& texts);

/// Whether one of the texts is for the option of this name, which '-' may spell in place of '_'.
bool sets_option(const OptionTexts& texts, OptionTable table, const std::string& name);
/// Appends a text in place of others for the same option. A name that is unknown replaces nothing.
void set_text(OptionTexts& texts, OptionTable table, const std::string& name,
              const std::string& value);

/// Sets options by name. Errors are those of OperatorConfig::set_options.
Expected<void> set_options(OperatorConfig& config, const OptionTexts& texts);

/// Reads a file that holds an object of options, or an object with such an object under "config",
/// as in a report of --json. If "operator" is present, it must name this operator. Throws
/// InputError that names the file and the mistake.
OptionTexts read_config_file(const std::string& path, const OperatorDescription& description);

}  // namespace ocellus::app
