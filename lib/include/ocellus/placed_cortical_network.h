// A cortical network on several devices: CUDA devices and the CPU compute the parts that a
// placement gives them (ocellus/cortical_placement.h).
//
// Winners and weights are those of CorticalNetwork, for any placement: random numbers depend on the
// number of a hypercolumn in the whole network.
//
// A step sends the pixels of each part to its device, and computes the split levels on all devices
// at once. The winners of the highest split level go to the GPU where the parts meet, from device
// to device where the devices can, otherwise through pinned memory. Its winners go to the host, and
// the CPU computes the levels that are left.
//
// With PlacedSchedule::kPipelined, the parts work at different images (section 7.3 of the paper):
// the devices compute the split levels of an image while the levels above compute the one before.
//
// Where the placement streams, the host keeps the subtrees in pinned memory. They pass through two
// buffers of the GPU: while a turn is computed, the last one is written back and the next one is
// loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ocellus/cortical_network.h"
#include "ocellus/cortical_placement.h"
#include "ocellus/engine.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

enum class PlacedSchedule : std::uint8_t {
  kInOrder,    ///< a step computes all levels of its image
  kPipelined,  ///< the levels above the split ones are those of the image of the step before
};

/// The state of a network. Not for several threads at once. In a child process that fork() made, it
/// can only be destroyed: `step`, `save_file`, `read_winners` and `read_weights` return
/// Unsupported.
///
/// After an error of `step` the devices may have learned different steps. Every later `step` and
/// `save_file` returns this error; create the network again, or load it.
class PlacedCorticalNetwork {
 public:
  /// The memory that the engine of a device of the placement needs. Errors: those of `create` for
  /// network and placement; InvalidArgument (there is no such device).
  static Expected<Footprint> footprint(const CorticalNetworkConfig& config,
                                       const CorticalPlacement& placement, int device) noexcept;

  /// With `load_file`, the only call that takes memory. `engines`: one for each device of the
  /// placement, in its order; null for a device that computes nothing. Two engines may be on one
  /// CUDA device. The workers of the CPU's engine compute its part; `config.workers` has no
  /// effect. No other thread may use the engines meanwhile. Errors: those of
  /// CorticalNetwork::create; InvalidArgument (the placement is of another network; an engine is
  /// missing, or of another kind than the device: the text names both), Unsupported (feedback),
  /// OutOfMemory (the text names the device), DeviceLost.
  static Expected<PlacedCorticalNetwork> create(
      const CorticalNetworkConfig& config, const CorticalPlacement& placement,
      std::span<Engine* const> engines,
      PlacedSchedule schedule = PlacedSchedule::kInOrder) noexcept;

  /// Reads a network that `save_file` of this class or of CorticalNetwork has written, and
  /// continues where it was. Errors: those of `create` and of CorticalNetwork::load_file.
  static Expected<PlacedCorticalNetwork> load_file(
      const char* path, const CorticalPlacement& placement, std::span<Engine* const> engines,
      PlacedSchedule schedule = PlacedSchedule::kInOrder) noexcept;

  /// As CorticalNetwork::save_file; CorticalNetwork can read the file. Errors: those of
  /// CorticalNetwork::save_file, DeviceLost, System.
  Expected<void> save_file(const char* path) noexcept;

  PlacedCorticalNetwork(PlacedCorticalNetwork&& other) noexcept;
  PlacedCorticalNetwork& operator=(PlacedCorticalNetwork&& other) noexcept;
  ~PlacedCorticalNetwork();

  /// As CorticalNetwork::step. Waits for the winners of the highest level; with kPipelined, for
  /// those of the step before. An image in memory of kind kPinned is not copied by the host, and
  /// with kPipelined it must not change before the next call of `step` or `finish` has returned;
  /// kCuda is not allowed. Errors: InvalidArgument, DeviceLost, System.
  Expected<void> step(const std::uint8_t* image, std::ptrdiff_t stride, bool learn,
                      MemorySpace space = MemorySpace::kHost) noexcept;

  /// Computes what is left of the last step, so that all levels are of its image. With kPipelined,
  /// `save_file`, `read_winners` and `read_weights` do so first. Errors: DeviceLost, System.
  Expected<void> finish() noexcept;

  const CorticalNetworkConfig& config() const noexcept;
  int levels() const noexcept;
  ImageSize grid(int level) const noexcept;
  int inputs(int level) const noexcept;
  int minicolumns(int level) const noexcept;
  std::uint64_t steps() const noexcept;  ///< in which the network has learned

  /// Winners of the highest level in the last step that it has computed, or kSilent.
  std::span<const std::int32_t> winners() const noexcept;
  /// Copies the winners of a level, one for each hypercolumn. Errors: DeviceLost, System.
  Expected<void> read_winners(int level, std::span<std::int32_t> winners) noexcept;
  /// Copies the weights of a hypercolumn, [minicolumn][input], in units of 2^-15. Errors:
  /// DeviceLost, System.
  Expected<void> read_weights(int level, int hypercolumn,
                              std::span<std::uint16_t> weights) noexcept;

 private:
  struct [[gnu::visibility("hidden")]] State;
  explicit PlacedCorticalNetwork(State* state) noexcept : state_(state) {}
  State* state_ = nullptr;
};

}  // namespace ocellus

#pragma GCC visibility pop
