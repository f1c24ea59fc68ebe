// DeviceNetwork: a CorticalNetwork on a CUDA device. A step is one graph.
#pragma once

#include <memory>

#include "bench/cortical_network/network_memory.h"

namespace ocellus::cuda {

class DeviceNetwork {
 public:
  using Memory = NetworkMemory<NetworkArguments>;

  /// The memory that an engine needs. Errors: those of NetworkMemory::footprint.
  static Expected<Footprint> footprint(const CorticalNetworkConfig& config) noexcept {
    return Memory::footprint(config);
  }
  /// Takes all memory, and records the graph. No other thread may use the engine meanwhile. Errors:
  /// those of NetworkMemory::create.
  static Expected<DeviceNetwork> create(Engine& engine,
                                        const CorticalNetworkConfig& config) noexcept;

  /// As CorticalNetwork::step. Waits until the step is done. Errors: those of CUDA.
  Expected<void> step(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept;
  /// A step that learns and counts the bytes that it touches, slower than step(). Errors:
  /// Unsupported (a level has more than 256 inputs or rows of more than 4 words), those of CUDA.
  Expected<StepBytes> count_step(const std::uint8_t* image, std::ptrdiff_t stride) noexcept;
  /// Milliseconds of the last step without the copy of its image, by the device's clock. Errors:
  /// those of CUDA.
  Expected<double> last_ms() noexcept;

  /// Winners of a level in the last step, in the order of its hypercolumns. Errors: those of CUDA.
  Expected<void> read_winners(int level, std::span<std::int32_t> winners) noexcept {
    return memory_->read_level(level, memory_->arguments().winners, winners);
  }

  Memory& memory() noexcept { return *memory_; }

 private:
  explicit DeviceNetwork(std::unique_ptr<Memory> memory) noexcept : memory_(std::move(memory)) {}

  std::unique_ptr<Memory> memory_;
};

}  // namespace ocellus::cuda
