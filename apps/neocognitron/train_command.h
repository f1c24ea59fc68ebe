// ocellus train: learning of model files from labeled images.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

void add_train_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
