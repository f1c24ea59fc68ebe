// CudaOperator: the base class of CUDA instances: frames in flight, staging, graphs, times.
//
// `submit` copies a frame into pinned memory, unless it is already there or on the device. Then it
// queues the upload, the operator's graph, and the download of the results. Each of these has a
// stream of its own, so one frame computes while the next one is uploaded and the previous one is
// downloaded. With zero copy there is no upload and no download: the kernels use pinned memory.
//
// The parameters of a frame are in a small block of device memory (FrameParams). So the graph is
// the same for all frames of a slot. Only the device knows the position in the temporal state
// (TemporalState). A frame with bad pixels must not change the state, and only the device detects
// bad pixels.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/engine_state.h"
#include "core/failure.h"
#include "core/frame_history.h"
#include "core/layout_builder.h"
#include "core/operator_instance.h"
#include "kernels/core/cuda_device.h"
#include "kernels/core/done_watch.h"
#include "kernels/core/frame_params.h"
#include "kernels/core/host_calls.h"
#include "kernels/core/host_copy_pool.h"
#include "kernels/core/launch.h"

namespace ocellus::cuda {

using detail::EngineState;
using detail::FrameHistory;
using detail::LayoutBuilder;
using detail::OperatorInstance;

/// Number of blocks of a grid along one axis.
constexpr unsigned block_count(int size, int per_block) {
  return static_cast<unsigned>((size + per_block - 1) / per_block);
}

class CudaOperator : public OperatorInstance {
 public:
  ~CudaOperator() override;

  Footprint footprint() noexcept final;
  Expected<void> start(EngineState& engine) noexcept final;
  Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept final;
  Expected<void> wait(int slot, Deadline deadline, FrameInfo& result) noexcept final;
  Expected<CancelOutcome> try_cancel(int slot) noexcept final;
  Expected<int> create_event_fd() noexcept final;
  void stop() noexcept final;
  bool is_stopped() const noexcept final;
  void cancel(int slot) noexcept final;
  void reset() noexcept final;
  Expected<void> finish_frames() noexcept final;

 protected:
  explicit CudaOperator(const OperatorInfo& info) noexcept;

  /// Places all device arrays. Called once with a builder that counts bytes and once with the
  /// memory.
  virtual void layout(LayoutBuilder& device) noexcept = 0;
  /// Places the arrays in pinned memory, in the same way.
  virtual void layout_pinned(LayoutBuilder& /*pinned*/) noexcept {}
  /// Called after `layout` with the memory. Loads the kernels and sets their limits of shared
  /// memory.
  virtual Expected<void> prepare(Scope& cuda) noexcept = 0;
  /// Called at the end of creation, when frames of zeros have run through all slots. Brings state
  /// that they have changed to its begin.
  virtual Expected<void> begin(Scope& /*cuda*/) noexcept { return {}; }
  /// Launches the kernels of a frame for capture into a graph. The image is available in
  /// params(slot). The last kernel must call finish_frame() of frame_params.h. Kernels write the
  /// luma of a picture with color, which this class then puts into the pixels of the frame.
  virtual Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept = 0;

  /// Launches a kernel with one argument of plain data. With `overlap` it may start before the
  /// previous kernel has ended; the kernel itself must then wait for that one. This needs compute
  /// capability 9.0 or later and has no effect on earlier devices.
  template <typename Argument>
  Expected<void> launch(Scope& cuda, cudaStream_t stream, void (*kernel)(Argument), dim3 grid,
                        dim3 block, std::size_t shared_bytes, const Argument& argument,
                        bool overlap = false) noexcept {
    return launch_kernel(cuda, stream, kernel, grid, block, shared_bytes, argument,
                         overlap ? LaunchOrder::kOverlapping : LaunchOrder::kAfter);
  }
  /// Launches a kernel whose blocks wait for each other, so all of them must be resident at once.
  /// The grid must not be larger than the device has room for.
  template <typename Argument>
  Expected<void> launch_together(Scope& cuda, cudaStream_t stream, void (*kernel)(Argument),
                                 dim3 grid, dim3 block, std::size_t shared_bytes,
                                 const Argument& argument) noexcept {
    return launch_kernel(cuda, stream, kernel, grid, block, shared_bytes, argument,
                         LaunchOrder::kTogether);
  }
  /// Starts the thread for functions of the host. For `prepare`.
  Expected<void> prepare_host_calls(Scope& cuda) noexcept;
  /// Adds a function of the host to the graph, at most HostCalls::kMaxCalls. It runs between the
  /// kernels before and after it. It must not call CUDA.
  Expected<void> launch_host(Scope& cuda, int slot, cudaStream_t stream,
                             HostCalls::Function function, void* argument) noexcept;
  /// For such functions: HostCalls::share.
  void share_on_host(int count, HostCalls::Part part, void* argument) noexcept {
    host_calls_.share(count, part, argument);
  }
  /// Sets the kernel's limit of shared memory and loads its code.
  template <typename Argument>
  Expected<void> load_kernel(Scope& cuda, void (*kernel)(Argument),
                             std::size_t shared_bytes) noexcept {
    return load_kernel_code(cuda, reinterpret_cast<const void*>(kernel), shared_bytes);
  }

  /// Returns the number of blocks of a kernel that fit on a multiprocessor at once. `load_kernel`
  /// must have loaded the kernel.
  template <typename Argument>
  Expected<int> resident_blocks(Scope& cuda, void (*kernel)(Argument), int threads,
                                std::size_t shared_bytes) noexcept {
    int blocks = 0;
    OCELLUS_TRY(cuda(kCudaCalls.blocks_per_multiprocessor, &blocks,
                     reinterpret_cast<const void*>(kernel), threads, shared_bytes));
    return blocks;
  }
  /// Copies to the device and waits, so that the caller may release `from`. For `prepare`.
  Expected<void> upload(Scope& cuda, void* to, const void* from, std::size_t bytes) noexcept;

  /// Load and launch the kernel that detects bad pixels, if frames are floats. It must be launched
  /// before the kernels that change the temporal state. Integer frames need no such kernel.
  Expected<void> load_check_kernel(Scope& cuda) noexcept;
  Expected<void> launch_check(Scope& cuda, int slot, cudaStream_t stream) noexcept;

  const FrameParams* params(int slot) const noexcept { return params_ + slot; }
  TemporalState* state() const noexcept { return state_; }
  /// The result flags that the kernels of frame `slot` write for the host; pinned memory.
  FrameOutcome* outcome(int slot) const noexcept { return outcomes_ + slot; }
  /// Not 0 if the frames in flight are to end early; pinned memory. Kernels whose time has no tight
  /// bound read it between their sweeps, and report in FrameOutcome that they have ended early.
  const std::uint32_t* stop_flag() const noexcept { return stop_flag_; }
  /// The frame of a slot in host memory, for functions of the host. Its data is null if the caller
  /// gave it in device memory, or if it has color: only the device has its luma.
  Frame host_frame(int slot) const noexcept;
  /// The record that the kernels of frame `slot` write; pinned memory, zero before they start. That
  /// of a bad frame is zero at the end, too.
  void* record_of(int slot) const noexcept { return slots_[static_cast<std::size_t>(slot)].record; }
  CudaDevice& device() noexcept { return *device_; }
  const DeviceTraits& device_traits() const noexcept { return device_->traits(); }
  /// The stream for `prepare`; it is destroyed after creation.
  cudaStream_t creation_stream() const noexcept { return creating_; }
  OperatorInfo info_;

 private:
  /// Rows of a result that are downloaded together, for ordinary memory.
  struct Chunk {
    cudaEvent_t arrived = nullptr;  // the rows are in pinned memory
    RowBlock block;                 // the copy from there to the output plane
  };

  struct Slot {
    // Staging buffers in pinned memory, and device arrays.
    char* host_in = nullptr;
    char* host_out = nullptr;
    FrameParams* host_params = nullptr;
    void* record = nullptr;
    HostCallWords* call_words = nullptr;   // of kMaxCalls
    std::uint32_t* calls_asked = nullptr;  // by the device
    int calls = 0;                         // of the graph
    char* device_in = nullptr;
    char* device_out = nullptr;
    std::uint8_t* luma = nullptr;  // on the device, for frames with color
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaEvent_t arrived = nullptr;   // the caller's stream has written the frame
    cudaEvent_t begun = nullptr;     // start of the upload
    cudaEvent_t uploaded = nullptr;  // end of the upload: ready to compute
    cudaEvent_t started = nullptr;   // the compute stream has reached this frame
    cudaEvent_t computed = nullptr;
    cudaEvent_t done = nullptr;

    // True while work of the frame may be running: its last event has not been waited for.
    // Independent of `settled`.
    bool busy = false;
    // The error that occurred after the kernels were queued; `wait` returns it. Later events of the
    // slot may not have been recorded.
    Error failure;

    FrameParams last_params;  // copy of the parameters on the device
    bool params_known = false;
    Frame in;
    OperatorOutput out;
    MemorySpace out_space = MemorySpace::kHost;
    bool copies_in = false;    // the device copies the frame to its memory
    bool uploading = false;    // the frame or its parameters
    bool downloading = false;  // the result
    std::array<Chunk, HostCopyPool::kMaxBlocks> chunks;
    int chunk_count = 0;
    int copied = 0;               // number of chunks that are copied completely
    int copied_rows = 0;          // rows of the next chunk that are copied
    std::int64_t copy_in_ns = 0;  // time of the host's copy into pinned memory
    std::int64_t queued_ns = 0;   // time at which the device received the frame
    std::int64_t copy_out_begun_ns = 0;
    std::int64_t copy_out_ended_ns = 0;
    bool settled = false;  // true if the history counts the frame and `result` is filled in
    bool stopped = false;  // true if the frame ended early
    FrameInfo result;
  };

  /// Layout of a plane of a result, the same in pinned staging memory and on the device.
  struct StagedPlane {
    std::size_t offset = 0;  ///< bytes from the first plane
    std::size_t row_bytes = 0;
    std::size_t stride = 0;  ///< bytes
    int rows = 0;
  };

  /// Kernels that run read it at any time.
  void set_stop_flag(std::uint32_t value) noexcept {
    std::atomic_ref<std::uint32_t>(*stop_flag_).store(value, std::memory_order_relaxed);
  }
  const char* name() const noexcept { return info_.name; }
  int planes() const noexcept { return info_.plane_count; }
  std::size_t in_row_bytes() const noexcept {
    return static_cast<std::size_t>(row_bytes(info_.format, info_.size.width));
  }
  bool makes_luma() const noexcept { return has_color(info_.format); }
  /// Whether the caller may want a picture with color.
  bool puts_luma() const noexcept { return makes_luma() && info_.planes[0].follows_frame; }
  dim3 luma_grid() const noexcept;
  Expected<void> launch_luma(Scope& cuda, int slot, cudaStream_t stream) noexcept;
  Expected<void> launch_put_luma(Scope& cuda, int slot, cudaStream_t stream) noexcept;
  /// Places a plane behind those that are placed already.
  StagedPlane stage(ImageSize size, PixelFormat format) noexcept;
  const StagedPlane& staged(int plane) const noexcept {
    return staged_[static_cast<std::size_t>(plane)];
  }
  /// The plane that leaves the device: of a picture with color, that with color.
  const StagedPlane& staged_result(const Slot& slot, int plane) const noexcept {
    return plane == 0 && has_color(slot.out.planes[0].format) ? staged_picture_ : staged(plane);
  }
  using Place = void (CudaOperator::*)(LayoutBuilder&) noexcept;
  /// The bytes that `place` lays out.
  std::size_t bytes_of(Place place) noexcept;
  /// The part of creation that uses the creation stream. `bytes` is the size of the device memory.
  Expected<void> build(Scope& cuda, std::size_t bytes) noexcept;
  Expected<void> synchronize(Scope& cuda) noexcept;
  void place_pinned(LayoutBuilder& builder) noexcept;
  void place_device(LayoutBuilder& builder) noexcept;
  Expected<void> make_slot(Scope& cuda, int index) noexcept;
  Expected<void> warm_up(Scope& cuda) noexcept;
  /// Also the bytes between the members, so that equal records have equal bytes.
  void clear_record(Slot& slot) const noexcept;
  /// Lets the compute stream wait for all work in the caller's stream.
  Expected<void> await(Scope& cuda, const Slot& slot, StreamHandle stream) noexcept;
  /// Queues a frame up to its kernels. After a failure nothing of the frame runs or counts.
  Expected<void> queue(Scope& cuda, Slot& slot) noexcept;
  /// Fills in where the kernels read the frame and write the result. Errors: InvalidArgument (with
  /// zero copy, memory of the kind kPinned that is not page-locked), DeviceLost, System.
  Expected<void> place_frame(Scope& cuda, const Slot& slot, FrameParams& params) noexcept;
  /// The address for kernels of the caller's pinned memory.
  Expected<void*> device_address(Scope& cuda, const void* pinned, const char* what) noexcept;
  Expected<void> queue_upload(Scope& cuda, Slot& slot, const FrameParams& params,
                              bool new_params) noexcept;
  /// Queues the work after the kernels. After a failure, which is stored in the slot, the frame
  /// still runs and counts.
  Expected<void> queue_result(Scope& cuda, Slot& slot) noexcept;
  Expected<void> queue_download(Scope& cuda, Slot& slot) noexcept;
  Expected<void> queue_chunks(Scope& cuda, Slot& slot) noexcept;
  /// With `helping`, the thread copies parts for the pool while it waits.
  Status wait_event(Scope& cuda, cudaEvent_t event, Deadline deadline, Error& error,
                    bool helping = false) noexcept;
  /// Counts finished frames in the history, oldest first, up to `slot`.
  void settle(Slot& slot) noexcept;
  Expected<void> forget_on_device(Scope& cuda) noexcept;
  cudaEvent_t last_event(const Slot& slot) const noexcept {
    return slot.downloading ? slot.done : slot.computed;
  }
  Expected<void> measure(Scope& cuda, const Slot& slot, FrameInfo& result) noexcept;
  void copy_in(Slot& slot) noexcept;
  /// Copies the chunks of a result to the output planes as they arrive.
  Status copy_out(Scope& cuda, Slot& slot, Deadline deadline, Error& error) noexcept;

  Expected<void> load_kernel_code(Scope& cuda, const void* kernel,
                                  std::size_t shared_bytes) noexcept;

  // Protects the history and the order, because `wait` may run at the same time as `submit`.
  std::mutex mutex_;
  FrameHistory history_;
  CudaDevice* device_ = nullptr;
  int stream_set_ = -1;
  /// The stream for creation. Captures and synchronization in it do not affect frames of operators
  /// that share the stream set.
  cudaStream_t creating_ = nullptr;
  void* device_piece_ = nullptr;
  void* pinned_piece_ = nullptr;
  FrameParams* params_ = nullptr;  // in device memory, one for each slot
  TemporalState* state_ = nullptr;
  FrameOutcome* outcomes_ = nullptr;
  std::uint32_t* stop_flag_ = nullptr;
  std::size_t in_stride_ = 0;     // bytes
  std::size_t luma_stride_ = 0;   // bytes
  std::size_t staged_bytes_ = 0;  // size of all planes
  std::array<StagedPlane, kMaxOutputPlanes> staged_{};
  StagedPlane staged_picture_;  // the picture with color, if the caller may want one
  int chunks_per_plane_ = 1;
  std::array<Slot, kMaxDepth> slots_;
  std::array<int, kMaxDepth> order_{};  // slots in flight, oldest first
  int in_flight_ = 0;
  bool state_stands_ = true;  // false: the temporal state on the device must still be cleared
  bool forgetting_ = false;   // true: the device may still be clearing it
  HostCalls host_calls_;
  DoneWatch done_watch_{done_event_};
};

}  // namespace ocellus::cuda
