// Kernel banks in the forms that users write: plain text and JSON.
#pragma once

#include <istream>
#include <string>

namespace ocellus::app {

/// Descriptions of the two forms for --help.
extern const char* const kKernelTextHelp;
extern const char* const kKernelJsonHelp;

/// Converts plain text of any length, without holding it in memory. Throws InputError that names
/// the line.
void kernel_bank_from_text(std::istream& text, const std::string& out);

/// Converts JSON. Throws InputError that names the element.
void kernel_bank_from_json(std::istream& json, const std::string& out);

}  // namespace ocellus::app
