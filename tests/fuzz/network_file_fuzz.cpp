// Fuzz target: any bytes as a file of a cortical network. They are refused with a text, or have the
// same winners after they are written and read again. Sanitizers detect other faults. The header of
// the input is made right, so that the other checks are reached.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "cortical_network/network_file.h"
#include "fuzz/memory_file.h"
#include "fuzz/model_bytes.h"
#include "ocellus/cortical_network.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  std::vector<std::uint8_t> bytes(data, data + size);
  if (!fuzz::mend_header(bytes, detail::kCorticalNetworkKind, /*has_arrays=*/true)) return 0;
  const fuzz::MemoryFile file(bytes.data(), bytes.size());
  auto network = CorticalNetwork::load_file(file.path().c_str());
  if (!network) {
    if (network.error().text[0] == '\0') std::abort();
    return 0;
  }
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/ocellus_network_" +
                           std::to_string(getpid());
  if (!network->save_file(path.c_str())) std::abort();
  auto again = CorticalNetwork::load_file(path.c_str());
  unlink(path.c_str());
  if (!again || again->steps() != network->steps()) std::abort();
  const auto& config = network->config();
  std::vector<std::uint8_t> image(static_cast<std::size_t>(config.width) *
                                  static_cast<std::size_t>(config.height));
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(37 * i);
  for (int step = 0; step < 3; ++step) {
    network->step(image.data(), config.width, true);
    again->step(image.data(), config.width, true);
    for (int l = 0; l < network->levels(); ++l) {
      const auto a = network->winners(l);
      const auto b = again->winners(l);
      if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) std::abort();
      for (const int winner : a)
        if (winner < kSilent || winner >= network->minicolumns(l)) std::abort();
    }
  }
  return 0;
}
