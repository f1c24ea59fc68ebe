// What one rank of a cluster computes: derivatives and flow of its region, with the memory of the
// frames in flight. It sends nothing.
//
// On a CUDA device:
//   frames       in pinned memory; the device copies the slab
//   derivatives  in device memory: the filter writes the region, MPI or a copy the halo around it
//   exchange     with staging only: for each neighbor, the border that MPI sends and the halo that
//                it receives, in pinned memory. The border is copied when the derivatives are
//                ready, and the halo before the solution. Streams order these copies with the
//                kernels.
//   peers        the derivatives of ranks on the same host, whose device memory this process has
//                opened. The halo is copied from there before the solution.
//   results      in pinned memory; the device copies the field of the region
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cluster/regions.h"
#include "core/device.h"
#include "ocellus/buffer.h"
#include "ocellus/engine.h"
#include "ocellus/flow_cluster.h"
#include "ocellus/spatio_temporal_filter.h"
#include "ocellus/window_flow.h"

namespace ocellus::cluster {

/// Rectangles of the image.
struct RegionPlaces {
  Rect region;  ///< whose flow this rank computes
  Rect slab;    ///< the pixels that the kernels of the region read
  Rect halo;    ///< the derivatives that the windows of the region read
  /// The pixels that this rank keeps: of its slab and of those it passes on. With kCollective the
  /// slabs lie one below the other, this rank's first. Empty without scatter.
  Rect frames;
  Rect results;  ///< the flow that this rank keeps: of its region and of those it passes on

  /// A rank whose region this rank's windows read, and whose windows read this region.
  struct Neighbor {
    int rank = 0;
    Rect halo;    ///< the derivatives that it has
    Rect from;    ///< the part of this rank's halo that it computes
    Rect border;  ///< the part of this region that it reads
  };
  std::vector<Neighbor> neighbors;

  static RegionPlaces of(const FlowClusterConfig& config, std::span<const Rect> regions, int rank,
                         const TreeNode& node);
};

/// A block of memory of which each frame in flight has a part: planes of rows.
struct SlotPlanes {
  std::optional<Buffer> memory;  ///< without a value, memory of another process
  char* data = nullptr;
  MemorySpace space = MemorySpace::kHost;
  Rect rect;  ///< of the image
  int planes = 0;
  int pixel_bytes = 0;
  std::size_t stride = 0;  ///< bytes from row to row

  std::size_t plane_bytes() const { return stride * static_cast<std::size_t>(rect.height); }
  std::size_t slot_bytes() const { return plane_bytes() * static_cast<std::size_t>(planes); }
  /// The pixel (x, y) of the image.
  char* at(int slot, int plane, int x, int y) const {
    return data + static_cast<std::size_t>(slot) * slot_bytes() +
           static_cast<std::size_t>(plane) * plane_bytes() +
           static_cast<std::size_t>(y - rect.y) * stride +
           static_cast<std::size_t>((x - rect.x) * pixel_bytes);
  }
  ImageView view(int slot, int plane, const Rect& part, PixelFormat format) const {
    return {at(slot, plane, part.x, part.y),
            {part.width, part.height},
            static_cast<std::ptrdiff_t>(stride),
            format,
            space,
            nullptr};
  }
};

using detail::CopyStream;

class RegionFlow {
 public:
  static Expected<std::unique_ptr<RegionFlow>> create(const EngineConfig& engine,
                                                      const FlowClusterConfig& config,
                                                      const RegionPlaces& places) noexcept;

  const EngineInfo& engine() const noexcept { return engine_.info(); }
  const RegionPlaces& places() const noexcept { return places_; }
  const SlotPlanes& frames() const noexcept { return frames_; }
  /// Where MPI reads and writes a part of a neighbor, `from` or `border` of RegionPlaces.
  const SlotPlanes& exchanged(const Rect& part) const noexcept;
  MemorySpace exchange_space() const noexcept {
    return staged_ ? MemorySpace::kPinned : derivatives_.space;
  }
  const SlotPlanes& results() const noexcept { return results_; }

  /// The places of the derivatives, for `add_peer` in another process. Errors: System (device
  /// memory cannot be shared).
  Expected<detail::SharedPiece> share_derivatives() noexcept;
  /// From now on, the device copies the halo from the neighbor's derivatives in another process,
  /// and MPI exchanges nothing with it. Errors: System (this device cannot access them).
  Expected<void> add_peer(const RegionPlaces::Neighbor& neighbor,
                          const detail::SharedPiece& derivatives) noexcept;
  void remove_peer(int rank) noexcept;
  bool is_peer(int rank) const noexcept;
  /// No frame may be in flight. The memory of the other processes must exist until then.
  void close_peers() noexcept { peers_.clear(); }

  /// The pixels of the slab that the ranks keep for a slot.
  ImageView slab(int slot) const noexcept { return frames_.view(slot, 0, places_.slab, format_); }
  /// The derivatives of the region, from the pixels of the slab. Frames must be given in order.
  Expected<void> start_derivatives(int slot, const ImageView& slab, std::uint64_t sequence,
                                   std::int64_t timestamp_ns);
  /// The flow of the region, when the derivatives of the halo have come.
  Expected<void> start_solution(int slot);
  /// Errors: those of OperatorHandle::wait.
  Expected<FrameInfo> wait_derivatives(int slot, Deadline deadline);
  Expected<FrameInfo> wait_solution(int slot, Deadline deadline);

  /// The flow of a part of `results()`.
  FlowOutput field(int slot, const Rect& part) const noexcept;

  /// Pixels per second of a small region, with frames of zeros.
  static Expected<double> measure_speed(const EngineConfig& engine, const FlowClusterConfig& config,
                                        const Rect& region) noexcept;

 private:
  RegionFlow(Engine&& engine, SpatioTemporalFilter&& filter, WindowFlow&& window) noexcept
      : engine_(std::move(engine)), filter_(std::move(filter)), window_(std::move(window)) {}

  /// A part of the halo in the memory of another process.
  struct Peer {
    int rank = 0;
    std::unique_ptr<detail::PeerMemory> memory;
    SlotPlanes planes;
    Rect part;
  };

  static Expected<void> copy(CopyStream& stream, int slot, const SlotPlanes& to,
                             const SlotPlanes& from, const Rect& part,
                             detail::CopyDirection direction) noexcept;

  RegionPlaces places_;
  PixelFormat format_ = PixelFormat::kGray8;
  bool confidence_ = false;
  Engine engine_;
  SlotPlanes frames_;
  SlotPlanes derivatives_;
  bool staged_ = false;
  std::vector<SlotPlanes> exchange_;  // only with staging
  SlotPlanes results_;
  std::vector<Peer> peers_;
  // Only on a device; even without staging they order its work with that of the caller. Two,
  // because the solution of a frame must not wait for the derivatives of the next one.
  std::unique_ptr<CopyStream> outward_;
  std::unique_ptr<CopyStream> inward_;
  SpatioTemporalFilter filter_;
  WindowFlow window_;
  Ticket derivative_tickets_[kMaxClusterFrames] = {};
  // Of derivatives that are ready, while their border is copied.
  std::optional<FrameInfo> derivative_infos_[kMaxClusterFrames];
  Ticket solution_tickets_[kMaxClusterFrames] = {};
};

}  // namespace ocellus::cluster
