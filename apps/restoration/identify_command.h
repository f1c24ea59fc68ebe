// ocellus identify: makes a filter file for restoration.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

void add_identify_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
