// What one rank of a cluster computes: derivatives and flow of its region, with the memory of the
// frames in flight. It sends nothing.
//
// On a CUDA device:
//   frames       in pinned memory; the device copies the slab
//   derivatives  in device memory: the filter writes the region, MPI or a copy the halo around it
//   exchange     with staging only: planes in pinned memory, of which MPI sends the border of the
//                region and receives the halo. The border is copied when the derivatives are ready,
//                and the halo before the solution. Streams order these copies with the kernels.
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
  Rect region;   ///< whose flow this rank computes
  Rect slab;     ///< the pixels that the kernels of the region read
  Rect halo;     ///< the derivatives that the windows of the region read
  Rect frames;   ///< the pixels that this rank keeps: of its slab and of those it passes on
  Rect results;  ///< the flow that this rank keeps: of its region and of those it passes on

  static RegionPlaces of(const FlowClusterConfig& config, std::span<const Rect> regions, int rank,
                         const TreeNode& node);
};

/// A block of memory of which each frame in flight has a part: planes of rows.
struct SlotPlanes {
  std::optional<Buffer> memory;
  Rect rect;  ///< of the image
  int planes = 0;
  int pixel_bytes = 0;
  std::size_t stride = 0;  ///< bytes from row to row

  MemorySpace space() const { return memory->space(); }
  std::size_t plane_bytes() const { return stride * static_cast<std::size_t>(rect.height); }
  std::size_t slot_bytes() const { return plane_bytes() * static_cast<std::size_t>(planes); }
  /// The pixel (x, y) of the image.
  char* at(int slot, int plane, int x, int y) const {
    return static_cast<char*>(memory->data()) + static_cast<std::size_t>(slot) * slot_bytes() +
           static_cast<std::size_t>(plane) * plane_bytes() +
           static_cast<std::size_t>(y - rect.y) * stride +
           static_cast<std::size_t>((x - rect.x) * pixel_bytes);
  }
  ImageView view(int slot, int plane, const Rect& part, PixelFormat format) const {
    return {at(slot, plane, part.x, part.y),
            {part.width, part.height},
            static_cast<std::ptrdiff_t>(stride),
            format,
            space(),
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
  const SlotPlanes& frames() const noexcept { return frames_; }
  /// The planes of derivatives that MPI reads and writes.
  const SlotPlanes& derivatives() const noexcept { return staged() ? exchange_ : derivatives_; }
  const SlotPlanes& results() const noexcept { return results_; }

  /// The derivatives of the region, from the frame in the slot. Frames must be given in order.
  Expected<void> start_derivatives(int slot, std::uint64_t sequence, std::int64_t timestamp_ns);
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

  bool staged() const noexcept { return exchange_.memory.has_value(); }
  /// Copies rectangles of a slot between the derivatives on the device and the exchange planes.
  Expected<void> copy(CopyStream& stream, int slot, const std::vector<Rect>& parts,
                      bool to_device) noexcept;

  RegionPlaces places_;
  std::vector<Rect> border_;  // of the region, for other ranks
  std::vector<Rect> ring_;    // around the region, of other ranks
  PixelFormat format_ = PixelFormat::kGray8;
  bool confidence_ = false;
  Engine engine_;
  SlotPlanes frames_;
  SlotPlanes derivatives_;
  SlotPlanes exchange_;  // only with staging
  SlotPlanes results_;
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
