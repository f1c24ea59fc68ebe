// ocellus compare latency: reports of `ocellus latency --json` beside each other.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

/// Adds the subcommand to `compare`.
void add_compare_latency_command(CLI::App& compare, int& exit_code);

}  // namespace ocellus::app
