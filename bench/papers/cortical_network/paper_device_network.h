// PaperDeviceNetwork: the schedules of Nere, Franey, Hashmi and Lipasti (2012) for a cortical
// network on a CUDA device (sections 5 to 7), for comparing their speed and results with those of
// the library. Not part of the library: it is linked into the program for `ocellus bench` and into
// tests.
//
// As in the paper, a block computes a hypercolumn and a thread a minicolumn. Weights are striped:
// those of all minicolumns for an input are neighbors in memory.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/cortical_network/network_memory.h"
#include "bench/papers/cortical_network/paper_network_kernels.h"

namespace ocellus::paper {

enum class NetworkSchedule : std::uint8_t {
  kLevels,     ///< a launch for each level
  kPipelined,  ///< one launch computes all levels, each with the winners of the launch before
  kResident,   ///< pipeline-2: the same with as many blocks as can be resident
  kQueue,      ///< work queue: resident blocks, which wait for the hypercolumns below
};

/// Of the kernels of section 8. `sync` is that of kQueue, `memory` that of kQueue with kCounters
/// and of the pipelines.
struct PaperVariant {
  QueueSync sync = QueueSync::kFlags;
  ColumnMemory memory = ColumnMemory::kRegisters;
  /// Percent of the memory of a multiprocessor that is preferred as shared memory, and not as L1
  /// cache; -1: the driver chooses.
  int carveout = -1;
};

/// What a block takes (tables 1 and 3 of the paper).
struct KernelUse {
  int registers = 0;             ///< of a thread
  std::size_t shared_bytes = 0;  ///< of a block
  int threads = 0;               ///< of a block
  int blocks = 0;                ///< that a multiprocessor holds
};

class PaperDeviceNetwork {
 public:
  using Memory = cuda::NetworkMemory<PaperArguments>;

  /// Errors: those of NetworkMemory::footprint.
  static Expected<Footprint> footprint(const CorticalNetworkConfig& config) noexcept {
    return Memory::footprint(config);
  }
  /// `most_blocks`: limits the blocks of kResident and kQueue; 0: as many as can be resident. A
  /// larger number than that is permitted. Errors: those of NetworkMemory::create.
  static Expected<PaperDeviceNetwork> create(Engine& engine, const CorticalNetworkConfig& config,
                                             NetworkSchedule schedule, int most_blocks = 0,
                                             const PaperVariant& variant = {}) noexcept;

  /// As CorticalNetwork::step. The schedules kPipelined and kResident compute level l of the step
  /// that began l calls before; all steps in the pipeline learn if the last one does. Errors: those
  /// of CUDA.
  Expected<void> step(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept;
  /// Computes the levels of steps that have begun. Afterwards all levels are of the last step. Does
  /// nothing with kLevels and kQueue.
  Expected<void> finish() noexcept;
  /// Milliseconds of the last step without the copy of its image, by the device's clock. Errors:
  /// those of CUDA.
  Expected<double> last_ms() noexcept;

  /// step() with kLevels that waits after each level. `ms`: of each level, without the copy of the
  /// image.
  Expected<void> step_levels(const std::uint8_t* image, std::ptrdiff_t stride,
                             std::span<double> ms) noexcept;
  /// Milliseconds of empty kernels in place of those above the lowest level: what their launches
  /// take of a step with kLevels (figure 8). Errors: those of CUDA.
  Expected<double> launches_ms() noexcept;
  /// Of the kernel of the schedule. Errors: those of CUDA.
  Expected<KernelUse> kernel_use() noexcept;

  /// Winners of a level that the last launch computed, in the order of its hypercolumns. Errors:
  /// those of CUDA.
  Expected<void> read_winners(int level, std::span<std::int32_t> winners) noexcept;

  Memory& memory() noexcept { return *memory_; }
  int blocks() const noexcept { return blocks_; }

 private:
  PaperDeviceNetwork(std::unique_ptr<Memory> memory, NetworkSchedule schedule,
                     const PaperVariant& variant) noexcept
      : memory_(std::move(memory)), schedule_(schedule), variant_(variant) {}
  bool pipelined() const noexcept {
    return schedule_ == NetworkSchedule::kPipelined || schedule_ == NetworkSchedule::kResident;
  }
  const void* kernel() const noexcept;
  std::size_t shared_bytes() const noexcept;
  Expected<void> choose_blocks(int most_blocks) noexcept;
  Expected<void> launch_level(cuda::Scope& cuda, int level, bool empty = false) noexcept;
  Expected<void> launch_step(cuda::Scope& cuda, bool feeds) noexcept;
  Expected<void> launch_and_wait(bool feeds) noexcept;

  std::unique_ptr<Memory> memory_;
  NetworkSchedule schedule_;
  PaperVariant variant_;
  int blocks_ = 0;
  int threads_ = 0;
  std::uint64_t launches_ = 0;  ///< pipelined: in which levels have been computed
  std::uint64_t fed_ = 0;       ///< pipelined: steps that have begun
};

}  // namespace ocellus::paper
