// ocellus template: makes template files of the cellular network, lists and shows templates.
#pragma once

namespace CLI {
class App;
}

namespace ocellus::app {

/// Adds the subcommand with its own subcommands make, list and show. Their callbacks throw
/// InputError on bad input, which is exit status 2.
void add_template_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
