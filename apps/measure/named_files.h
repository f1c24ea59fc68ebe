// NamedFile: the files that the options of operators name, with their checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ocellus/operators.h"

namespace ocellus::app {

struct NamedFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::string xxh64;  ///< of all bytes, as xxh64sum prints it
};

/// The regular files that text options name, each once, in the order of the options: models,
/// filters, kernel banks, and templates of a chain. A name without a period and a slash is one of
/// the library's own. A file that cannot be read is left out.
std::vector<NamedFile> named_files(const std::vector<OperatorConfig>& operators);

}  // namespace ocellus::app
