// Option values in JSON files: {"window": 15, "roi": "0,0,64,64"}. For the program and the
// elements.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ocellus/operators.h"

namespace ocellus::app {

/// Names and values as texts.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

/// Sets options by their names. Errors: as OperatorConfig::set_options.
Expected<void> set_options(OperatorConfig& config, const OptionTexts& texts);

/// Reads a file: an object of options, or an object that has one under "config", as what the
/// program prints with --json does. "operator", where it is there, must be this one's name. Throws
/// InputError, naming the file and what is wrong with it.
OptionTexts read_config_file(const std::string& path, const OperatorDescription& description);

}  // namespace ocellus::app
