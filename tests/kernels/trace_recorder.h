// A profiler of the tests' own, which writes down what is told to NVTX.
#pragma once

#include <string>
#include <vector>

namespace ocellus::test {

struct Seen {
  std::vector<std::string> domains;
  std::vector<std::string> ranges;  ///< "text sequence", in the order of their begin
  int depth = 0;
  int deepest = 0;
};

Seen& seen();

}  // namespace ocellus::test
