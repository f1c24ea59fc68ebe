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

/// Adds the subcommand with its own subcommands make, from-text, from-json and info. Their
/// callbacks throw InputError on bad input, which is exit status 2.
void add_kernels_command(CLI::App& program, int& exit_code);

/// Writes the kernels that the library would use on images of `size`.
void make_kernel_bank(const KernelConfig& kernels, ImageSize size, const std::string& note,
                      const std::string& out);

/// Reads the file to its end and tells what is in it.
void show_kernel_bank(const std::string& path, bool json, std::ostream& to);

}  // namespace ocellus::app
