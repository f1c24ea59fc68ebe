#include "kernels/core/cuda_operator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/failure.h"
#include "kernels/core/check_frame.h"
#include "kernels/core/luma.h"
#include "kernels/core/trace.h"

namespace ocellus::cuda {
namespace {

constexpr std::size_t pitch(std::size_t bytes) {
  return detail::align_up(bytes, kDeviceAlignment);
}

// Approximate size of the chunks in which results leave the device. One chunk is copied to its
// destination while the next one is transferred.
constexpr std::size_t kChunkBytes = 512 * 1024;

}  // namespace

CudaOperator::CudaOperator(const OperatorInfo& info) noexcept
    : info_(info), history_(info.support_frames) {
  in_stride_ = pitch(in_row_bytes());
  luma_stride_ = pitch(static_cast<std::size_t>(info.size.width));
  std::size_t largest = 0;
  for (int p = 0; p < planes(); ++p) {
    const PlaneInfo& plane = info.planes[static_cast<std::size_t>(p)];
    StagedPlane& made = staged_[static_cast<std::size_t>(p)];
    made = stage(plane.size, plane.format);
    largest = std::max(largest, made.stride * static_cast<std::size_t>(made.rows));
  }
  if (puts_luma()) {
    staged_picture_ = stage(info.size, info.format);
    largest =
        std::max(largest, staged_picture_.stride * static_cast<std::size_t>(staged_picture_.rows));
  }
  const std::size_t most = static_cast<std::size_t>(HostCopyPool::kMaxBlocks / planes());
  chunks_per_plane_ = static_cast<int>(std::clamp<std::size_t>(largest / kChunkBytes, 1, most));
}

CudaOperator::StagedPlane CudaOperator::stage(ImageSize size, PixelFormat format) noexcept {
  StagedPlane made;
  made.offset = staged_bytes_;
  made.row_bytes = static_cast<std::size_t>(row_bytes(format, size.width));
  made.stride = pitch(made.row_bytes);
  made.rows = size.height;
  staged_bytes_ += made.stride * static_cast<std::size_t>(made.rows);
  return made;
}

CudaOperator::~CudaOperator() {
  if (device_ == nullptr) return;
  if (device_->abandoned()) {
    host_calls_.abandon();
    done_watch_.abandon();
    return;
  }
  // After a failed creation, its work is waited for as well.
  for (int i = 0; i < info_.depth; ++i) cancel(i);
  host_calls_.stop();
  done_watch_.stop();
  {
    Scope cuda(*device_, Phase::kCreating, name());
    if (forgetting_) device_->finish(cuda, device_->stream_set(stream_set_).compute);
    for (Slot& slot : slots_) {
      for (cudaEvent_t event :
           {slot.arrived, slot.begun, slot.uploaded, slot.started, slot.computed, slot.done})
        if (event != nullptr) cuda.release(kCudaCalls.destroy_event, event);
      for (const Chunk& chunk : slot.chunks)
        if (chunk.arrived != nullptr) cuda.release(kCudaCalls.destroy_event, chunk.arrived);
      if (slot.exec != nullptr) cuda.release(kCudaCalls.destroy_graph_exec, slot.exec);
      if (slot.graph != nullptr) cuda.release(kCudaCalls.destroy_graph, slot.graph);
    }
  }
  device_->log_loss();
  if (stream_set_ >= 0) device_->give_back_stream_set(stream_set_);
  device_->give_back(MemorySpace::kCuda, device_piece_);
  device_->give_back(MemorySpace::kPinned, pinned_piece_);
}

// ---- memory

void CudaOperator::place_pinned(LayoutBuilder& builder) noexcept {
  outcomes_ = builder.take<FrameOutcome>(static_cast<std::size_t>(info_.depth));
  stop_flag_ = builder.take<std::uint32_t>(1);
  for (int i = 0; i < info_.depth; ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    slot.host_params = builder.take<FrameParams>(1);
    slot.host_in = builder.take<char>(in_stride_ * static_cast<std::size_t>(info_.size.height));
    slot.host_out = builder.take<char>(staged_bytes_);
    slot.call_words = builder.take<HostCallWords>(HostCalls::kMaxCalls);
    if (info_.record != nullptr) slot.record = builder.take<char>(info_.record->bytes);
  }
  layout_pinned(builder);
}

void CudaOperator::place_device(LayoutBuilder& builder) noexcept {
  params_ = builder.take<FrameParams>(static_cast<std::size_t>(info_.depth));
  state_ = builder.take<TemporalState>(1);
  for (int i = 0; i < info_.depth; ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    slot.device_in = builder.take<char>(in_stride_ * static_cast<std::size_t>(info_.size.height));
    slot.device_out = builder.take<char>(staged_bytes_);
    if (makes_luma()) {
      slot.luma =
          builder.take<std::uint8_t>(luma_stride_ * static_cast<std::size_t>(info_.size.height));
    }
    slot.calls_asked = builder.take<std::uint32_t>(HostCalls::kMaxCalls);
  }
  layout(builder);
}

std::size_t CudaOperator::bytes_of(Place place) noexcept {
  LayoutBuilder counting(nullptr, kDeviceAlignment);
  (this->*place)(counting);
  return counting.bytes();
}

Footprint CudaOperator::footprint() noexcept {
  return {.pinned = bytes_of(&CudaOperator::place_pinned),
          .device = bytes_of(&CudaOperator::place_device)};
}

// ---- creation

Expected<void> CudaOperator::start(EngineState& engine) noexcept {
  TraceRange::prepare();
  const TraceRange range(name(), "create", 0);
  device_ = static_cast<CudaDevice*>(engine.device());
  OCELLUS_TRY_ASSIGN(device_piece,
                     device_->take(MemorySpace::kCuda, bytes_of(&CudaOperator::place_device)));
  device_piece_ = *device_piece;
  OCELLUS_TRY_ASSIGN(pinned_piece,
                     device_->take(MemorySpace::kPinned, bytes_of(&CudaOperator::place_pinned)));
  pinned_piece_ = *pinned_piece;
  LayoutBuilder on_device(device_piece_, kDeviceAlignment);
  place_device(on_device);
  LayoutBuilder pinned(pinned_piece_, kDeviceAlignment);
  place_pinned(pinned);
  stream_set_ = device_->take_stream_set();

  Scope cuda(*device_, Phase::kCreating, name());
  OCELLUS_TRY_ASSIGN(stream, device_->make_stream(cuda, priority_));
  creating_ = *stream;
  Expected<void> built = build(cuda, on_device.bytes());
  // Work that was queued before the failure may still use the memory that is about to be released.
  if (!built) device_->finish(cuda, creating_);
  cuda.release(kCudaCalls.destroy_stream, std::exchange(creating_, nullptr));
  return built;
}

Expected<void> CudaOperator::build(Scope& cuda, std::size_t bytes) noexcept {
  // This includes the ring, which must contain valid numbers before the first frame.
  OCELLUS_TRY(cuda(kCudaCalls.set, device_piece_, 0, bytes, creating_));
  // Wait, because the first upload uses another stream. Otherwise a device that is busy with other
  // work might clear the memory after that upload.
  OCELLUS_TRY(synchronize(cuda));
  if (makes_luma()) OCELLUS_TRY(load_kernel(cuda, kLumaKernel, 0));
  if (puts_luma()) OCELLUS_TRY(load_kernel(cuda, kPutLumaKernel, 0));
  OCELLUS_TRY(prepare(cuda));
  for (int i = 0; i < info_.depth; ++i) OCELLUS_TRY(make_slot(cuda, i));
  // A frame of the warm-up makes one sweep.
  set_stop_flag(1);
  OCELLUS_TRY(warm_up(cuda));
  set_stop_flag(0);
  return begin(cuda);
}

Expected<void> CudaOperator::make_slot(Scope& cuda, int index) noexcept {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  // Waiting by sleep needs an event that raises an interrupt.
  const unsigned sleeping =
      device_->wait_mode() == DeviceWait::kBlock ? unsigned{cudaEventBlockingSync} : 0U;
  const struct {
    cudaEvent_t* event;
    unsigned flags;
  } events[] = {{&slot.arrived, cudaEventDisableTiming},
                {&slot.begun, 0},
                {&slot.uploaded, 0},
                {&slot.started, 0},
                {&slot.computed, sleeping},
                {&slot.done, sleeping}};
  for (const auto& made : events)
    OCELLUS_TRY(cuda(kCudaCalls.create_event, made.event, made.flags));
  for (int c = 0; c < planes() * chunks_per_plane_; ++c)
    OCELLUS_TRY(cuda(kCudaCalls.create_event, &slot.chunks[static_cast<std::size_t>(c)].arrived,
                     unsigned{cudaEventDisableTiming}));

  OCELLUS_TRY(cuda(kCudaCalls.begin_capture, creating_, cudaStreamCaptureModeThreadLocal));
  Expected<void> recorded = launch_luma(cuda, index, creating_);
  if (recorded) recorded = record(cuda, index, creating_);
  if (recorded) recorded = launch_put_luma(cuda, index, creating_);
  // Must be called in any case; otherwise the stream remains in capture mode.
  const Expected<void> ended = cuda(kCudaCalls.end_capture, creating_, &slot.graph);
  if (!recorded) return recorded;
  if (!ended) return ended;
  OCELLUS_TRY(cuda(kCudaCalls.instantiate_graph, &slot.exec, slot.graph));
  OCELLUS_TRY(cuda(kCudaCalls.upload_graph, slot.exec, creating_));
  return synchronize(cuda);
}

// Runs one frame through each slot. All code is then loaded, and the first real frame takes no
// longer than the others.
Expected<void> CudaOperator::warm_up(Scope& cuda) noexcept {
  for (int i = 0; i < info_.depth; ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    std::memset(slot.host_in, 0, in_stride_ * static_cast<std::size_t>(info_.size.height));
    slot.in = Frame{};
    slot.in.data = slot.host_in;
    slot.in.size = info_.size;
    slot.in.stride = static_cast<std::ptrdiff_t>(in_stride_);
    slot.in.format = info_.format;
    slot.in.space = MemorySpace::kPinned;
    slot.out = OperatorOutput{};
    slot.out_space = MemorySpace::kHost;
    for (int p = 0; p < planes(); ++p) {
      const PlaneInfo& plane = info_.planes[static_cast<std::size_t>(p)];
      slot.out.planes[static_cast<std::size_t>(p)] = {slot.host_out + staged(p).offset,
                                                      plane.size,
                                                      static_cast<std::ptrdiff_t>(staged(p).stride),
                                                      plane.format,
                                                      MemorySpace::kHost,
                                                      nullptr};
    }
    OCELLUS_TRY(queue(cuda, slot));
    OCELLUS_TRY(queue_result(cuda, slot));
    OCELLUS_TRY(cuda(kCudaCalls.synchronize_event, slot.done));
    OCELLUS_TRY(cuda.query(slot.done));
    slot.busy = false;
  }
  OCELLUS_TRY(cuda(kCudaCalls.set, state_, 0, sizeof(TemporalState), creating_));
  return synchronize(cuda);
}

// Waits until no work is left in the stream, even after a failure, because the work may read host
// memory that the caller releases.
Expected<void> CudaOperator::synchronize(Scope& cuda) noexcept {
  const Expected<void> done = cuda(kCudaCalls.synchronize_stream, creating_);
  if (!done) device_->finish(cuda, creating_);
  return done;
}

Expected<void> CudaOperator::load_kernel_code(Scope& cuda, const void* kernel,
                                              std::size_t shared_bytes) noexcept {
  // The limit is shared by all operators and engines on the device. Nobody else may raise it
  // between reading and raising it here.
  static std::mutex limits;
  const std::lock_guard<std::mutex> lock(limits);
  cudaFuncAttributes attributes{};
  OCELLUS_TRY(cuda(kCudaCalls.function_attributes, &attributes, kernel));
  if (attributes.maxDynamicSharedSizeBytes >= 0 &&
      shared_bytes <= static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes))
    return {};
  return cuda(kCudaCalls.set_function_attribute, kernel,
              cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
}

dim3 CudaOperator::luma_grid() const noexcept {
  const unsigned along = block_count(info_.size.width, kLumaThreads * kLumaPixels);
  const auto resident = static_cast<unsigned>(16 * device_->traits().multiprocessors);
  const auto rows = static_cast<unsigned>(info_.size.height);
  return dim3(along, std::clamp(resident / along, 1U, rows));
}

Expected<void> CudaOperator::launch_luma(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  if (!makes_luma()) return {};
  const LumaArguments a{params(slot),
                        slots_[static_cast<std::size_t>(slot)].luma,
                        static_cast<std::int64_t>(luma_stride_),
                        info_.format,
                        info_.size.width,
                        info_.size.height};
  return launch(cuda, stream, kLumaKernel, luma_grid(), dim3(kLumaThreads), 0, a);
}

Expected<void> CudaOperator::launch_put_luma(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  if (!puts_luma()) return {};
  const PutLumaArguments a{params(slot), info_.format, info_.planes[0].color, info_.size.width,
                           info_.size.height};
  return launch(cuda, stream, kPutLumaKernel, luma_grid(), dim3(kLumaThreads), 0, a);
}

Expected<void> CudaOperator::prepare_host_calls(Scope& cuda) noexcept {
  for (int i = 0; i < info_.depth; ++i)
    std::fill_n(slots_[static_cast<std::size_t>(i)].call_words, HostCalls::kMaxCalls,
                HostCallWords{});
  OCELLUS_TRY(load_kernel(cuda, kHostCallKernel, 0));
  return host_calls_.start(*device_);
}

Expected<void> CudaOperator::launch_host(Scope& cuda, int index, cudaStream_t stream,
                                         HostCalls::Function function, void* argument) noexcept {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  const int call = slot.calls++;
  host_calls_.add(slot.call_words + call, function, argument);
  return launch(cuda, stream, kHostCallKernel, dim3(1), dim3(1), 0,
                HostCallArguments{slot.call_words + call, slot.calls_asked + call});
}

Expected<void> CudaOperator::upload(Scope& cuda, void* to, const void* from,
                                    std::size_t bytes) noexcept {
  OCELLUS_TRY(cuda(kCudaCalls.copy, to, from, bytes, cudaMemcpyHostToDevice, creating_));
  return synchronize(cuda);
}

Expected<void> CudaOperator::load_check_kernel(Scope& cuda) noexcept {
  if (info_.format != PixelFormat::kFloat32) return {};
  return load_kernel(cuda, kCheckKernel, 0);
}

Expected<void> CudaOperator::launch_check(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  if (info_.format != PixelFormat::kFloat32) return {};
  const CheckArguments a{params(slot), state(), info_.size.width, info_.size.height};
  const auto blocks =
      static_cast<unsigned>(std::min(info_.size.height, 4 * device_->traits().multiprocessors));
  return launch(cuda, stream, kCheckKernel, dim3(blocks), dim3(kCheckThreads), 0, a);
}

}  // namespace ocellus::cuda
