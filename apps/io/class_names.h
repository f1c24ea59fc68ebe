// Files with the names of classes.
#pragma once

#include <string>
#include <vector>

namespace ocellus::app {

/// Reads a name from each line, in the order of the labels. A line may begin with its label. Empty
/// lines do not count. Throws InputError that names the file and the line.
std::vector<std::string> read_class_names(const std::string& path);

}  // namespace ocellus::app
