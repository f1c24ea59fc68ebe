// DeviceNetwork: a CorticalNetwork on a CUDA device. A step is one graph: levels with many
// hypercolumns are a launch each, and one block computes the levels above them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/layout_builder.h"
#include "kernels/core/device_work.h"
#include "kernels/cortex/network.h"
#include "ocellus/cortical_network.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

/// What a device keeps besides the arrays of a step.
struct NetworkOptions {
  bool responses = false;  ///< keep g of all minicolumns
};

/// The arrays of a network on a device, for all schedules.
class NetworkMemory {
 public:
  /// Errors: InvalidArgument (the configuration).
  static Expected<Footprint> footprint(const CorticalNetworkConfig& config,
                                       const NetworkOptions& options) noexcept;

  /// Takes the memory and starts the network. `who` appears in error texts and must have static
  /// storage. Errors: InvalidArgument, OutOfMemory, Unsupported (the engine has no CUDA device),
  /// those of CUDA.
  Expected<void> start(Engine& engine, const CorticalNetworkConfig& config,
                       const NetworkOptions& options, const char* who) noexcept;

  /// Copies the image, which the next step reads.
  Expected<void> write_image(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept;

  /// Winners of a level, in the order of its hypercolumns. `half`: of the winners.
  Expected<void> read_winners(int level, int half, std::span<std::int32_t> winners) noexcept;
  /// Weights of a hypercolumn: [input][padded minicolumn].
  Expected<void> read_weights(int level, int hypercolumn,
                              std::span<std::uint16_t> weights) noexcept;
  /// Omega and wins of a hypercolumn, for each padded minicolumn.
  Expected<void> read_minicolumns(int level, int hypercolumn, std::span<std::int32_t> omega,
                                  std::span<std::uint8_t> wins) noexcept;
  /// g; needs NetworkOptions::responses.
  Expected<void> read_responses(int level, int hypercolumn,
                                std::span<std::int64_t> responses) noexcept;

  DeviceWork& work() noexcept { return work_; }
  const NetworkArguments& arguments() const noexcept { return arguments_; }
  const detail::Hierarchy& hierarchy() const noexcept { return plan_.hierarchy; }
  const char* who() const noexcept { return who_; }

 private:
  void layout(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned,
              const NetworkOptions& options) noexcept;
  void set_arguments() noexcept;
  Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept;

  detail::NetworkPlan plan_;
  DeviceWork work_;
  NetworkArguments arguments_{};
  std::uint8_t* image_ = nullptr;
  std::uint8_t* pinned_image_ = nullptr;
  NetworkStep* pinned_step_ = nullptr;
  const char* who_ = "";
};

class DeviceNetwork {
 public:
  /// The memory that an engine needs. Errors: InvalidArgument.
  static Expected<Footprint> footprint(const CorticalNetworkConfig& config,
                                       const NetworkOptions& options = {}) noexcept {
    return NetworkMemory::footprint(config, options);
  }
  /// Takes all memory, and records the graph. Errors: those of NetworkMemory::start.
  static Expected<DeviceNetwork> create(Engine& engine, const CorticalNetworkConfig& config,
                                        const NetworkOptions& options = {}) noexcept;

  /// As CorticalNetwork::step. Waits until the step is done. Errors: those of CUDA.
  Expected<void> step(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept;
  /// Milliseconds of one of `repeats` steps with the image of the last one, by the device's clock.
  Expected<double> step_ms(int repeats) noexcept;

  NetworkMemory& memory() noexcept { return *memory_; }

 private:
  explicit DeviceNetwork(std::unique_ptr<NetworkMemory> memory) noexcept
      : memory_(std::move(memory)) {}
  Expected<void> launch_step(Scope& cuda) noexcept;

  std::unique_ptr<NetworkMemory> memory_;
};

}  // namespace ocellus::cuda
