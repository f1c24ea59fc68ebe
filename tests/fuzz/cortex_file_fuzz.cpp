// Fuzz target: any bytes as a model of the cortical classifier. They are refused with a text, or
// have the same parts after they are written and read again, and classify an image. An operator
// that learns continues with them, and saves a model. Sanitizers detect other faults. The header of
// the input is made right, so that the other checks are reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "cortex/model_file.h"
#include "fuzz/memory_file.h"
#include "fuzz/model_bytes.h"
#include "fuzz/readers.h"
#include "ocellus/cortex_training.h"
#include "ocellus/ocellus.h"

namespace {

/// Creates an operator that learns, unless the model is large, and shows it the image. `saves`: it
/// also writes a file, for which it waits for the storage.
void learn(const std::string& path, const ocellus::LabeledImages& image, bool saves) {
  using namespace ocellus;
  CortexConfig config;
  config.size = {image.width, image.height};
  if (!config.model.assign(path.c_str())) std::abort();
  config.ink = CortexInk::kLight;
  config.learn = true;
  EngineConfig settings;
  settings.backend.choice = BackendChoice::kCpu;
  settings.workers = 1;
  const auto footprint = Cortex::footprint(*Engine::probe(settings), config);
  if (!footprint) std::abort();
  if (footprint->host > std::size_t{16} << 20) return;
  settings.memory = *footprint;
  auto engine = Engine::create(settings);
  if (!engine) return;
  auto made = Cortex::create(*engine, config);
  if (!made) std::abort();
  Frame frame;
  frame.data = const_cast<std::uint8_t*>(image.ink.data());
  frame.size = config.size;
  frame.stride = image.width;
  const PlaneInfo& plane = made->info().planes[0];
  std::vector<float> evidence(static_cast<std::size_t>(plane.size.width) *
                              static_cast<std::size_t>(plane.size.height));
  const ImageView view{evidence.data(), plane.size,
                       plane.size.width * static_cast<std::ptrdiff_t>(sizeof(float)),
                       PixelFormat::kFloat32};
  CortexRecord record;
  for (int i = 0; i < 3; ++i) {
    const auto ticket = made->submit(frame, view, &record);
    if (!ticket || !made->wait(*ticket, Deadline::never())) std::abort();
  }
  if (!saves) return;
  static const fuzz::WorkFolder kFolder;
  const std::string saved = kFolder / "saved";
  if (!made->save_model(saved.c_str())) std::abort();
  const auto learned = read_cortex(saved.c_str());
  if (!learned || learned->probabilities.size() != learned->weights.size()) std::abort();
  kFolder.expect_only("saved");
}

}  // namespace

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
      again->fields != cortex->fields || again->names != cortex->names ||
      again->probabilities != cortex->probabilities)
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
  learn(file.path(), image, XXH64(data, size, 0) % 16 == 0);
  return 0;
}
