// ocellus template: makes template files of the cellular network, and lists and shows templates.
#pragma once

namespace CLI {
class App;
}

namespace ocellus::app {

/// Adds the subcommand with its own subcommands make, list and show. Their callbacks throw
/// InputError on bad input.
void add_template_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
