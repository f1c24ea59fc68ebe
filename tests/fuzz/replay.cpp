// Runs a fuzz target without a fuzzer: over every file in the given folders, and over damaged
// copies of each, which are the same in every run. Usage: PROGRAM <runs for each seed> FOLDER...
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s <runs a seed> FOLDER...\n", arguments[0]);
    return 2;
  }
  const int runs = std::atoi(arguments[1]);
  int seeds = 0;
  std::mt19937 random(20110613);
  const auto below = [&random](std::size_t n) {
    return n == 0 ? 0 : static_cast<std::size_t>(random()) % n;
  };
  for (int folder = 2; folder < count; ++folder) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[folder])) {
      std::ifstream stream(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(stream),
                                    std::istreambuf_iterator<char>()};
      const std::vector<std::uint8_t> seed(bytes.begin(), bytes.end());
      ++seeds;
      LLVMFuzzerTestOneInput(seed.data(), seed.size());
      for (int run = 0; run < runs; ++run) {
        std::vector<std::uint8_t> damaged = seed;
        for (std::size_t change = 0; change <= below(4); ++change) {
          switch (below(4)) {
            case 0:
              if (!damaged.empty())
                damaged[below(damaged.size())] ^= static_cast<std::uint8_t>(1u << below(8));
              break;
            case 1:
              if (!damaged.empty())
                damaged[below(damaged.size())] = static_cast<std::uint8_t>(random());
              break;
            case 2:
              damaged.resize(below(damaged.size() + 1));
              break;
            default:
              damaged.insert(
                  damaged.begin() + static_cast<std::ptrdiff_t>(below(damaged.size() + 1)),
                  below(64), 0);
          }
        }
        LLVMFuzzerTestOneInput(damaged.data(), damaged.size());
      }
    }
  }
  std::printf("%d seeds, %d damaged copies of each\n", seeds, runs);
  return seeds > 0 ? 0 : 1;  // without seeds, nothing was tested
}
