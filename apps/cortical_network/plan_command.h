// ocellus cortex plan: places a cortical network on devices.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

/// Adds the subcommand to `ocellus cortex`.
CLI::App* add_plan_command(CLI::App& cortex, int& exit_code);

}  // namespace ocellus::app
