// DeviceWork: memory, streams and events for kernels that are not those of an operator.
#pragma once

#include <array>
#include <cstddef>

#include "core/engine_state.h"
#include "core/failure.h"
#include "core/layout_builder.h"
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

/// A recorded sequence of kernels. DeviceWork::release() destroys it.
struct WorkGraph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
};

/// Streams of a DeviceWork. Kernels run in kCompute.
enum class WorkStream : unsigned char { kCompute, kUpload, kDownload };

class DeviceWork {
 public:
  static constexpr std::size_t kEvents = 9;

  DeviceWork() noexcept = default;
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  /// The memory of the arrays that layout(device, pinned) takes from two LayoutBuilders.
  template <typename Layout>
  static Footprint footprint_of(const Layout& layout) noexcept {
    detail::LayoutBuilder device(nullptr, kDeviceAlignment);
    detail::LayoutBuilder pinned(nullptr, kDeviceAlignment);
    layout(device, pinned);
    Footprint bytes;
    bytes.device = device.bytes();
    bytes.pinned = pinned.bytes();
    return bytes;
  }

  /// Takes the memory from the engine's blocks. `who` appears in error texts and must have static
  /// storage. Errors: Unsupported (the engine has no CUDA device), OutOfMemory.
  Expected<void> prepare(Engine& engine, const Footprint& bytes, const char* who) noexcept;
  /// Takes that of a layout, and places the arrays.
  template <typename Layout>
  Expected<void> prepare_layout(Engine& engine, const Layout& layout, const char* who) noexcept {
    OCELLUS_TRY(prepare(engine, footprint_of(layout), who));
    detail::LayoutBuilder device(device_piece_, kDeviceAlignment);
    detail::LayoutBuilder pinned(pinned_piece_, kDeviceAlignment);
    layout(device, pinned);
    return {};
  }
  /// Creates the events and clears the memory of the device.
  Expected<void> start(Scope& cuda) noexcept;

  CudaDevice& device() noexcept { return *device_; }
  void* device_memory() const noexcept { return device_piece_; }
  void* pinned_memory() const noexcept { return pinned_piece_; }

  /// Queues a copy.
  Expected<void> copy(Scope& cuda, void* to, const void* from, std::size_t bytes,
                      cudaMemcpyKind kind, WorkStream in = WorkStream::kCompute) noexcept;
  /// Queues a copy of rows. A pitch is the bytes from a row to the next one.
  Expected<void> copy_rows(Scope& cuda, void* to, std::size_t to_pitch, const void* from,
                           std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                           cudaMemcpyKind kind, WorkStream in = WorkStream::kCompute) noexcept;
  /// Queues a copy to memory of another device, whose access has been enabled.
  Expected<void> copy_to_peer(Scope& cuda, DeviceWork& peer, void* to, const void* from,
                              std::size_t bytes) noexcept;
  /// Copies and waits.
  Expected<void> upload(Scope& cuda, void* to, const void* from, std::size_t bytes) noexcept;
  Expected<void> download(Scope& cuda, void* to, const void* from, std::size_t bytes) noexcept;
  Expected<void> clear(Scope& cuda, void* memory, std::size_t bytes) noexcept;

  template <typename Argument>
  Expected<void> launch(Scope& cuda, Kernel<Argument> kernel, dim3 grid, dim3 block,
                        std::size_t shared_bytes, const Argument& argument,
                        LaunchOrder order = LaunchOrder::kAfter) noexcept {
    return launch_kernel(cuda, stream(), kernel, grid, block, shared_bytes, argument, order);
  }

  /// Records what `launch` queues as a graph, for run_graph(). At most once for each graph.
  template <typename Launch>
  Expected<void> make_graph(Scope& cuda, WorkGraph& graph, const Launch& launch) noexcept {
    OCELLUS_TRY(begin_graph(cuda));
    const Expected<void> launched = launch();
    // Must be called in any case; otherwise the stream remains in capture mode.
    const Expected<void> ended = end_graph(cuda, graph);
    return launched ? ended : launched;
  }
  Expected<void> run_graph(Scope& cuda, const WorkGraph& graph) noexcept;
  static void release(Scope& cuda, WorkGraph& graph) noexcept;
  /// The same with a graph that the object owns.
  template <typename Launch>
  Expected<void> make_graph(Scope& cuda, const Launch& launch) noexcept {
    return make_graph(cuda, graph_, launch);
  }
  Expected<void> run_graph(Scope& cuda) noexcept { return run_graph(cuda, graph_); }

  Expected<void> record(Scope& cuda, std::size_t event,
                        WorkStream in = WorkStream::kCompute) noexcept;
  /// The host waits.
  Expected<void> wait_for(Scope& cuda, std::size_t event) noexcept;
  /// The stream waits for an event of `other`, which may be on another device.
  Expected<void> let_wait(Scope& cuda, WorkStream in, const DeviceWork& other,
                          std::size_t event) noexcept;
  /// Milliseconds between two events that have been waited for.
  Expected<double> elapsed(Scope& cuda, std::size_t from, std::size_t to) noexcept;

  /// Milliseconds of one of `repeats` launches, one after another, after one more. Errors:
  /// InvalidArgument (repeats), those of CUDA.
  template <typename Launch>
  Expected<double> time(Scope& cuda, int repeats, const Launch& launch) noexcept {
    if (repeats < 1)
      return detail::invalid_argument("%s: there are %d repeats; there must be 1 or more", who_,
                                      repeats);
    const auto queue = [&]() -> Expected<void> {
      OCELLUS_TRY(launch());
      OCELLUS_TRY(record(cuda, 0));
      for (int i = 0; i < repeats; ++i) OCELLUS_TRY(launch());
      OCELLUS_TRY(record(cuda, 1));
      return wait_for(cuda, 1);
    };
    OCELLUS_TRY(finished(cuda, queue()));
    OCELLUS_TRY_ASSIGN(ms, elapsed(cuda, 0, 1));
    return *ms / repeats;
  }

  /// Waits for all work. Errors: DeviceLost.
  Expected<void> settle(Scope& cuda) noexcept;
  /// Waits for all work if `done` is a failure: the caller may then reuse memory.
  Expected<void> finished(Scope& cuda, Expected<void> done) noexcept;

 private:
  Expected<void> begin_graph(Scope& cuda) noexcept;
  Expected<void> end_graph(Scope& cuda, WorkGraph& graph) noexcept;
  void finish(Scope& cuda) noexcept;
  cudaStream_t stream() const noexcept { return device_->stream_set(stream_set_).compute; }
  cudaStream_t stream(WorkStream which) noexcept;

  detail::EngineRef engine_;
  CudaDevice* device_ = nullptr;
  const char* who_ = "";
  int stream_set_ = -1;
  void* device_piece_ = nullptr;
  void* pinned_piece_ = nullptr;
  std::size_t device_bytes_ = 0;
  std::array<cudaEvent_t, kEvents> events_{};
  WorkGraph graph_;
  bool copies_ = false;  ///< the streams for copies have been used
};

}  // namespace ocellus::cuda
