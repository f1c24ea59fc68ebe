// Fuzz target: any bytes as an image file (PNM, PNG, JPEG). It is refused with a text, or gives an
// image of the size in its header, which the bytes of the file can encode, and color planes of the
// same size. Sanitizers detect other faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "apps/io/image_io.h"
#include "fuzz/memory_file.h"
#include "fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  const fuzz::MemoryFile file(data, size);
  fuzz::read_or_refuse([&] {
    std::vector<app::GrayImage> color;
    const app::GrayImage image = app::read_image(file.path(), &color);
    if (!color.empty() && color.size() != 3) std::abort();
    for (const app::GrayImage& plane : color)
      if (plane.size != image.size || plane.pixels.size() != image.pixels.size()) std::abort();
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
