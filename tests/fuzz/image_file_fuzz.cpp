// Fuzz target: any bytes as an image file (PNM, PNG, JPEG). It is refused with a text, or gives an
// image of the size in its header, which the bytes of the file can encode. Sanitizers detect other
// faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "apps/io/image_io.h"
#include "fuzz/memory_file.h"
#include "fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  const fuzz::MemoryFile file(data, size);
  fuzz::read_or_refuse([&] {
    const app::GrayImage image = app::read_image(file.path());
    const auto pixels =
        static_cast<std::size_t>(image.size.width) * static_cast<std::size_t>(image.size.height);
    if (image.size.width < 1 || image.size.height < 1 || image.size.width > kMaxImageSide ||
        image.size.height > kMaxImageSide)
      std::abort();
    if (image.pixels.size() != pixels * static_cast<std::size_t>(bytes_per_pixel(image.format)))
      std::abort();
  });
  return 0;
}
