// The frames of a clip in the memory of a rank, as a source of slabs.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "apps/io/frames.h"
#include "ocellus/buffer.h"
#include "ocellus/engine.h"

namespace ocellus::app {

/// The frame of the endless sequence that goes back and forth through a clip.
std::size_t clip_index(std::uint64_t frame, std::size_t frames);

/// What one rank needs of a clip: the pixels of its slab in each frame, in device memory if the
/// rank computes on a device.
class RankClip {
 public:
  /// Collective. `clip` is given on the root, whose frames all have the same size and format. An
  /// error is that of this rank.
  static Expected<RankClip> create(MPI_Comm communicator, const EngineConfig& engine,
                                   const std::vector<InputFrame>& clip, ImageSize size,
                                   PixelFormat format, const Rect& slab);

  ImageView slab(std::uint64_t frame) const;
  /// FlowCluster::SlabSource for a RankClip.
  static ImageView source(void* clip, std::uint64_t frame, const Rect& slab);

 private:
  RankClip(Engine&& engine, Buffer&& memory) noexcept
      : engine_(std::move(engine)), memory_(std::move(memory)) {}

  Engine engine_;
  Buffer memory_;
  ImageSize size_;
  PixelFormat format_ = PixelFormat::kGray8;
  std::size_t stride_ = 0;
  std::size_t frames_ = 0;
};

}  // namespace ocellus::app
