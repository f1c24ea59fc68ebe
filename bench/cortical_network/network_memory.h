// NetworkMemory: the arrays of a cortical network on a device, for all schedules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "core/failure.h"
#include "kernels/core/device_work.h"
#include "kernels/cortical_network/network.h"
#include "ocellus/cortical_network.h"

namespace ocellus::cuda {

/// For schedules without feedback. Errors: Unsupported.
Expected<void> check_no_feedback(const CorticalNetworkConfig& config, const char* who) noexcept;

/// What does not depend on the schedule.
class NetworkHost {
 public:
  /// Copies the image and the number of the next step. Errors: those of CUDA.
  Expected<void> write_image(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept;
  /// The part of a level of `winners`, which has an element for each hypercolumn of all levels.
  Expected<void> read_level(int level, const std::int32_t* winners,
                            std::span<std::int32_t> to) noexcept;
  /// Copies from the device and waits.
  Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept;

  DeviceWork& work() noexcept { return work_; }
  const detail::NetworkPlan& plan() const noexcept { return plan_; }

 protected:
  /// `base`: of the derived object.
  explicit NetworkHost(const NetworkBase& base) noexcept : base_(base) {}
  void layout_pinned(detail::LayoutBuilder& pinned) noexcept;
  /// Takes the memory. Errors: Unsupported, OutOfMemory.
  Expected<void> prepare(Engine& engine, const Footprint& bytes, const char* who) noexcept;

  detail::NetworkPlan plan_;

 private:
  const NetworkBase& base_;
  DeviceWork work_;
  std::uint8_t* pinned_image_ = nullptr;
  NetworkStep* pinned_step_ = nullptr;
  std::uint64_t steps_ = 0;  ///< in which the network has learned
  const char* who_ = "";
};

/// `Arguments` is a NetworkBase with the arrays of a schedule. Its function layout() places all
/// arrays.
template <typename Arguments>
class NetworkMemory : public NetworkHost {
 public:
  /// The memory that an engine needs. Errors: InvalidArgument (the configuration), OutOfMemory.
  static Expected<Footprint> footprint(const CorticalNetworkConfig& config) noexcept {
    const std::unique_ptr<NetworkMemory> memory(new (std::nothrow) NetworkMemory);
    if (memory == nullptr) return detail::no_memory_for_operator();
    OCELLUS_TRY(detail::make_network_plan(config, memory->plan_));
    return memory->bytes();
  }

  /// Takes the memory and starts the network with `kernel`. `who` appears in error texts and must
  /// have static storage. Errors: InvalidArgument (the configuration), OutOfMemory, Unsupported
  /// (the engine has no CUDA device), those of CUDA.
  static Expected<std::unique_ptr<NetworkMemory>> create(Engine& engine,
                                                         const CorticalNetworkConfig& config,
                                                         Kernel<Arguments> kernel,
                                                         const char* who) noexcept {
    std::unique_ptr<NetworkMemory> memory(new (std::nothrow) NetworkMemory);
    if (memory == nullptr) return detail::no_memory_for_operator();
    OCELLUS_TRY(detail::make_network_plan(config, memory->plan_));
    OCELLUS_TRY(memory->prepare(engine, memory->bytes(), who));
    detail::LayoutBuilder device(memory->work().device_memory(), kDeviceAlignment);
    detail::LayoutBuilder pinned(memory->work().pinned_memory(), kDeviceAlignment);
    memory->place(device, pinned);
    memory->arguments_.describe(memory->plan_);
    Scope cuda(memory->work().device(), Phase::kCreating, who);
    OCELLUS_TRY(memory->work().start(cuda));
    OCELLUS_TRY(memory->work().launch(cuda, kernel,
                                      dim3(static_cast<unsigned>(memory->arguments_.hypercolumns)),
                                      dim3(kNetworkThreads), 0, memory->arguments_));
    return memory;
  }

  const Arguments& arguments() const noexcept { return arguments_; }

 private:
  NetworkMemory() noexcept : NetworkHost(arguments_) {}

  void place(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned) noexcept {
    layout_pinned(pinned);
    arguments_.layout(plan_, device);
  }
  Footprint bytes() noexcept {
    return DeviceWork::footprint_of([this](auto& device, auto& pinned) { place(device, pinned); });
  }

  Arguments arguments_{};
};

}  // namespace ocellus::cuda
