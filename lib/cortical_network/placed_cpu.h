// PlacedCpu: the parts of a placed cortical network on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/engine_state.h"
#include "cortical_network/cpu_levels.h"
#include "cortical_network/placed_plan.h"

namespace ocellus::detail {

/// Winners of the whole network; the same for all parts of the host.
struct PlacedWinners {
  std::int32_t* winners = nullptr;
  std::int64_t* responses = nullptr;
};

class PlacedCpu {
 public:
  PlacedCpu() noexcept = default;
  ~PlacedCpu();
  PlacedCpu(const PlacedCpu&) = delete;
  PlacedCpu& operator=(const PlacedCpu&) = delete;

  /// Of the engine's block.
  static std::size_t bytes(const PlacedPlan& plan, int device) noexcept;

  /// Takes the memory and starts the network. `scratch`: of the engine's workers. Errors:
  /// OutOfMemory.
  Expected<void> create(const PlacedPlan& plan, int device, const EngineRef& engine,
                        const PlacedWinners& winners, const WorkerScratch& scratch) noexcept;

  /// The split part: LGN cells, and its levels. Nothing if the CPU has no such part.
  void step_split(const std::uint8_t* image, std::ptrdiff_t stride, std::uint64_t step,
                  bool learns) noexcept;
  /// The levels from cpu_level on; the winners below are complete.
  void step_top(std::uint64_t step, bool learns) noexcept;

  /// Arrays of a part of the CPU.
  const HypercolumnArrays& arrays(const PlacedPlan& plan, int part) const noexcept {
    return part == plan.top_part ? top_.arrays : split_.arrays;
  }

 private:
  void run(std::span<const JobStep> steps) noexcept;

  EngineRef engine_;
  void* piece_ = nullptr;
  CpuLevels split_;
  CpuLevels top_;
};

}  // namespace ocellus::detail
