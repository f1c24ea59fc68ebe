// Kernel banks as people write them: plain text and JSON.
#pragma once

#include <istream>
#include <string>

namespace ocellus::app {

/// What the two forms look like, for --help.
extern const char* const kKernelTextHelp;
extern const char* const kKernelJsonHelp;

/// Reads numbers in plain text, of any length: it is not held in memory. Throws InputError that
/// names the line.
void kernel_bank_from_text(std::istream& text, const std::string& out);

/// Reads JSON. Throws InputError that names the element.
void kernel_bank_from_json(std::istream& json, const std::string& out);

}  // namespace ocellus::app
