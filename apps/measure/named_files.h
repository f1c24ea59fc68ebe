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
  std::string sha256;  ///< as sha256sum prints it
};

/// The regular files that text options name, each once, in the order of the options: models,
/// filters, kernel banks, and templates of a chain. A name without a period and a slash is one of
/// the library's own. A file that cannot be read is left out.
std::vector<NamedFile> named_files(const std::vector<OperatorConfig>& operators);

/// SHA-256 of FIPS 180-4 in hexadecimal.
class Sha256 {
 public:
  void add(const void* bytes, std::size_t count);
  std::string finish();

 private:
  void add_block(const std::uint8_t* block);

  std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint8_t block_[64] = {};
  std::uint64_t bytes_ = 0;
};

}  // namespace ocellus::app
