// The files that the process reads, which it must not write.
#pragma once

#include <string>

namespace ocellus::app {

/// From now on, no OutputFile replaces a file that the process has read or will read. Without this
/// call, the following two functions do nothing.
void protect_inputs();
/// Marks a file as an input. Links and other spellings of the path mean the same file.
void note_input(const std::string& path);
/// Throws InputError if `path` is an input.
void check_not_input(const std::string& path);

}  // namespace ocellus::app
