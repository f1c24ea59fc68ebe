// PlacedGpus: the parts of a placed cortical network on CUDA devices, without CUDA types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cortical_network/placed_plan.h"
#include "ocellus/engine.h"
#include "ocellus/memory.h"

namespace ocellus::detail {

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
  /// Queues the levels where parts meet, and waits. `winners`: of the whole network; those of the
  /// CPU's split part are complete. Sets those of the highest level below cpu_level.
  virtual Expected<void> finish(std::int32_t* winners) noexcept = 0;
  /// After a failure, and before other calls than the two above: waits for all work.
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
