// Fuzz target: any bytes as a stream of frames (Y4M, PNM). It is refused with a text, or gives
// frames whose planes have the size in its header. Sanitizers detect other faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "apps/io/frame_stream.h"
#include "fuzz/memory_file.h"
#include "fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  const fuzz::MemoryFile file(data, size);
  fuzz::read_or_refuse([&] {
    app::SourceOptions options;
    options.color = size % 2 == 0;
    const auto source = app::open_frame_stream(file.path(), options);
    if (!(source->fps() >= 0.0)) std::abort();
    app::InputFrame frame;
    for (long n = 0; source->next(frame); ++n) {
      const auto area = [](int width, int height) {
        return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
      };
      const auto [width, height] = frame.image.size;
      if (frame.number != n || width < 1 || height < 1 || width > kMaxImageSide ||
          height > kMaxImageSide)
        std::abort();
      const auto bytes = static_cast<std::size_t>(bytes_per_pixel(frame.image.format));
      if (frame.image.pixels.size() != bytes * area(width, height)) std::abort();
      const std::size_t half = area((width + 1) / 2, (height + 1) / 2);
      if (!frame.chroma_u.empty() && frame.chroma_u.size() != half) std::abort();
      if (frame.chroma_v.size() != frame.chroma_u.size()) std::abort();
      if (!frame.color.empty() && frame.color.size() != 3) std::abort();
    }
  });
  return 0;
}
