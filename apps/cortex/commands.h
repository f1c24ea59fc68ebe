// ocellus cortex: classifies the images of an IDX file. ocellus train cortex: learns a model.
// ocellus train network: teaches a cortical network.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

void add_cortex_command(CLI::App& program, int& exit_code);
/// Adds the subcommand to `ocellus train`.
void add_train_cortex_command(CLI::App& train, int& exit_code);
void add_train_network_command(CLI::App& train, int& exit_code);

}  // namespace ocellus::app
