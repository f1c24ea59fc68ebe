// ocellus kernels: makes, converts and shows kernel bank files.
#pragma once

#include <ostream>
#include <string>

namespace CLI {
class App;
}

namespace ocellus::app {

/// Adds the subcommand with its own subcommands make, from-json and info. Their callbacks
/// throw InputError on bad input.
void add_kernels_command(CLI::App& program, int& exit_code);

/// Reads the whole file and prints a summary.
void show_kernel_bank(const std::string& path, bool json, std::ostream& to);

}  // namespace ocellus::app
