// ocellus train digits: learning of neocognitrons from labeled images.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

/// Adds the subcommand to `ocellus train`.
void add_train_digits_command(CLI::App& train, int& exit_code);

}  // namespace ocellus::app
