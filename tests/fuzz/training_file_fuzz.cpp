// Fuzz target: any bytes as a neocognitron model and as the state of a training. They are refused
// with a text, or have the same parts after they are written and read again. Sanitizers detect
// other faults. The checksums of the input are made right, so that the other checks are reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/model_file.h"
#include "fuzz/memory_file.h"
#include "ocellus/neocognitron_training.h"

namespace {

using namespace ocellus;

/// Puts both checksums into the header, if its lengths fit the file.
std::vector<std::uint8_t> with_checksums(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size < 64) return bytes;
  std::uint32_t table_bytes = 0;
  std::memcpy(&table_bytes, bytes.data() + 20, sizeof(table_bytes));
  const std::uint64_t arrays_at = detail::model_arrays_at(table_bytes);
  if (table_bytes > size || arrays_at > size) return bytes;
  const std::uint64_t arrays = XXH64(bytes.data() + arrays_at, size - arrays_at, 0);
  std::memcpy(bytes.data() + 32, &arrays, sizeof(arrays));
  const std::uint64_t header = detail::model_header_hash(bytes.data(), arrays_at);
  std::memcpy(bytes.data() + 40, &header, sizeof(header));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> bytes = with_checksums(data, size);
  const fuzz::MemoryFile file(bytes.data(), bytes.size());
  const std::string path = file.path();
  if (const auto network = read_neocognitron(path.c_str())) {
    const auto written = encode_neocognitron(*network, "");
    if (!written) std::abort();
    const fuzz::MemoryFile copy(written->data(), written->size());
    const auto again = read_neocognitron(copy.path().c_str());
    if (!again || again->weights != network->weights || again->labels != network->labels ||
        again->names != network->names || again->lengths != network->lengths)
      std::abort();
  } else if (network.error().text[0] == '\0') {
    std::abort();
  }
  if (const auto state = read_checkpoint(path.c_str())) {
    const std::vector<std::uint8_t> written = encode_checkpoint(*state);
    const fuzz::MemoryFile copy(written.data(), written.size());
    const auto again = read_checkpoint(copy.path().c_str());
    if (!again || again->weights != state->weights || again->references != state->references ||
        again->squares != state->squares || again->products != state->products ||
        again->labels != state->labels || again->position != state->position)
      std::abort();
  } else if (state.error().text[0] == '\0') {
    std::abort();
  }
  return 0;
}
