// PlacedPlan: which pieces of a cortical network lie on which device. PlacedGpus: those on CUDA
// devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/failure.h"
#include "cortical_network/network_piece.h"
#include "ocellus/cortical_placement.h"
#include "ocellus/engine.h"
#include "ocellus/memory.h"

namespace ocellus::detail {

struct PlacedPart {
  int device = 0;
  bool on_cpu = false;
  Subtrees trees;
  /// One piece; or, if it is streamed, what stays in the memory of the device, then the turns.
  std::unique_ptr<NetworkPiece[]> pieces;
  int piece_count = 0;

  bool streams() const noexcept { return piece_count > 1; }
  const NetworkPiece& piece(int number) const noexcept {
    return pieces[static_cast<std::size_t>(number)];
  }
  /// Buffer of a turn, a piece from 1 on.
  static int buffer_of(int piece) noexcept { return (piece - 1) % 2; }
  /// Bytes of each of the two buffers.
  std::size_t buffer_bytes() const noexcept;
};

/// Plain data but for the pieces.
struct PlacedPlan {
  static constexpr int kMostParts = kMaxPlacementDevices + 2;
  static constexpr int kNone = -1;

  NetworkPlan network;
  int split_levels = 0;
  int cpu_level = 0;
  int device_count = 0;
  std::array<PlacedPart, kMostParts> parts;
  int part_count = 0;
  int merge_part = kNone;  ///< levels where parts meet
  int top_part = kNone;    ///< levels of the CPU alone

  const Hierarchy& hierarchy() const noexcept { return network.hierarchy; }
  const PlacedPart& part(int number) const noexcept {
    return parts[static_cast<std::size_t>(number)];
  }
  /// The part of the split levels on a device, or kNone.
  int split_part(int device) const noexcept;
  bool is_split(int part) const noexcept { return part != merge_part && part != top_part; }
  bool uses(int device) const noexcept;

  struct Where {
    int part = kNone;
    int piece = 0;
    PieceRun run;  ///< from the hypercolumn on
  };
  Where find(int level, int hypercolumn) const noexcept;
};

/// Errors: those of PlacedCorticalNetwork::create for network and placement.
Expected<std::unique_ptr<PlacedPlan>> make_placed_plan(const CorticalNetworkConfig& config,
                                                       const CorticalPlacement& placement) noexcept;

// ---- the parts on CUDA devices, without CUDA types

struct StepImage {
  const std::uint8_t* pixels = nullptr;
  std::ptrdiff_t stride = 0;
  bool pinned = false;
};

class PlacedGpus {
 public:
  virtual ~PlacedGpus() = default;

  /// Queues the split levels. `step`: number of the learning step.
  virtual Expected<void> begin(const StepImage& image, std::uint64_t step,
                               bool learns) noexcept = 0;
  /// Queues the levels where parts meet. `winners`: of the whole network; those of the CPU's split
  /// part are complete.
  virtual Expected<void> end(const std::int32_t* winners) noexcept = 0;
  /// Waits for what end() has queued; the next step may have begun. Sets the winners of the highest
  /// level below cpu_level.
  virtual Expected<void> wait(std::int32_t* winners) noexcept = 0;
  /// After a failure, and before other calls than the three above: waits for all work.
  virtual Expected<void> settle() noexcept = 0;

  /// Sets the winners of a level that GPUs have.
  virtual Expected<void> read_winners(int level, std::int32_t* winners) noexcept = 0;
  /// Arrays of a piece in the memory where they are kept; call settle() before using them.
  virtual HypercolumnArrays arrays(int part, int piece) const noexcept = 0;
  /// Copies between ordinary memory and these arrays; `writes`: to the arrays.
  virtual Expected<void> copy(int part, int piece, void* to, const void* from, std::size_t bytes,
                              bool writes) noexcept = 0;
};

/// Memory of the engine of a GPU.
Footprint placed_gpu_footprint(const PlacedPlan& plan, int device) noexcept;
/// Takes the memory, and starts the network. `plan` must outlive the result. Errors: those of
/// PlacedCorticalNetwork::create for engines.
Expected<std::unique_ptr<PlacedGpus>> make_placed_gpus(const PlacedPlan& plan,
                                                       std::span<const PlacedDevice> devices,
                                                       std::span<Engine* const> engines) noexcept;

/// Adds the name of the device to an error.
Error on_device(const PlacedDevice& device, const Error& error) noexcept;

}  // namespace ocellus::detail
