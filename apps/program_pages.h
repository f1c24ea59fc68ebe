// What is made from the commands and options of a program: shell completion and the manual page.
#pragma once

#include <CLI/CLI.hpp>

namespace ocellus::app {

/// Adds `completion` and `manual`, which print scripts and the page of all commands of `program`.
void add_page_commands(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
