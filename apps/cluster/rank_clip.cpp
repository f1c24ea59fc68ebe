#include "apps/cluster/rank_clip.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/cluster/ranks.h"

namespace ocellus::app {

std::size_t clip_index(std::uint64_t frame, std::size_t frames) {
  return back_and_forth(static_cast<std::size_t>(frame), frames);
}

Expected<RankClip> RankClip::create(MPI_Comm communicator, const EngineConfig& engine,
                                    const std::vector<InputFrame>& clip, ImageSize size,
                                    PixelFormat format, const Rect& slab) {
  // As WindowFlow and OpticalFlow align rows.
  constexpr std::size_t kRowAlignment = 64;
  const auto pixel = static_cast<std::size_t>(bytes_per_pixel(format));
  const std::size_t row = static_cast<std::size_t>(slab.width) * pixel;
  const std::size_t stride = (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  const std::size_t slab_bytes = stride * static_cast<std::size_t>(slab.height);
  int frames = static_cast<int>(clip.size());
  MPI_Bcast(&frames, 1, MPI_INT, 0, communicator);

  const auto make = [&]() -> Expected<RankClip> {
    const Expected<EngineInfo> info = Engine::probe(engine);
    if (!info) return tl::unexpected(info.error());
    const MemorySpace space =
        info->backend == BackendKind::kCuda ? MemorySpace::kCuda : MemorySpace::kHost;
    EngineConfig sized = engine;
    sized.memory = Buffer::footprint(space, slab_bytes * static_cast<std::size_t>(frames));
    Expected<Engine> own = Engine::create(sized);
    if (!own) return tl::unexpected(own.error());
    Expected<Buffer> memory =
        Buffer::create(*own, space, slab_bytes * static_cast<std::size_t>(frames));
    if (!memory) return tl::unexpected(memory.error());
    return RankClip(std::move(*own), std::move(*memory));
  };
  Expected<RankClip> made = make();
  if (made) {
    made->size_ = {slab.width, slab.height};
    made->format_ = format;
    made->stride_ = stride;
    made->frames_ = static_cast<std::size_t>(frames);
  }

  // All ranks take part, also one that has an error.
  const std::size_t image_row = static_cast<std::size_t>(size.width) * pixel;
  std::vector<char> image(image_row * static_cast<std::size_t>(size.height));
  std::vector<char> mine(slab_bytes);
  for (std::size_t n = 0; n < static_cast<std::size_t>(frames); ++n) {
    if (rank_of(communicator) == 0) {
      const Frame frame = clip[n].image.view(n, 0);
      for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) {
        std::memcpy(
            &image[y * image_row],
            static_cast<const char*>(frame.data) + static_cast<std::ptrdiff_t>(y) * frame.stride,
            image_row);
      }
    }
    MPI_Bcast(image.data(), static_cast<int>(image.size()), MPI_BYTE, 0, communicator);
    if (!made) continue;
    for (std::size_t y = 0; y < static_cast<std::size_t>(slab.height); ++y) {
      std::memcpy(&mine[y * stride],
                  &image[(static_cast<std::size_t>(slab.y) + y) * image_row +
                         static_cast<std::size_t>(slab.x) * pixel],
                  row);
    }
    if (Expected<void> written = made->memory_.write(n * slab_bytes, mine.data(), slab_bytes);
        !written)
      made = tl::unexpected(written.error());
  }
  return made;
}

ImageView RankClip::slab(std::uint64_t frame) const {
  ImageView view;
  view.data = static_cast<char*>(memory_.data()) +
              clip_index(frame, frames_) * stride_ * static_cast<std::size_t>(size_.height);
  view.size = size_;
  view.stride = static_cast<std::ptrdiff_t>(stride_);
  view.format = format_;
  view.space = memory_.space();
  return view;
}

ImageView RankClip::source(void* clip, std::uint64_t frame, const Rect&) {
  return static_cast<const RankClip*>(clip)->slab(frame);
}

}  // namespace ocellus::app
