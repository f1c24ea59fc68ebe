// The processing of a frame in a CudaOperator: staging, queueing, waiting, times.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/failure.h"
#include "core/scheduler.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/core/trace.h"

namespace ocellus::cuda {
namespace {

// Smaller frames are copied faster by one thread.
constexpr std::size_t kPoolBytes = 64 * 1024;

std::int64_t nanoseconds(float milliseconds) noexcept {
  return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

// Bytes copied between two checks of a deadline: about 0.2 ms for one thread.
constexpr std::size_t kSliceBytes = std::size_t{1} << 20;

bool is_host(MemorySpace space) noexcept {
  return space == MemorySpace::kHost;
}

}  // namespace

Expected<void> CudaOperator::submit(int index, const Frame& in,
                                    const OperatorOutput& out) noexcept {
  const TraceRange range(name(), "submit", in.sequence);
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  slot.in = in;
  slot.out = out;
  slot.out_space = out.planes[0].space;
  slot.settled = false;
  slot.copied = 0;
  slot.copied_rows = 0;
  const std::int64_t begun = detail::now_ns();
  if (is_host(in.space)) copy_in(slot);
  slot.queued_ns = detail::now_ns();
  slot.copy_in_ns = is_host(in.space) ? slot.queued_ns - begun : 0;
  Scope cuda(*device_, Phase::kRunning, name());
  const std::lock_guard<std::mutex> lock(mutex_);
  OCELLUS_TRY(queue(cuda, slot));
  // The kernels advance the temporal state and cannot be canceled. The frame counts from here on,
  // and `wait` reports what fails now.
  if (const Expected<void> queued = queue_result(cuda, slot); !queued) {
    slot.busy = !device_->lost();
    if (!slot.busy) return queued;
  }
  order_[static_cast<std::size_t>(in_flight_++)] = index;
  done_watch_.submitted(index, slot.failure.status == Status::kOk ? last_event(slot) : nullptr);
  return {};
}

void CudaOperator::copy_in(Slot& slot) noexcept {
  const RowBlock block = {slot.host_in,
                          static_cast<std::ptrdiff_t>(in_stride_),
                          static_cast<const char*>(slot.in.data),
                          slot.in.stride,
                          in_row_bytes(),
                          info_.size.height};
  HostCopyPool& pool = device_->host_copy_pool();
  if (in_row_bytes() * static_cast<std::size_t>(info_.size.height) < kPoolBytes || !pool.take()) {
    copy_rows(block);
    return;
  }
  pool.add(block);
  pool.finish();
  pool.give_back();
}

Frame CudaOperator::host_frame(int index) const noexcept {
  const Slot& slot = slots_[static_cast<std::size_t>(index)];
  Frame frame = slot.in;
  frame.format = luma_format(frame.format);
  if (frame.space == MemorySpace::kCuda || makes_luma()) frame.data = nullptr;
  if (!is_host(frame.space) || makes_luma()) return frame;
  frame.data = slot.host_in;
  frame.stride = static_cast<std::ptrdiff_t>(in_stride_);
  return frame;
}

Expected<void> CudaOperator::await(Scope& cuda, const Slot& slot, StreamHandle stream) noexcept {
  const cudaStream_t compute = device_->stream_set(stream_set_).compute;
  if (stream == compute) return {};
  OCELLUS_TRY(cuda(kCudaCalls.record_event, slot.arrived, static_cast<cudaStream_t>(stream)));
  return cuda(kCudaCalls.wait_for_event, compute, slot.arrived, 0U);
}

Expected<void*> CudaOperator::device_address(Scope& cuda, const void* pinned,
                                             const char* what) noexcept {
  cudaPointerAttributes attributes{};
  OCELLUS_TRY(cuda(kCudaCalls.pointer_attributes, &attributes, pinned));
  if (attributes.type != cudaMemoryTypeUnregistered && attributes.devicePointer != nullptr)
    return attributes.devicePointer;
  return detail::invalid_argument(
      "%s: %s is said to be in pinned memory, but CUDA has not page-locked it; use a Buffer of "
      "pinned memory, cudaHostAlloc or cudaHostRegister, or say that it is in host memory",
      name(), what);
}

Expected<void> CudaOperator::place_frame(Scope& cuda, const Slot& slot,
                                         FrameParams& params) noexcept {
  const Frame& in = slot.in;
  const bool zero_copy = device_->zero_copy();
  params.image = in.data;
  params.image_stride = in.stride;
  if (slot.copies_in || is_host(in.space)) {
    params.image = slot.copies_in ? slot.device_in : slot.host_in;
    params.image_stride = static_cast<std::int64_t>(in_stride_);
  } else if (in.space == MemorySpace::kPinned) {
    OCELLUS_TRY_ASSIGN(image, device_address(cuda, in.data, "the frame"));
    params.image = *image;
  }
  params.host_reads_image = in.space != MemorySpace::kCuda && !makes_luma() ? 1 : 0;
  if (makes_luma()) {
    params.color = std::exchange(params.image, slot.luma);
    params.color_stride =
        std::exchange(params.image_stride, static_cast<std::int64_t>(luma_stride_));
  }
  for (int p = 0; p < planes(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    const ImageView& plane = slot.out.planes[i];
    if (plane.data == nullptr) continue;
    params.out[i] = plane.data;
    params.out_stride[i] = plane.stride;
    if (slot.out_space == MemorySpace::kCuda) continue;
    if (zero_copy && slot.out_space == MemorySpace::kPinned) {
      OCELLUS_TRY_ASSIGN(out, device_address(cuda, plane.data, info_.planes[i].name));
      params.out[i] = *out;
      continue;
    }
    const StagedPlane& place = staged_result(slot, p);
    params.out[i] = (zero_copy ? slot.host_out : slot.device_out) + place.offset;
    params.out_stride[i] = static_cast<std::int64_t>(place.stride);
  }
  if (has_color(slot.out.planes[0].format)) {
    params.picture = std::exchange(params.out[0], slot.device_out + staged(0).offset);
    params.picture_stride =
        std::exchange(params.out_stride[0], static_cast<std::int64_t>(staged(0).stride));
  }
  return {};
}

Expected<void> CudaOperator::queue(Scope& cuda, Slot& slot) noexcept {
  const OperatorOutput& out = slot.out;
  const StreamSet& streams = device_->stream_set(stream_set_);
  const bool in_on_device = slot.in.space == MemorySpace::kCuda;
  const bool out_on_device = slot.out_space == MemorySpace::kCuda;
  const StreamHandle out_stream = out.planes[0].stream;

  slot.copies_in = !in_on_device && !device_->zero_copy();
  FrameParams params{};
  OCELLUS_TRY(place_frame(cuda, slot, params));
  outcomes_[&slot - slots_.data()] = FrameOutcome{};
  clear_record(slot);
  const bool new_params =
      !slot.params_known || std::memcmp(&params, &slot.last_params, sizeof(params)) != 0;

  if (!state_stands_) OCELLUS_TRY(forget_on_device(cuda));
  if (in_on_device) OCELLUS_TRY(await(cuda, slot, slot.in.stream));
  if (out_on_device && !(in_on_device && out_stream == slot.in.stream))
    OCELLUS_TRY(await(cuda, slot, out_stream));
  // Nothing is uploaded if the kernels use the frame where it lies and the slot's parameters have
  // not changed.
  slot.uploading = slot.copies_in || new_params;
  const auto launched = [&]() -> Expected<void> {
    if (slot.uploading) OCELLUS_TRY(queue_upload(cuda, slot, params, new_params));
    OCELLUS_TRY(cuda(kCudaCalls.record_event, slot.started, streams.compute));
    host_calls_.expect(slot.calls);
    Expected<void> done = cuda(kCudaCalls.launch_graph, slot.exec, streams.compute);
    if (!done) host_calls_.withdraw(slot.calls);
    return done;
  }();
  slot.busy = launched.has_value();
  slot.failure.status = Status::kOk;
  if (!launched && slot.uploading) {
    Scope failing(*device_, Phase::kCreating, name());
    device_->finish(failing, streams.upload);
  }
  return launched;
}

Expected<void> CudaOperator::queue_upload(Scope& cuda, Slot& slot, const FrameParams& params,
                                          bool new_params) noexcept {
  const StreamSet& streams = device_->stream_set(stream_set_);
  OCELLUS_TRY(cuda(kCudaCalls.record_event, slot.begun, streams.upload));
  if (new_params) {
    *slot.host_params = slot.last_params = params;
    FrameParams* const to = params_ + (&slot - slots_.data());
    const Expected<void> done = cuda(kCudaCalls.copy, to, slot.host_params, sizeof(params),
                                     cudaMemcpyHostToDevice, streams.upload);
    slot.params_known = done.has_value();
    if (!done) return done;
  }
  if (slot.copies_in) {
    const bool staged = is_host(slot.in.space);
    const void* from = staged ? slot.host_in : slot.in.data;
    const std::size_t from_stride = staged ? in_stride_ : static_cast<std::size_t>(slot.in.stride);
    OCELLUS_TRY(cuda(kCudaCalls.copy_2d, slot.device_in, in_stride_, from, from_stride,
                     in_row_bytes(), static_cast<std::size_t>(info_.size.height),
                     cudaMemcpyHostToDevice, streams.upload));
  }
  OCELLUS_TRY(cuda(kCudaCalls.record_event, slot.uploaded, streams.upload));
  return cuda(kCudaCalls.wait_for_event, streams.compute, slot.uploaded, 0U);
}

Expected<void> CudaOperator::queue_result(Scope& cuda, Slot& slot) noexcept {
  Expected<void> queued = queue_download(cuda, slot);
  if (!queued) slot.failure = queued.error();
  return queued;
}

Expected<void> CudaOperator::queue_download(Scope& cuda, Slot& slot) noexcept {
  const OperatorOutput& out = slot.out;
  const StreamSet& streams = device_->stream_set(stream_set_);
  const bool on_device = slot.out_space == MemorySpace::kCuda;
  // With zero copy, a result in ordinary memory waits in `host_out` for the caller to copy it.
  slot.downloading = !on_device && (!device_->zero_copy() || is_host(slot.out_space));
  OCELLUS_TRY(cuda(kCudaCalls.record_event, slot.computed, streams.compute));
  if (!slot.downloading) {
    if (!on_device) return {};
    const StreamHandle stream = out.planes[0].stream;
    if (stream == nullptr || stream == streams.compute) return {};
    return cuda(kCudaCalls.wait_for_event, static_cast<cudaStream_t>(stream), slot.computed, 0U);
  }
  OCELLUS_TRY(cuda(kCudaCalls.wait_for_event, streams.download, slot.computed, 0U));
  if (is_host(slot.out_space)) {
    OCELLUS_TRY(queue_chunks(cuda, slot));
  } else {
    for (int p = 0, next = 0; p < planes(); p = next) {
      const StagedPlane& from = staged_result(slot, p);
      const ImageView& to = out.planes[static_cast<std::size_t>(p)];
      next = p + 1;
      if (to.data == nullptr) continue;
      // Copy planes that are adjacent, as they are on the device, in one call.
      int rows = from.rows;
      for (; next < planes(); ++next) {
        const ImageView& plane = out.planes[static_cast<std::size_t>(next)];
        const StagedPlane& place = staged(next);
        const bool follows =
            plane.data == to.row<char>(rows) && plane.stride == to.stride &&
            place.row_bytes == from.row_bytes &&
            place.offset == from.offset + static_cast<std::size_t>(rows) * from.stride;
        if (!follows) break;
        rows += staged(next).rows;
      }
      OCELLUS_TRY(cuda(kCudaCalls.copy_2d, to.data, static_cast<std::size_t>(to.stride),
                       slot.device_out + from.offset, from.stride, from.row_bytes,
                       static_cast<std::size_t>(rows), cudaMemcpyDeviceToHost, streams.download));
    }
  }
  return cuda(kCudaCalls.record_event, slot.done, streams.download);
}

Expected<void> CudaOperator::queue_chunks(Scope& cuda, Slot& slot) noexcept {
  const cudaStream_t stream = device_->stream_set(stream_set_).download;
  slot.chunk_count = 0;
  for (int p = 0; p < planes(); ++p) {
    const ImageView& plane = slot.out.planes[static_cast<std::size_t>(p)];
    if (plane.data == nullptr) continue;
    const StagedPlane& place = staged_result(slot, p);
    for (int c = 0; c < chunks_per_plane_; ++c) {
      const int begin = place.rows * c / chunks_per_plane_;
      const int end = place.rows * (c + 1) / chunks_per_plane_;
      if (begin == end) continue;
      const std::size_t offset = static_cast<std::size_t>(begin) * place.stride;
      char* const from = slot.host_out + place.offset + offset;
      Chunk& chunk = slot.chunks[static_cast<std::size_t>(slot.chunk_count++)];
      chunk.block = {
          plane.row<char>(begin), plane.stride, from, static_cast<std::ptrdiff_t>(place.stride),
          place.row_bytes,        end - begin};
      if (!device_->zero_copy()) {
        OCELLUS_TRY(cuda(kCudaCalls.copy_2d, from, place.stride,
                         slot.device_out + place.offset + offset, place.stride, place.row_bytes,
                         static_cast<std::size_t>(end - begin), cudaMemcpyDeviceToHost, stream));
      }
      OCELLUS_TRY(cuda(kCudaCalls.record_event, chunk.arrived, stream));
    }
  }
  return {};
}

Status CudaOperator::wait_event(Scope& cuda, cudaEvent_t event, Deadline deadline, Error& error,
                                bool helping) noexcept {
  const DeviceWait mode = device_->wait_mode();
  if (mode == DeviceWait::kBlock && deadline.is_never()) {
    const Expected<void> done = cuda(kCudaCalls.synchronize_event, event);
    if (done) return Status::kOk;
    error = done.error();
    return error.status;
  }
  for (;;) {
    const Expected<bool> done = cuda.query(event);
    if (!done) {
      error = done.error();
      return error.status;
    }
    if (*done) return Status::kOk;
    if (deadline.passed()) return Status::kDeadlineMissed;
    // Functions of the host take longer than a deadline may be overrun.
    if (deadline.is_never() && host_calls_.help()) continue;
    if (helping && device_->host_copy_pool().help()) continue;
    pause(mode);
  }
}

Expected<void> CudaOperator::wait(int index, Deadline deadline, FrameInfo& result) noexcept {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  const TraceRange range(name(), "wait", slot.in.sequence);
  if (slot.failure.status != Status::kOk)
    return tl::unexpected(device_->lost() ? device_->loss() : slot.failure);
  Scope cuda(*device_, Phase::kRunning, name());
  const bool staged = slot.downloading && is_host(slot.out_space);
  Error error;
  Status status = staged ? copy_out(cuda, slot, deadline, error) : Status::kOk;
  if (status == Status::kOk) status = wait_event(cuda, last_event(slot), deadline, error);
  if (status == Status::kDeadlineMissed)
    return detail::failure(status, "%s", status_message(status));
  if (status != Status::kOk) return tl::unexpected(error);
  done_watch_.taken(index);
  slot.busy = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    forgetting_ = false;
    settle(slot);
    result = slot.result;
  }
  if (slot.stopped)
    return detail::failure(Status::kStopped, "%s", status_message(Status::kStopped));
  if (slot.out.record != nullptr) std::memcpy(slot.out.record, slot.record, info_.record->bytes);
  return measure(cuda, slot, result);
}

void CudaOperator::clear_record(Slot& slot) const noexcept {
  if (slot.record != nullptr) std::memset(slot.record, 0, info_.record->bytes);
}

// Frames end in order, so all previous frames have ended, too, whether they were waited for or not.
void CudaOperator::settle(Slot& slot) noexcept {
  while (!slot.settled) {
    const int index = order_[0];
    std::copy(order_.begin() + 1, order_.begin() + in_flight_, order_.begin());
    --in_flight_;
    Slot& oldest = slots_[static_cast<std::size_t>(index)];
    const FrameOutcome& outcome = outcomes_[index];
    oldest.stopped = outcome.stopped != 0;
    oldest.result = history_.add(oldest.in, info_.delay_frames, outcome.bad != 0);
    if (outcome.bad != 0) clear_record(oldest);
    oldest.settled = true;
  }
}

Expected<void> CudaOperator::measure(Scope& cuda, const Slot& slot, FrameInfo& result) noexcept {
  float milliseconds = 0.0f;
  if (slot.uploading) {
    OCELLUS_TRY(cuda(kCudaCalls.elapsed, &milliseconds, slot.begun, slot.uploaded));
    // Parameters alone are a part of the queue.
    (slot.copies_in ? result.copy_ns : result.queue_ns) = nanoseconds(milliseconds);
    OCELLUS_TRY(cuda(kCudaCalls.elapsed, &milliseconds, slot.uploaded, slot.started));
    result.queue_ns += nanoseconds(milliseconds);
  }
  OCELLUS_TRY(cuda(kCudaCalls.elapsed, &milliseconds, slot.started, slot.computed));
  result.compute_ns = nanoseconds(milliseconds);
  result.copy_ns += slot.copy_in_ns;
  if (!slot.downloading) return {};
  OCELLUS_TRY(cuda(kCudaCalls.elapsed, &milliseconds, slot.computed, slot.done));
  result.copy_ns += nanoseconds(milliseconds);
  if (!is_host(slot.out_space)) return {};
  // Host copies that overlapped the device's work are already part of the device's time.
  OCELLUS_TRY(cuda(kCudaCalls.elapsed, &milliseconds, slot.uploading ? slot.begun : slot.started,
                   slot.done));
  const std::int64_t copying = slot.copy_out_ended_ns - slot.copy_out_begun_ns;
  const std::int64_t beyond = slot.copy_out_ended_ns - slot.queued_ns - nanoseconds(milliseconds);
  result.copy_ns += std::max<std::int64_t>(0, std::min(copying, beyond));
  return {};
}

Status CudaOperator::copy_out(Scope& cuda, Slot& slot, Deadline deadline, Error& error) noexcept {
  slot.copy_out_begun_ns = detail::now_ns();
  // One sleep until the last chunk is better than a sleep for each chunk.
  if (device_->wait_mode() == DeviceWait::kBlock) {
    const Status status = wait_event(cuda, slot.done, deadline, error);
    if (status != Status::kOk) return status;
  }
  HostCopyPool& pool = device_->host_copy_pool();
  const bool pooled = pool.take();
  Status status = Status::kOk;
  std::size_t late = 0;  // bytes that were copied since the deadline has passed
  while (slot.copied < slot.chunk_count) {
    const Chunk& chunk = slot.chunks[static_cast<std::size_t>(slot.copied)];
    status = wait_event(cuda, chunk.arrived, deadline, error, pooled);
    if (status != Status::kOk) break;
    RowBlock block = chunk.block;
    block.to += slot.copied_rows * block.to_stride;
    block.from += slot.copied_rows * block.from_stride;
    block.rows -= slot.copied_rows;
    if (!deadline.is_never()) {
      const auto rows = static_cast<int>((kSliceBytes - late) / block.row_bytes);
      if (late > 0 && rows == 0) {
        status = Status::kDeadlineMissed;
        break;
      }
      block.rows = std::clamp(rows, 1, block.rows);
    }
    if (pooled) {
      pool.add(block);
      if (!deadline.is_never()) pool.finish();
    } else {
      copy_rows(block);
    }
    slot.copied_rows += block.rows;
    if (slot.copied_rows == chunk.block.rows) {
      ++slot.copied;
      slot.copied_rows = 0;
    }
    if (deadline.passed()) {
      const std::size_t bytes = static_cast<std::size_t>(block.rows) * block.row_bytes;
      late = std::min(kSliceBytes, late + bytes);
    }
  }
  if (pooled) {
    pool.finish();
    pool.give_back();
  }
  slot.copy_out_ended_ns = detail::now_ns();
  return status;
}

// Work that is on the device cannot be canceled.
Expected<CancelOutcome> CudaOperator::try_cancel(int index) noexcept {
  const Slot& slot = slots_[static_cast<std::size_t>(index)];
  if (slot.failure.status != Status::kOk)
    return tl::unexpected(device_->lost() ? device_->loss() : slot.failure);
  Scope cuda(*device_, Phase::kRunning, name());
  OCELLUS_TRY_ASSIGN(done, cuda.query(last_event(slot)));
  return *done ? CancelOutcome::kDone : CancelOutcome::kBegun;
}

Expected<int> CudaOperator::create_event_fd() noexcept {
  OCELLUS_TRY_ASSIGN(made, done_event_.create());
  OCELLUS_TRY(done_watch_.start(*device_, name()));
  return made;
}

void CudaOperator::stop() noexcept {
  set_stop_flag(1);
}

bool CudaOperator::is_stopped() const noexcept {
  return std::atomic_ref<std::uint32_t>(*stop_flag_).load(std::memory_order_relaxed) != 0;
}

void CudaOperator::cancel(int index) noexcept {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  if (!slot.busy) return;
  done_watch_.taken(index);
  slot.busy = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto end = order_.begin() + in_flight_;
    // The slot is not in the list if a later frame was waited for, because that frame's result
    // implies that this one is computed.
    const auto at = std::find(order_.begin(), end, index);
    if (at != end) {
      std::copy(at + 1, end, at);
      --in_flight_;
    }
  }
  Scope cuda(*device_, Phase::kRunning, name());
  Error error;
  if (slot.failure.status == Status::kOk &&
      wait_event(cuda, last_event(slot), Deadline::never(), error) == Status::kOk)
    return;
  // The last event may not have been recorded, or waiting for it has failed.
  Scope failing(*device_, Phase::kCreating, name());
  const StreamSet& streams = device_->stream_set(stream_set_);
  for (const cudaStream_t stream : {streams.upload, streams.compute, streams.download})
    device_->finish(failing, stream);
}

void CudaOperator::reset() noexcept {
  set_stop_flag(0);
  Scope cuda(*device_, Phase::kRunning, name());
  // After a failure the next frame tries again and reports the error if that fails, too.
  state_stands_ = false;
  static_cast<void>(forget_on_device(cuda));
  history_.forget();
}

Expected<void> CudaOperator::finish_frames() noexcept {
  Scope cuda(*device_, Phase::kRunning, name());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (in_flight_ == 0) return {};
  // Frames are computed in order.
  const Slot& newest =
      slots_[static_cast<std::size_t>(order_[static_cast<std::size_t>(in_flight_ - 1)])];
  if (newest.failure.status != Status::kOk)
    return tl::unexpected(device_->lost() ? device_->loss() : newest.failure);
  return cuda(kCudaCalls.synchronize_event, newest.computed);
}

Expected<void> CudaOperator::forget_on_device(Scope& cuda) noexcept {
  const Expected<void> done = cuda(kCudaCalls.set, state_, 0, sizeof(TemporalState),
                                   device_->stream_set(stream_set_).compute);
  state_stands_ = done.has_value();
  forgetting_ = forgetting_ || state_stands_;
  return done;
}

}  // namespace ocellus::cuda
