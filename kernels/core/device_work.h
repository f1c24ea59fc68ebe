// DeviceWork: memory, a stream and events for kernels that are not those of an operator.
#pragma once

#include <array>
#include <cstddef>

#include "core/engine_state.h"
#include "kernels/core/cuda_device.h"
#include "kernels/core/frame_params.h"
#include "kernels/core/launch.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

/// Blocks of `each` items.
constexpr unsigned blocks_for(std::size_t items, int each) noexcept {
  return static_cast<unsigned>((items + static_cast<std::size_t>(each) - 1) /
                               static_cast<std::size_t>(each));
}

class DeviceWork {
 public:
  static constexpr std::size_t kEvents = 4;

  DeviceWork() noexcept = default;
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  /// Takes the memory from the engine's blocks. `who` appears in error texts and must have static
  /// storage. Errors: OutOfMemory.
  Expected<void> prepare(Engine& engine, const Footprint& bytes, const char* who) noexcept;
  /// Creates the events and clears the memory of the device.
  Expected<void> start(Scope& cuda) noexcept;

  CudaDevice& device() noexcept { return *device_; }
  void* device_memory() const noexcept { return device_piece_; }
  void* pinned_memory() const noexcept { return pinned_piece_; }

  /// Queues a copy.
  Expected<void> copy(Scope& cuda, void* to, const void* from, std::size_t bytes,
                      cudaMemcpyKind kind) noexcept;
  /// Copies and waits.
  Expected<void> upload(Scope& cuda, void* to, const void* from, std::size_t bytes) noexcept;
  Expected<void> download(Scope& cuda, void* to, const void* from, std::size_t bytes) noexcept;
  Expected<void> clear(Scope& cuda, void* memory, std::size_t bytes) noexcept;

  template <typename Argument>
  Expected<void> launch(Scope& cuda, Kernel<Argument> kernel, dim3 grid, dim3 block,
                        std::size_t shared_bytes, const Argument& argument,
                        LaunchOrder order = LaunchOrder::kAfter) noexcept {
    Argument copy = argument;
    void* arguments[] = {&copy};
    return launch_kernel(cuda, device_->traits(), stream(), reinterpret_cast<const void*>(kernel),
                         grid, block, shared_bytes, arguments, order);
  }

  /// Records what `launch` queues as a graph, for run_graph(). At most once.
  template <typename Launch>
  Expected<void> make_graph(Scope& cuda, const Launch& launch) noexcept {
    if (Expected<void> done = begin_graph(cuda); !done) return done;
    const Expected<void> launched = launch();
    // Must be called in any case; otherwise the stream remains in capture mode.
    const Expected<void> ended = end_graph(cuda);
    return launched ? ended : launched;
  }
  Expected<void> run_graph(Scope& cuda) noexcept;

  Expected<void> record(Scope& cuda, std::size_t event) noexcept;
  Expected<void> wait_for(Scope& cuda, std::size_t event) noexcept;
  /// Milliseconds between two events that have been waited for.
  Expected<double> elapsed(Scope& cuda, std::size_t from, std::size_t to) noexcept;

  /// Milliseconds of one of `repeats` launches, one after another, after one more.
  template <typename Launch>
  Expected<double> time(Scope& cuda, int repeats, const Launch& launch) noexcept {
    const auto queue = [&]() -> Expected<void> {
      if (Expected<void> done = launch(); !done) return done;
      if (Expected<void> done = record(cuda, 0); !done) return done;
      for (int i = 0; i < repeats; ++i)
        if (Expected<void> done = launch(); !done) return done;
      if (Expected<void> done = record(cuda, 1); !done) return done;
      return wait_for(cuda, 1);
    };
    if (Expected<void> done = finished(cuda, queue()); !done) return tl::unexpected(done.error());
    const Expected<double> ms = elapsed(cuda, 0, 1);
    if (!ms) return ms;
    return *ms / repeats;
  }

  /// Waits for all work if `done` is a failure: the caller may then reuse memory.
  Expected<void> finished(Scope& cuda, Expected<void> done) noexcept;

 private:
  Expected<void> begin_graph(Scope& cuda) noexcept;
  Expected<void> end_graph(Scope& cuda) noexcept;
  cudaStream_t stream() const noexcept { return device_->stream_set(stream_set_).compute; }

  detail::EngineRef engine_;
  CudaDevice* device_ = nullptr;
  const char* who_ = "";
  int stream_set_ = -1;
  void* device_piece_ = nullptr;
  void* pinned_piece_ = nullptr;
  std::size_t device_bytes_ = 0;
  std::array<cudaEvent_t, kEvents> events_{};
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace ocellus::cuda
