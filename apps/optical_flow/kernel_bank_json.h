// Writes kernel banks: piece by piece, and from JSON, the form that users write. Shows what they
// hold.
#pragma once

#include <istream>
#include <memory>
#include <string>

namespace ocellus::detail {
struct KernelBankHeader;
class KernelBankWriter;
}  // namespace ocellus::detail

namespace ocellus::app {

/// Begins a kernel bank. `path` must outlive the writer. Throws InputError, also if the bank does
/// not fit on the disk.
std::unique_ptr<detail::KernelBankWriter> open_kernel_bank(const std::string& path,
                                                           const detail::KernelBankHeader& bank);

/// Describes the form for --help.
extern const char* const kKernelJsonHelp;

/// Converts JSON of any length; of a bank per pixel whose form and size come first, it holds one
/// pixel in memory. Throws InputError that names the element.
void kernel_bank_from_json(std::istream& json, const std::string& out);

/// Reads a whole kernel bank and prints a summary. Throws InputError.
void show_kernel_bank(const std::string& path, bool json, std::ostream& to);

}  // namespace ocellus::app
