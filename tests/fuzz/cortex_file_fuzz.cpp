// Fuzz target: any bytes as a model of the cortical classifier. They are refused with a text, or
// have the same parts after they are written and read again, and classify an image. Sanitizers
// detect other faults. The header of the input is made right, so that the other checks are reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "cortex/model_file.h"
#include "fuzz/memory_file.h"
#include "fuzz/model_bytes.h"
#include "ocellus/cortex_training.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  std::vector<std::uint8_t> bytes(data, data + size);
  if (!fuzz::mend_header(bytes, detail::kCortexKind, /*has_arrays=*/true)) return 0;
  const fuzz::MemoryFile file(bytes.data(), bytes.size());
  const auto cortex = read_cortex(file.path().c_str());
  if (!cortex) {
    if (cortex.error().text[0] == '\0') std::abort();
    return 0;
  }
  const auto written = encode_cortex(*cortex, "");
  if (!written) std::abort();
  const fuzz::MemoryFile copy(written->data(), written->size());
  const auto again = read_cortex(copy.path().c_str());
  if (!again || again->weights != cortex->weights || again->bias != cortex->bias ||
      again->read_out != cortex->read_out || again->class_bias != cortex->class_bias ||
      again->names != cortex->names)
    std::abort();
  LabeledImages image;
  image.width = cortex->parameters.width;
  image.height = cortex->parameters.height;
  for (int i = 0; i < image.width * image.height; ++i)
    image.ink.push_back(static_cast<std::uint8_t>(37 * i));
  const auto answers = classify(*cortex, image, 1);
  if (!answers || answers->size() != 1 || (*answers)[0].label < 0 ||
      (*answers)[0].label >= static_cast<int>(cortex->names.size()))
    std::abort();
  return 0;
}
