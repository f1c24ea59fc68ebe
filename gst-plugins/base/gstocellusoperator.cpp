#include "base/gstocellusoperator.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "apps/common/gst_video.h"
#include "core/failure.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

namespace gst_ocellus {

// Results in pinned memory save the CPU a copy. Besides the results in flight, this many may be
// held downstream. The total amount of pinned memory is limited.
static constexpr gsize kPinnedDownstream = 7;
static constexpr gsize kPinnedBytes = gsize{256} << 20;

// ---- creation

bool ElementOperator::is_on_device() const {
  return caps_.cuda && engine_->info().backend == BackendKind::kCuda;
}

// Buffers of one size; none if `bytes` is 0.
static Expected<std::vector<Buffer>> make_buffers(Engine& engine, MemorySpace space, gsize bytes,
                                                  int count) {
  std::vector<Buffer> buffers;
  for (int i = 0; bytes > 0 && i < count; ++i) {
    OCELLUS_TRY_ASSIGN(buffer, Buffer::create(engine, space, bytes));
    buffers.push_back(std::move(*buffer));
  }
  return buffers;
}

Expected<void> ElementOperator::create(EngineConfig config, const VideoCaps& caps, bool keep_old) {
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(element_);
  OCELLUS_TRY_ASSIGN(engine_info, Engine::probe(config));
  const Options options = state_.take_options();
  OCELLUS_TRY_ASSIGN(made, options.make());
  const GstVideoInfo& video = caps.video;
  set_input(*made, video);
  const OperatorConfig settings = *made;
  if (klass->adapt != nullptr) klass->adapt(element_, *made);
  const Expected<OperatorInfo> info = made->info();
  if (!info) return options.named(info.error());
  const Expected<Footprint> footprint = made->footprint(*engine_info);
  if (!footprint) return options.named(footprint.error());

  PoolSet::Config results;
  results.produces_video = info->planes[0].follows_frame;
  results.depth = static_cast<guint>(info->depth);
  if (!results.produces_video) results.result_bytes = Results::plane_bytes(*info);
  config.memory = *footprint;
  const auto add_buffers = [&config](MemorySpace space, gsize bytes, guint count) {
    for (guint i = 0; bytes > 0 && i < count; ++i) config.memory += Buffer::footprint(space, bytes);
  };
  gsize fetched_stride = 0;
  gsize fetched_bytes = 0;
  if (engine_info->backend == BackendKind::kCuda) {
    if (!results.produces_video) {
      results.pinned_results = static_cast<guint>(
          std::clamp(kPinnedBytes / MAX(results.result_bytes, gsize{1}), gsize{results.depth + 1},
                     gsize{results.depth + kPinnedDownstream}));
    }
    add_buffers(MemorySpace::kPinned, results.result_bytes, results.pinned_results);
    if (caps.cuda) {
      fetched_stride = GST_ROUND_UP_N(GstOcellusPicture::row_bytes(video, 0), kMemoryAlignment);
      fetched_bytes = fetched_stride * static_cast<gsize>(GstOcellusPicture::rows(video, 0));
      add_buffers(MemorySpace::kCuda, fetched_bytes, results.depth);
    }
  }

  // What an operator has learned is only in its memory.
  const bool learned = exists() && info_.learns;
  if (!learned && !keep_old) destroy();
  OCELLUS_TRY_ASSIGN(engine, Engine::create(config));
  OCELLUS_TRY_ASSIGN(fetched,
                     make_buffers(*engine, MemorySpace::kCuda, fetched_bytes, info->depth));
  Expected<OperatorHandle> op = made->create(*engine);
  if (!op) return options.named(op.error());
  PoolSet pools(caps_, state_.context);
  OCELLUS_TRY(pools.create(results, *engine, caps.caps.get()));
  reset();
  if (learned) {
    OCELLUS_TRY_ASSIGN(moved, move_learned(*op));
    if (!*moved) {  // the new one may hold a part of it
      op = tl::unexpected(Error{});
      op = made->create(*engine);
      if (!op) return options.named(op.error());
    }
  }

  // From here on, nothing fails.
  results_.begin(klass->description->name, op->info(),
                 klass->region != nullptr ? klass->region(settings) : Rect{});
  if (klass->begin != nullptr) klass->begin(element_, settings);
  info_ = *info;
  options_ = options;
  state_.set_running({video, info_.learns});
  fetched_ = std::move(*fetched);
  fetched_stride_ = fetched_stride;
  pools_.take(pools);
  set_operator(std::move(*op));
  engine_ = std::move(*engine);

  const EngineInfo& got = engine_->info();
  std::string name = backend_name(got.backend);
  if (got.device >= 0) name += ":" + std::to_string(got.device);
  GST_INFO_OBJECT(element_,
                  "backend %s (%s, %s), %d workers, zero copy %s, %" G_GSIZE_FORMAT
                  " bytes of host memory, delay %g frames, %u frames in flight",
                  name.c_str(), got.device_name, got.simd_target, got.workers,
                  got.zero_copy ? "on" : "off", footprint->host,
                  static_cast<double>(info_.delay_frames), depth());
  state_.set_active_backend(name);
  return {};
}

// Moves what the operator has learned to the one that takes its place. Returns false where a lost
// device held it: it cannot be read.
Expected<bool> ElementOperator::move_learned(OperatorHandle& to) {
  const Expected<void> moved = [&] {
    const Turn turn(*this);
    return to.take_learned(*op_);
  }();
  if (moved) return true;
  if (moved.error().status != Status::kDeviceLost) return tl::unexpected(moved.error());
  GST_ELEMENT_WARNING(element_, RESOURCE, FAILED,
                      ("What the operator has learned is lost. It begins with its model again."),
                      ("%s", moved.error().text));
  changed_ = false;
  return false;
}

Expected<void> ElementOperator::save_model(const char* path) {
  const Turn turn(*this);
  if (op_) return op_->save_model(path);
  return tl::unexpected(
      make_error(Status::kUnsupported,
                 "there is no operator to save: the element creates it when the caps are known"));
}

// The operator before has no frame in flight, so its destruction is short.
void ElementOperator::set_operator(std::optional<OperatorHandle> op) {
  const Turn turn(*this);
  const std::lock_guard<std::mutex> lock(stop_mutex_);
  op_ = std::move(op);
  if (op_ && stopping_) op_->stop();
}

void ElementOperator::destroy() {
  reset();
  set_operator(std::nullopt);
  changed_ = false;
  fetched_.clear();
  engine_.reset();
}

// ---- frames in flight

// Unmaps all planes and releases the result.
void ElementOperator::unmap(FrameInFlight* frame) {
  frame->input.unmap();
  frame->target.unmap();
  if (!produces_video() && frame->result != nullptr)
    gst_buffer_unmap(frame->result, &frame->result_map);
  gst_clear_buffer(&frame->result);
}

// Releases the memory of a frame that the operator has finished or has lost by a reset.
void ElementOperator::release(FrameInFlight* frame) {
  // Memory that the device may still write must not be released, even if the result is not needed.
  if (frame->chroma_on_device) {
    // If the device fails here, it also fails in the next frame, where the error is posted.
    if (const Expected<void> written = state_.context.get()->finish(); !written)
      GST_DEBUG_OBJECT(element_, "chroma could not be written: %s", written.error().text);
    frame->chroma_on_device = false;
  }
  unmap(frame);
  gst_clear_buffer(&frame->task.picture);
}

void ElementOperator::release_oldest() {
  release(&frame(0));
  first_ = (first_ + 1) % depth();
  --count_;
}

void ElementOperator::drop_frames() {
  for (guint i = 0; i < count_; ++i) release(&frame(i));
  first_ = count_ = 0;
}

void ElementOperator::reset() {
  if (op_) {
    const Turn turn(*this);
    op_->reset();
    const std::lock_guard<std::mutex> lock(stop_mutex_);
    if (stopping_) op_->stop();
  }
  drop_frames();
}

void ElementOperator::stop() {
  const std::lock_guard<std::mutex> lock(stop_mutex_);
  stopping_ = true;
  if (op_) op_->stop();
}

void ElementOperator::go_on() {
  const std::lock_guard<std::mutex> lock(stop_mutex_);
  stopping_ = false;
}

// Maps the first `planes` planes of `picture` and sets the first one in `frame`. `copied`: set if
// the element or GStreamer copies the pixels.
Expected<void> ElementOperator::map_input(GstBuffer* picture, int planes, guint slot, Frame* frame,
                                          bool* copied) {
  GstOcellusPicture* input = &slots_[slot].input;
  const GstOcellusCuda* cuda = state_.context.get();
  const bool has_meta = gst_buffer_get_video_meta(picture) != nullptr;
  const auto place = caps_.cuda ? cuda->place_of(picture) : GstOcellusCuda::Place{};
  // Only the meta has the row stride, because CUDA memory is padded.
  if (caps_.cuda && (!place.in_cuda || gst_buffer_n_memory(picture) != 1 || !has_meta)) {
    return tl::unexpected(make_error(
        Status::kInvalidArgument,
        "the caps have the feature " GST_OCELLUS_CUDA_FEATURE
        ", but the buffer has %u memories, the first is %s CUDA memory, and it has %s "
        "GstVideoMeta; it must have one CUDA memory and a GstVideoMeta",
        gst_buffer_n_memory(picture), place.in_cuda ? "in" : "not in", has_meta ? "a" : "no"));
  }
  const bool on_device = is_on_device();
  const auto flags = static_cast<GstMapFlags>(GST_MAP_READ | (on_device ? cuda->map_flag() : 0));
  *copied = caps_.cuda ? !on_device || place.stale : !has_meta && gst_buffer_n_memory(picture) > 1;
  OCELLUS_TRY(input->map(picture, caps_.video, planes, flags));
  frame->data = input->plane(0);
  frame->stride = input->stride(0);
  if (!on_device) return {};
  frame->space = MemorySpace::kCuda;
  if (place.ours) {
    frame->stream = cuda->ready_after(picture);
    return {};
  }
  *copied = true;
  Buffer& fetched = fetched_[slot];
  const Expected<StreamHandle> ready =
      cuda->fetch(picture, input->plane(0), static_cast<gsize>(input->stride(0)), fetched.data(),
                  fetched_stride_, GstOcellusPicture::row_bytes(caps_.video, 0),
                  static_cast<gsize>(GstOcellusPicture::rows(caps_.video, 0)));
  if (!ready) {
    input->unmap();
    return tl::unexpected(ready.error());
  }
  frame->data = fetched.data();
  frame->stride = static_cast<std::ptrdiff_t>(fetched_stride_);
  frame->stream = *ready;
  return {};
}

// Maps the result of a frame and sets its planes in `output`.
Expected<void> ElementOperator::map_result(FrameInFlight* frame, OperatorOutput* output) {
  if (!produces_video()) {
    if (!gst_buffer_map(frame->result, &frame->result_map, GST_MAP_READWRITE)) {
      return tl::unexpected(make_error(Status::kSystem, "the memory of a result cannot be mapped"));
    }
    for (int p = 0; p < info_.plane_count; ++p) {
      ImageView& view = output->planes[static_cast<gsize>(p)];
      view = results_.plane(frame->result_map.data, p);
      view.space = gst_ocellus_result_space(frame->result);
    }
    return {};
  }
  const bool on_device = is_on_device();
  const auto flags =
      static_cast<GstMapFlags>(GST_MAP_WRITE | (on_device ? state_.context.get()->map_flag() : 0));
  OCELLUS_TRY(frame->target.map(frame->result, caps_.video,
                                static_cast<int>(GST_VIDEO_INFO_N_PLANES(&caps_.video)), flags));
  ImageView& first = output->planes[0];
  first.data = frame->target.plane(0);
  first.size = info_.planes[0].size;
  first.stride = frame->target.stride(0);
  first.format = app::pixel_format(caps_.video);
  if (on_device) {
    first.space = MemorySpace::kCuda;
    first.stream = state_.context.get()->writable_after(frame->result);
  }
  return {};
}

// Writes the chroma planes of I420, NV12 and P010_10LE while the operator computes luma.
Expected<void> ElementOperator::write_chroma(FrameInFlight* frame, bool keep) {
  constexpr int kNeutral = 128;
  const GstVideoInfo& video = caps_.video;
  for (int i = 1; i < static_cast<int>(GST_VIDEO_INFO_N_PLANES(&video)); ++i) {
    const gsize bytes = GstOcellusPicture::row_bytes(video, i);
    const auto rows = static_cast<gsize>(GstOcellusPicture::rows(video, i));
    guint8* to = frame->target.plane(i);
    const auto stride = static_cast<gsize>(frame->target.stride(i));
    const guint8* from = keep ? frame->input.plane(i) : nullptr;
    const gsize from_stride = keep ? static_cast<gsize>(frame->input.stride(i)) : 0;
    if (is_on_device()) {
      frame->chroma_on_device = true;
      Expected<void> queued;
      if (keep) {
        const auto copied = state_.context.get()->fetch(frame->task.picture, from, from_stride, to,
                                                        stride, bytes, rows);
        if (!copied) queued = tl::unexpected(copied.error());
      } else {
        queued = state_.context.get()->fill(to, stride, bytes, rows, kNeutral);
      }
      if (!queued) return queued;
      continue;
    }
    for (gsize row = 0; row < rows; ++row) {
      guint8* const line = to + row * stride;
      if (keep)
        std::memcpy(line, from + row * from_stride, bytes);
      else
        std::memset(line, kNeutral, bytes);
      // The lower bytes of neutral chroma in 16 bits.
      for (gsize at = 0; !keep && app::is_wide(video) && at < bytes; at += 2) line[at] = 0;
    }
  }
  return {};
}

// Submits the frame at `index`. `bad_picture`: set if the buffer does not match the caps. The
// operator may have the frame even after an error.
Expected<void> ElementOperator::begin(guint index, bool* bad_picture) {
  const guint slot = (first_ + index) % depth();
  FrameInFlight* next = &slots_[slot];
  GstBuffer* picture = next->task.picture;
  const bool keep_chroma = produces_video() && info_.planes[0].color == PictureColor::kKept;
  const int planes = keep_chroma ? static_cast<int>(GST_VIDEO_INFO_N_PLANES(&caps_.video)) : 1;
  if (app::is_interlaced(caps_.video, picture)) {
    *bad_picture = true;
    return tl::unexpected(make_interlaced_error(caps_.video));
  }
  Frame frame;
  bool copied = false;
  if (Expected<void> mapped = map_input(picture, planes, slot, &frame, &copied); !mapped) {
    *bad_picture = mapped.error().status == Status::kInvalidArgument;
    return mapped;
  }
  next->result = pools_.acquire_result(GST_BASE_TRANSFORM_SRC_PAD(element_));
  if (next->result == nullptr) {
    next->input.unmap();
    return tl::unexpected(make_error(Status::kOutOfMemory,
                                     "there is no memory for a result of %zu bytes",
                                     pools_.result_bytes()));
  }
  OperatorOutput output;
  if (info_.record != nullptr) output.record = next->record.data();
  if (Expected<void> mapped = map_result(next, &output); !mapped) {
    next->input.unmap();
    gst_clear_buffer(&next->result);
    return mapped;
  }

  frame.size = {GST_VIDEO_INFO_WIDTH(&caps_.video), GST_VIDEO_INFO_HEIGHT(&caps_.video)};
  frame.format = app::pixel_format(caps_.video);
  frame.sequence = next->task.sequence;
  // GST_CLOCK_TIME_NONE is returned unchanged.
  frame.timestamp_ns = static_cast<gint64>(GST_BUFFER_PTS(picture));
  const Expected<Ticket> ticket = [&] {
    const Turn turn(*this);
    return op_->submit(frame, output);
  }();
  if (!ticket) {
    unmap(next);
    return tl::unexpected(ticket.error());
  }
  next->ticket = *ticket;
  changed_ = info_.learns;
  if (produces_video()) {
    OCELLUS_TRY(write_chroma(next, keep_chroma));
  }
  if (copied) state_.count(&Counts::copies);
  return {};
}

// For a buffer that does not match the caps, or that is in the memory of a lost device.
void ElementOperator::post_bad_picture(const Error& error) {
  if (!caps_.cuda || !state_.fallen_back()) return post_bad_buffer(element_, error);
  GST_ELEMENT_ERROR(
      element_, RESOURCE, FAILED,
      ("The device was lost, and the frames are in its memory (" GST_OCELLUS_CUDA_FEATURE
       "), which the CPU cannot read. Put the element cudadownload before this element, "
       "so that on-device-loss=cpu can continue."),
      ("%s", error.text));
}

// Submits the newest frame of the ring. Returns GST_FLOW_ERROR after posting an error.
GstFlowReturn ElementOperator::submit_newest() {
  bool bad_picture = false;
  const Expected<void> begun = begin(count_ - 1, &bad_picture);
  if (begun) return GST_FLOW_OK;
  const Error error = begun.error();
  if (error.status == Status::kDeviceLost) {
    const Recovery recovery = recover(error);
    if (recovery == Recovery::kDone) return GST_FLOW_OK;
    if (recovery == Recovery::kNotAllowed) post_error(element_, error);
    // The results of all frames in flight are lost.
    reset();
    return recovery == Recovery::kStopped ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
  }
  // A pad that flushes has no caps and no pool.
  const bool flushing = error.status == Status::kStopped ||
                        (error.status == Status::kOutOfMemory &&
                         GST_PAD_IS_FLUSHING(GST_BASE_TRANSFORM_SRC_PAD(element_)));
  if (bad_picture)
    post_bad_picture(error);
  else if (!flushing)
    post_error(element_, error);
  FrameInFlight& newest = frame(count_ - 1);
  if (newest.result != nullptr) {
    newest.task.abandoned = true;
  } else {
    release(&newest);
    --count_;
  }
  return flushing ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

GstFlowReturn ElementOperator::submit(const FrameTask& task) {
  ++count_;
  FrameTask& newest = frame(count_ - 1).task;
  newest = task;
  gst_buffer_ref(newest.picture);
  return submit_newest();
}

// Calls of `wait` that tell whether a frame is done. A CUDA device brings a result to ordinary
// memory in pieces, and a call whose deadline has passed copies one of them.
int ElementOperator::looks_at(const FrameInFlight& frame, Deadline deadline) const {
  constexpr gsize kSmallestPiece = gsize{256} << 10;
  if (!deadline.passed() || engine_->info().backend != BackendKind::kCuda || is_on_device())
    return 1;
  if (!produces_video() && gst_ocellus_result_space(frame.result) == MemorySpace::kPinned) return 1;
  return static_cast<int>(pools_.result_bytes() / kSmallestPiece) + 2;
}

Expected<FrameInfo> ElementOperator::look(const FrameInFlight& frame, Deadline deadline) {
  const Turn turn(*this);
  return op_->wait(frame.ticket, deadline);
}

Outcome ElementOperator::wait_oldest(Deadline deadline, FrameInfo* info) {
  for (;;) {
    FrameInFlight& oldest = frame(0);
    Expected<FrameInfo> done = look(oldest, deadline);
    for (int looks = looks_at(oldest, deadline); !done && looks > 1; --looks) {
      if (done.error().status != Status::kDeadlineMissed) break;
      done = look(oldest, deadline);
    }
    if (done && oldest.chroma_on_device) {
      if (const Expected<void> written = state_.context.get()->finish(); !written)
        done = tl::unexpected(written.error());
      else
        oldest.chroma_on_device = false;
    }
    if (done) {
      *info = *done;
      return Outcome::kDone;
    }
    const Error error = done.error();
    if (error.status == Status::kDeadlineMissed) return Outcome::kNotYet;
    if (error.status == Status::kStopped) return Outcome::kStopped;
    Recovery recovery = Recovery::kNotAllowed;
    if (error.status == Status::kDeviceLost) recovery = recover(error);
    if (recovery == Recovery::kDone) continue;
    if (recovery == Recovery::kStopped) return Outcome::kStopped;
    if (recovery == Recovery::kNotAllowed) post_error(element_, error);
    return Outcome::kFailed;
  }
}

// Called when the device is lost. kDone: the operator was created again on the CPU. It then has an
// empty temporal state and the frames in flight. kFailed: an error has been posted.
// kStopped: the element stops or flushes.
ElementOperator::Recovery ElementOperator::recover(const Error& error) {
  if (!state_.begin_fallback()) return Recovery::kNotAllowed;
  // The memory of the newest result belongs to the lost device.
  results_.forget_newest();
  std::array<FrameTask, kMaxDepth> tasks;
  const guint count = count_;
  for (guint i = 0; i < count; ++i) tasks[i] = std::exchange(frame(i).task, FrameTask{});

  Expected<EngineConfig> config = state_.engine_config();
  const Expected<void> made =
      config ? create(*config, caps_) : Expected<void>(tl::unexpected(config.error()));
  guint submitted = 0;
  GstFlowReturn flow = GST_FLOW_OK;
  if (made) {
    GST_ELEMENT_WARNING(element_, RESOURCE, FAILED,
                        ("The device was lost. The element continues on the CPU."),
                        ("%s", error.text));
    while (submitted < count && (flow = submit(tasks[submitted])) == GST_FLOW_OK) ++submitted;
  } else {
    post_error(element_, made.error());
  }
  for (guint i = 0; i < count; ++i) gst_buffer_unref(tasks[i].picture);
  if (flow == GST_FLOW_FLUSHING) return Recovery::kStopped;
  return made && submitted == count ? Recovery::kDone : Recovery::kFailed;
}

}  // namespace gst_ocellus
