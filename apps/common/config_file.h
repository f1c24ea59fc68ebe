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

/// Sets options by name. Errors are those of OperatorConfig::set_options.
Expected<void> set_options(OperatorConfig& config, const OptionTexts& texts);

/// Reads a file that holds an object of options, or an object with such an object under "config",
/// as in a report of --json. If "operator" is present, it must name this operator. Throws
/// InputError that names the file and the mistake.
OptionTexts read_config_file(const std::string& path, const OperatorDescription& description);

}  // namespace ocellus::app
