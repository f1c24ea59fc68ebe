// A profiler of the tests, which records the NVTX ranges.
#pragma once

#include <string>
#include <vector>

namespace ocellus::test {

struct Seen {
  std::vector<std::string> domains;
  std::vector<std::string> ranges;  ///< "text sequence", in the order in which they begin
  int depth = 0;
  int deepest = 0;
};

Seen& seen();

}  // namespace ocellus::test
