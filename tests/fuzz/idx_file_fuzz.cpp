// Fuzz target: any bytes as IDX files of images and of labels, plain or gzip. They are refused with
// a text, or give as many pixels and labels as the header announces. Sanitizers detect other
// faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "apps/io/idx_file.h"
#include "fuzz/memory_file.h"
#include "fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  const fuzz::MemoryFile file(data, size);
  fuzz::read_or_refuse([&] {
    app::IdxImages images = app::read_idx_images(file.path());
    if (images.width < 1 || images.height < 1 || images.count < 1) std::abort();
    const auto pixels = images.count * static_cast<std::size_t>(images.width) *
                        static_cast<std::size_t>(images.height);
    if (images.pixels.size() != pixels || pixels > app::kMostIdxPixels) std::abort();
    const std::vector<std::uint8_t> before = images.pixels;
    const bool inverted = app::make_ink_bright(images, app::InkColor::kAuto);
    if (inverted == (images.pixels == before)) std::abort();
  });
  fuzz::read_or_refuse([&] {
    if (app::read_idx_labels(file.path()).empty()) std::abort();
  });
  return 0;
}
