// ocellus kernels: makes, converts and shows kernel bank files.
#pragma once

#include <ostream>
#include <string>

#include "ocellus/kernel_bank.h"
#include "ocellus/kernel_taps.h"

namespace CLI {
class App;
}

namespace ocellus::app {

/// Adds the subcommand with its own subcommands make, from-json and info. Their callbacks
/// throw InputError on bad input.
void add_kernels_command(CLI::App& program, int& exit_code);

/// Writes the kernels that the library would make for images of `size`.
void make_kernel_bank(const KernelConfig& kernels, ImageSize size, const std::string& note,
                      const std::string& out);

/// Reads the whole file and prints a summary.
void show_kernel_bank(const std::string& path, bool json, std::ostream& to);

}  // namespace ocellus::app
