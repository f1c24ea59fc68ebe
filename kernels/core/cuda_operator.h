// CudaOperator: what operators share on CUDA - frames in flight, staging, graphs, time.
//
// A frame's way: submit copies it into pinned memory, unless it is there or on the device already,
// and queues three things: its upload, the operator's graph, and the download of the results. Each
// has a stream of its own, so that one frame computes while the next one comes and the one before
// goes. What the kernels must know of a frame stands in a small block of device memory
// (FrameParams), so the graph is the same for all frames of a slot. Where the temporal state stands
// is known to the device only (TemporalState): a frame with bad pixels, which only the device sees,
// must leave no trace in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/engine_state.h"
#include "core/frame_history.h"
#include "core/layout_builder.h"
#include "core/operator_instance.h"
#include "kernels/core/cuda_device.h"
#include "kernels/core/frame_params.h"
#include "kernels/core/host_copy_pool.h"

namespace ocellus::cuda {

using detail::EngineState;
using detail::FrameHistory;
using detail::FrameResult;
using detail::LayoutBuilder;
using detail::OperatorInstance;

/// Blocks of a grid along one axis.
constexpr unsigned block_count(int size, int per_block) {
  return static_cast<unsigned>((size + per_block - 1) / per_block);
}

class CudaOperator : public OperatorInstance {
 public:
  ~CudaOperator() override;

  const char* backend() const noexcept final { return "cuda"; }
  bool takes_device_memory() const noexcept final { return true; }
  Footprint footprint() noexcept final;
  Expected<void> start(EngineState& engine) noexcept final;
  Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept final;
  Expected<void> wait(int slot, Deadline deadline, FrameResult& result) noexcept final;
  void cancel(int slot) noexcept final;
  void reset() noexcept final;

 protected:
  explicit CudaOperator(const OperatorInfo& info) noexcept;

  /// Places all device arrays; called once with a counting builder and once with the memory.
  virtual void layout(LayoutBuilder& device) noexcept = 0;
  /// After `layout` with memory: loads the kernels, asks for shared memory.
  virtual Expected<void> prepare(Scope& cuda) noexcept = 0;
  /// Launches the kernels of a frame, to be captured. The image is ready in params(slot), and the
  /// last kernel must call finish_frame() of frame_params.h.
  virtual Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept = 0;
  /// The frame is done, and `record` what its kernels wrote, if the operator has one. May change
  /// it; the flags say whether the frame was bad. Frames come in order. Short: `submit` may be
  /// waiting.
  virtual void complete(const FrameResult& /*result*/, void* /*record*/) noexcept {}

  /// Launches a kernel with one argument, plain data. With `overlap` it may begin before the kernel
  /// in front of it has ended, which it must then wait for itself (compute capability 9.0 and
  /// later; without effect before).
  template <typename Argument>
  Expected<void> launch(Scope& cuda, cudaStream_t stream, void (*kernel)(Argument), dim3 grid,
                        dim3 block, std::size_t shared_bytes, const Argument& argument,
                        bool overlap = false) noexcept {
    return launch_kernel(cuda, stream, reinterpret_cast<const void*>(kernel), grid, block,
                         shared_bytes, argument,
                         overlap ? LaunchOrder::kOverlapping : LaunchOrder::kAfter);
  }
  /// Launches a kernel whose blocks wait for each other, so that all of them run at once or none:
  /// no more than the device has room for.
  template <typename Argument>
  Expected<void> launch_together(Scope& cuda, cudaStream_t stream, void (*kernel)(Argument),
                                 dim3 grid, dim3 block, std::size_t shared_bytes,
                                 const Argument& argument) noexcept {
    return launch_kernel(cuda, stream, reinterpret_cast<const void*>(kernel), grid, block,
                         shared_bytes, argument, LaunchOrder::kTogether);
  }
  /// Allows a kernel that much shared memory, and loads its code.
  template <typename Argument>
  Expected<void> load_kernel(Scope& cuda, void (*kernel)(Argument),
                             std::size_t shared_bytes) noexcept {
    return load_kernel_code(cuda, reinterpret_cast<const void*>(kernel), shared_bytes);
  }

  /// How many of its blocks a multiprocessor has room for at once, of those that `load_kernel` has
  /// seen.
  template <typename Argument>
  Expected<int> resident_blocks(Scope& cuda, void (*kernel)(Argument), int threads,
                                std::size_t shared_bytes) noexcept {
    int blocks = 0;
    const Expected<void> asked = cuda(kCudaCalls.blocks_per_multiprocessor, &blocks,
                                      reinterpret_cast<const void*>(kernel), threads, shared_bytes);
    if (!asked) return tl::unexpected(asked.error());
    return blocks;
  }
  /// To the device, and `from` may go afterwards; for `prepare`.
  Expected<void> upload(Scope& cuda, void* to, const void* from, std::size_t bytes) noexcept;

  /// Where frames are floats, the kernel that looks for bad pixels: to be loaded, and to be
  /// launched before those that change the temporal state. Kernels of integer frames need none.
  Expected<void> load_check_kernel(Scope& cuda) noexcept;
  Expected<void> launch_check(Scope& cuda, int slot, cudaStream_t stream) noexcept;

  const FrameParams* params(int slot) const noexcept { return params_ + slot; }
  TemporalState* state() const noexcept { return state_; }
  /// Where the kernels tell the host how frame `slot` went; pinned.
  FrameOutcome* outcome(int slot) const noexcept { return outcomes_ + slot; }
  /// Where the kernels write the record of frame `slot`, which the host has cleared; pinned.
  void* record_of(int slot) const noexcept { return slots_[static_cast<std::size_t>(slot)].record; }
  CudaDevice& device() noexcept { return *device_; }
  const DeviceTraits& device_traits() const noexcept { return device_->traits(); }
  /// For `prepare`; gone afterwards.
  cudaStream_t creation_stream() const noexcept { return creating_; }
  OperatorInfo info_;

 private:
  /// Rows of a result that leave the device together, for ordinary memory.
  struct Chunk {
    cudaEvent_t arrived = nullptr;  // in pinned memory
    RowBlock block;                 // from there on
  };

  struct Slot {
    // Staging in pinned memory and the arrays that the device works on.
    char* host_in = nullptr;
    char* host_out = nullptr;
    FrameParams* host_params = nullptr;
    void* record = nullptr;
    char* device_in = nullptr;
    char* device_out = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaEvent_t arrived = nullptr;   // the caller's stream has written the frame
    cudaEvent_t begun = nullptr;     // before the upload
    cudaEvent_t uploaded = nullptr;  // ready to compute
    cudaEvent_t started = nullptr;   // the streams has come to this frame
    cudaEvent_t computed = nullptr;
    cudaEvent_t done = nullptr;

    // Something of its frame may run: its last event has not been waited for, whether its result
    // has been counted in the history or not.
    bool busy = false;
    // What failed once the kernels were queued, as `wait` says it; the events behind them may not
    // be recorded.
    Error failure;

    FrameParams last_params;  // on the device
    bool params_known = false;
    Frame in;
    OperatorOutput out;
    MemorySpace out_space = MemorySpace::kHost;
    bool uploading = false;
    bool downloading = false;
    std::array<Chunk, HostCopyPool::kMaxBlocks> chunks;
    int chunk_count = 0;
    int copied = 0;               // chunks
    int copied_rows = 0;          // of the next one
    std::int64_t copy_in_ns = 0;  // by the host, into pinned memory
    std::int64_t queued_ns = 0;   // when the device got the frame
    std::int64_t copy_out_begun_ns = 0;
    std::int64_t copy_out_ended_ns = 0;
    bool settled = false;  // counted in the history, and `result` is filled in
    FrameResult result;
  };

  /// A plane of a result, in pinned staging and on the device alike.
  struct StagedPlane {
    std::size_t offset = 0;  ///< bytes from the first plane
    std::size_t row_bytes = 0;
    std::size_t stride = 0;  ///< bytes
    int rows = 0;
  };

  const char* name() const noexcept { return info_.name; }
  int planes() const noexcept { return info_.plane_count; }
  std::size_t in_row_bytes() const noexcept {
    return static_cast<std::size_t>(info_.size.width) *
           static_cast<std::size_t>(bytes_per_pixel(info_.format));
  }
  const StagedPlane& staged(int plane) const noexcept {
    return staged_[static_cast<std::size_t>(plane)];
  }
  char* plane_of(char* planes, int plane) const noexcept { return planes + staged(plane).offset; }
  std::size_t pinned_bytes() noexcept;
  std::size_t device_bytes() noexcept;
  /// All of creation that needs the stream for it; `bytes` of device memory.
  Expected<void> build(Scope& cuda, std::size_t bytes) noexcept;
  Expected<void> synchronize(Scope& cuda) noexcept;
  void place_pinned(LayoutBuilder& builder) noexcept;
  void place_device(LayoutBuilder& builder) noexcept;
  Expected<void> make_slot(Scope& cuda, int index) noexcept;
  Expected<void> warm_up(Scope& cuda) noexcept;
  /// Has the compute stream wait for what the caller's stream has.
  Expected<void> await(Scope& cuda, const Slot& slot, StreamHandle stream) noexcept;
  /// A frame up to its kernels. After a failure nothing of it runs, and it leaves no trace.
  Expected<void> queue(Scope& cuda, Slot& slot) noexcept;
  Expected<void> queue_upload(Scope& cuda, Slot& slot, const FrameParams& params,
                              bool new_params) noexcept;
  /// What follows the kernels. After a failure, which the slot keeps, the frame runs, and counts.
  Expected<void> queue_result(Scope& cuda, Slot& slot) noexcept;
  Expected<void> queue_download(Scope& cuda, Slot& slot) noexcept;
  Expected<void> queue_chunks(Scope& cuda, Slot& slot) noexcept;
  /// `helping`: takes part in the pool's copying meanwhile.
  Status wait_event(Scope& cuda, cudaEvent_t event, Deadline deadline, Error& error,
                    bool helping = false) noexcept;
  /// Counts finished frames in the history, oldest first, up to `slot`.
  void settle(Slot& slot) noexcept;
  Expected<void> forget_on_device(Scope& cuda) noexcept;
  cudaEvent_t last_event(const Slot& slot) const noexcept {
    return slot.downloading ? slot.done : slot.computed;
  }
  Expected<void> measure(Scope& cuda, const Slot& slot, FrameResult& result) noexcept;
  void copy_in(Slot& slot) noexcept;
  /// Copies the chunks of a result to the user's planes as they come.
  Status copy_out(Scope& cuda, Slot& slot, Deadline deadline, Error& error) noexcept;

  enum class LaunchOrder : unsigned char { kAfter, kOverlapping, kTogether };

  template <typename Argument>
  Expected<void> launch_kernel(Scope& cuda, cudaStream_t stream, const void* kernel, dim3 grid,
                               dim3 block, std::size_t shared_bytes, const Argument& argument,
                               LaunchOrder order) noexcept {
    Argument copy = argument;
    void* arguments[] = {&copy};
    return launch_kernel(cuda, stream, kernel, grid, block, shared_bytes, arguments, order);
  }
  Expected<void> launch_kernel(Scope& cuda, cudaStream_t stream, const void* kernel, dim3 grid,
                               dim3 block, std::size_t shared_bytes, void** arguments,
                               LaunchOrder order) noexcept;
  Expected<void> load_kernel_code(Scope& cuda, const void* kernel,
                                  std::size_t shared_bytes) noexcept;

  // `wait` may run beside `submit`: this guards the history and the order.
  std::mutex mutex_;
  FrameHistory history_;
  CudaDevice* device_ = nullptr;
  int stream_set_ = -1;
  /// While the operator is made: what is captured or synchronized in a stream of its own meets no
  /// frame of the operators that share the streams.
  cudaStream_t creating_ = nullptr;
  void* device_piece_ = nullptr;
  void* pinned_piece_ = nullptr;
  FrameParams* params_ = nullptr;  // device, one a slot
  TemporalState* state_ = nullptr;
  FrameOutcome* outcomes_ = nullptr;
  std::size_t in_stride_ = 0;     // bytes
  std::size_t staged_bytes_ = 0;  // of all planes
  std::array<StagedPlane, kMaxOutputPlanes> staged_{};
  int chunks_per_plane_ = 1;
  std::array<Slot, kMaxDepth> slots_;
  std::array<int, kMaxDepth> order_{};  // slots in flight, oldest first
  int in_flight_ = 0;
  bool state_stands_ = true;  // false: the device has yet to be told to forget
  bool forgetting_ = false;   // it may still be at that
};

}  // namespace ocellus::cuda
