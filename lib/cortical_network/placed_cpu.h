// PlacedCpu: the parts of a placed cortical network on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/engine_state.h"
#include "core/scheduler.h"
#include "cortical_network/network_work.h"
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
  const PieceArrays& arrays(int part) const noexcept {
    return part == top_.part ? top_.pieces : split_.pieces;
  }

 private:
  struct CpuPart;
  struct LevelJob {
    PlacedCpu* cpu = nullptr;
    CpuPart* part = nullptr;
    int level = 0;
  };
  struct CpuPart {
    int part = PlacedPlan::kNone;
    const NetworkPiece* piece = nullptr;
    PieceArrays pieces;
    NetworkPlan plan;  ///< with the places of the piece
    NetworkArrays arrays;
    std::array<LevelJob, kMaxCorticalLevels> jobs{};
    std::array<JobStep, kMaxCorticalLevels> steps{};
    int step_count = 0;
  };

  void prepare(const PlacedPlan& plan, int number, CpuPart& part,
               const PlacedWinners& winners) noexcept;
  void run(const JobStep* steps, int count) noexcept;

  static void cells_part(void* context, int part, int worker) noexcept;
  static void step_part(void* context, int part, int worker) noexcept;

  EngineRef engine_;
  void* piece_ = nullptr;
  CpuPart split_;
  CpuPart top_;
  std::uint8_t* cells_ = nullptr;
  PixelParts pixels_;
  WorkerScratch scratch_;
  // The step in progress.
  const std::uint8_t* image_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  std::uint64_t step_ = 0;
  bool learns_ = false;
  bool starts_ = false;  ///< random weights in place of a step
};

/// The pixels that a piece with the lowest level reads.
PixelRange pixels_of(const NetworkPlan& plan, const NetworkPiece& piece) noexcept;

}  // namespace ocellus::detail
