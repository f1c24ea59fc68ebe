#include "base/gstocellusstream.h"

#include <string>
#include <utility>

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

namespace gst_ocellus {

Stream::Stream(GstOcellusBase* element, const OperatorDescription& description)
    : state(element, description), element_(element) {
  ready_.reserve(kMaxDepth + 1);
}

// ---- one frame

namespace {

// The property `budget`. It counts from the arrival of a frame.
class Budget {
 public:
  explicit Budget(guint64 nanoseconds)
      : limited_(nanoseconds > 0 && nanoseconds <= static_cast<guint64>(G_MAXINT64)),
        allowed_(limited_ ? static_cast<gint64>(nanoseconds) : 0) {}

  // The remaining time is passed, because Deadline::after treats a time that the clock cannot
  // represent as "never".
  Deadline deadline(Clock::time_point arrival) const {
    return limited_ ? Deadline::after(allowed_ - (Clock::now() - arrival)) : Deadline::never();
  }
  bool is_over(Clock::duration elapsed) const { return limited_ && elapsed > allowed_; }

 private:
  bool limited_;
  std::chrono::nanoseconds allowed_;
};

// The end of a frame that has no result.
GstFlowReturn flow_of(Outcome outcome) {
  return outcome == Outcome::kStopped ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

}  // namespace

// Waits for the oldest frame in flight and removes it from the operator.
Outcome Stream::finish_oldest(Deadline deadline, FinishedFrame* frame) {
  GstOcellusResult& result = frame->result;
  const Outcome outcome = op_.wait_oldest(deadline, &result.info);
  // If `wait` fails, the frame stays in flight until the operator is reset.
  if (outcome == Outcome::kFailed || outcome == Outcome::kStopped) op_.reset();
  if (outcome != Outcome::kDone) return outcome;
  FrameInFlight& oldest = op_.frame(0);
  result.data = gst_buffer_ref(oldest.result);
  result.record = oldest.record;
  frame->task = std::exchange(oldest.task, FrameTask{});
  op_.release_oldest();
  // Pictures that are held back may have to be pushed before their results are ready.
  if (hold_ > 0 || state.get(state.properties.on_miss) == GST_OCELLUS_ON_MISS_REUSE)
    results_.remember(result);
  return Outcome::kDone;
}

// Whether downstream would drop this picture as too late.
bool Stream::is_too_late(GstBuffer* picture, GstClockTimeDiff* jitter) const {
  GstBaseTransform* trans = GST_BASE_TRANSFORM(element_);
  if (!gst_base_transform_is_qos_enabled(trans) || trans->segment.format != GST_FORMAT_TIME)
    return false;
  const GstClockTime running =
      gst_segment_to_running_time(&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(picture));
  const GstClockTime earliest = state.get(state.earliest_time);
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(earliest) || running > earliest)
    return false;
  *jitter = GST_CLOCK_DIFF(running, earliest);
  return true;
}

OwnedBuffer Stream::take_oldest_held() {
  OwnedBuffer picture(held_.front().picture);
  held_.erase(held_.begin());
  return picture;
}

// Without a frame rate, the latency is the longest time for which a picture was kept.
void Stream::measure_latency(GstBuffer* picture) {
  if (frames_kept() == 0 || GST_VIDEO_INFO_FPS_N(&caps_.video) != 0) return;
  const GstClockTime now = timeline_.last_pts();
  const GstClockTime then = GST_BUFFER_PTS(picture);
  if (!GST_CLOCK_TIME_IS_VALID(now) || !GST_CLOCK_TIME_IS_VALID(then)) return;
  const GstClockTime kept = now > then ? now - then : then - now;
  if (kept > state.latency) state.set_latency(kept);
}

// Appends to `ready` the buffer that is due for a frame: its own picture, or the picture that the
// result describes. Takes ownership of the picture. `result`: null if the frame missed its budget
// and is not waited for. `dropped`: set if a picture is dropped.
GstFlowReturn Stream::deliver(const FrameSettings& settings, const FrameTask& task,
                              GstOcellusResult* result, bool missed, bool* dropped) {
  const Clock::duration elapsed = Clock::now() - task.arrival;
  missed = missed || Budget(settings.budget).is_over(elapsed);
  if (result != nullptr) result->late = missed;

  OwnedBuffer picture(task.picture);
  if (hold_ > 0) {
    held_.push_back({picture.release(), task.sequence});
    if (held_.size() > hold_) picture = take_oldest_held();
  }
  if (picture != nullptr) measure_latency(picture.get());

  GstClockTimeDiff jitter = 0;
  const bool late_downstream = picture != nullptr && !task.skipped && frames_kept() > 0 &&
                               is_too_late(picture.get(), &jitter);
  const bool drop_missed = missed && settings.on_miss == GST_OCELLUS_ON_MISS_DROP;
  const bool drop = picture != nullptr && (task.skipped || late_downstream || drop_missed);
  state.record_frame(elapsed, missed);
  if (drop) state.count(&Counts::dropped);
  if (missed) {
    const GstClockTime taken = nanoseconds(elapsed);
    GST_DEBUG_OBJECT(element_,
                     "budget of %" G_GUINT64_FORMAT " ns missed: %" G_GUINT64_FORMAT " ns",
                     settings.budget, taken);
    // The picture is still referenced: it is pushed now, or held back.
    post_qos(task.picture,
             static_cast<GstClockTimeDiff>(taken) - static_cast<GstClockTimeDiff>(settings.budget),
             static_cast<gdouble>(taken) / static_cast<gdouble>(settings.budget));
  }
  if (late_downstream) post_qos(picture.get(), jitter, 1.0);

  if (picture == nullptr) return GST_FLOW_OK;
  if (drop) {
    mark_discont_ = true;
    *dropped = true;
    return GST_FLOW_OK;
  }
  GstOcellusResult old;
  if (result == nullptr && settings.on_miss == GST_OCELLUS_ON_MISS_REUSE) {
    old = results_.newest();
    if (old.data != nullptr) result = &old;
  }
  GstBuffer* buffer = wrap_output(std::move(picture), result);
  if (buffer == nullptr) return GST_FLOW_ERROR;
  ready_.push_back(buffer);
  if (result != nullptr) post_frame(buffer, task.arrival, nanoseconds(elapsed));
  return GST_FLOW_OK;
}

// Applies `on-miss` to a frame that missed its budget, while the operator still has it.
GstFlowReturn Stream::abandon(const FrameSettings& settings, FrameTask* task, bool* dropped) {
  task->abandoned = true;
  gst_buffer_ref(task->picture);
  return deliver(settings, *task, nullptr, true, dropped);
}

// Delivers all finished frames, and the oldest one if the operator has no free slot. `all`:
// delivers every frame. Waits for a frame that is due within its budget, then applies `on-miss`.
GstFlowReturn Stream::collect(bool all, bool* dropped) {
  const auto settings = state.get<FrameSettings>(state.properties);
  const Budget budget(settings.budget);
  while (op_.in_flight() > 0) {
    const bool abandoned = op_.frame(0).task.abandoned;
    // The temporal state needs every frame, so an abandoned frame is finished, too.
    const bool due = all || (is_full() && !abandoned);
    Deadline deadline = Deadline::immediate();
    if (due) deadline = abandoned ? Deadline::never() : budget.deadline(op_.frame(0).task.arrival);
    FinishedFrame frame;
    Outcome outcome = finish_oldest(deadline, &frame);
    bool missed = false;
    if (outcome == Outcome::kNotYet) {
      if (!due) break;
      missed = true;
      if (settings.on_miss == GST_OCELLUS_ON_MISS_POST) {
        outcome = finish_oldest(Deadline::never(), &frame);
      } else {
        const GstFlowReturn flow = abandon(settings, &op_.frame(0).task, dropped);
        if (flow != GST_FLOW_OK) return flow;
        continue;
      }
    }
    if (outcome != Outcome::kDone) return flow_of(outcome);
    if (abandoned) {
      frame.clear();
      continue;
    }
    const GstFlowReturn flow = deliver(settings, frame.task, &frame.result, missed, dropped);
    gst_clear_buffer(&frame.result.data);
    if (flow != GST_FLOW_OK) return flow;
  }
  if (settings.on_miss == GST_OCELLUS_ON_MISS_POST) return GST_FLOW_OK;
  const Clock::time_point now = Clock::now();
  for (guint i = 0; i < op_.in_flight(); ++i) {
    FrameTask* task = &op_.frame(i).task;
    if (task->abandoned) continue;
    // Frames leave in order: those after one that is in time are not looked at.
    if (!budget.is_over(now - task->arrival)) break;
    const GstFlowReturn flow = abandon(settings, task, dropped);
    if (flow != GST_FLOW_OK) return flow;
  }
  return GST_FLOW_OK;
}

// If the operator is full, its oldest frame is an abandoned one.
GstFlowReturn Stream::make_room() {
  if (!is_full()) return GST_FLOW_OK;
  FinishedFrame frame;
  const Outcome outcome = finish_oldest(Deadline::never(), &frame);
  if (outcome != Outcome::kDone) return flow_of(outcome);
  frame.clear();
  return GST_FLOW_OK;
}

// Creates the operator again with new options. The frames before have the old ones.
GstFlowReturn Stream::take_options() {
  if (const GstFlowReturn flow = drain(); flow != GST_FLOW_OK) return flow;
  const guint kept = frames_kept();
  const Expected<EngineConfig> config = state.engine_config();
  const Expected<void> made =
      config ? op_.create(*config, caps_, true) : Expected<void>(tl::unexpected(config.error()));
  if (!made) {
    state.refuse(op_.options());
    post_refused(element_, made.error());
    return GST_FLOW_OK;
  }
  begin_operator();
  // Upstream's pool may be too small.
  if (frames_kept() > kept) gst_base_transform_reconfigure_sink(GST_BASE_TRANSFORM(element_));
  return GST_FLOW_OK;
}

GstFlowReturn Stream::take_picture(OwnedBuffer picture, bool skipped, Clock::time_point arrival) {
  if (!op_.exists()) return GST_FLOW_NOT_NEGOTIATED;
  if (state.has_new_options())
    if (const GstFlowReturn flow = take_options(); flow != GST_FLOW_OK) return flow;
  if (skipped && !op_.info().keeps_state) {
    state.count(&Counts::dropped);
    picture.reset();
    return collect_done(true);
  }
  const GstSegment& segment = GST_BASE_TRANSFORM(element_)->segment;
  if (sequence_ > 0 && timeline_.breaks_off(segment, caps_.video, picture.get())) {
    GST_DEBUG_OBJECT(element_, "discontinuity: the temporal state is reset");
    if (const GstFlowReturn flow = drain(); flow != GST_FLOW_OK) return flow;
  }
  FrameTask task;
  task.picture = picture.get();
  task.sequence = sequence_;
  task.arrival = arrival;
  task.skipped = skipped;
  timeline_.remember(picture.get());
  GstFlowReturn flow = make_room();
  if (flow == GST_FLOW_OK) flow = op_.submit(task);
  picture.reset();  // the frame in flight has its own reference
  if (flow != GST_FLOW_OK) return flow;
  ++sequence_;
  return collect_done(false);
}

// Collects finished frames into `ready_`. `dropped`: a picture was skipped and not taken. Returns
// as `take_picture`.
GstFlowReturn Stream::collect_done(bool dropped) {
  const GstFlowReturn flow = collect(false, &dropped);
  if (flow == GST_FLOW_OK && dropped && ready_.empty()) return GST_BASE_TRANSFORM_FLOW_DROPPED;
  return flow;
}

// ---- reset and drain

void Stream::drop_held() {
  for (const HeldFrame& frame : held_) gst_buffer_unref(frame.picture);
  held_.clear();
}

void Stream::reset() {
  op_.reset();
  drop_held();
  results_.forget_newest();
  for (GstBuffer* buffer : ready_) gst_buffer_unref(buffer);
  ready_.clear();
  sequence_ = 0;
  timeline_.reset();
}

void Stream::flush() {
  reset();
  mark_discont_ = false;
}

void Stream::stop() {
  save_learned();
  flush();
  op_.destroy();
  pools_.clear();
  state.context.close();
  caps_ = {};
}

GstBuffer* Stream::take_ready() {
  if (ready_.empty()) return nullptr;
  GstBuffer* buffer = ready_.front();
  ready_.erase(ready_.begin());
  return buffer;
}

// Pushes the ready buffers, outside the loop of the parent class.
GstFlowReturn Stream::push_ready() {
  GstFlowReturn flow = GST_FLOW_OK;
  while (!ready_.empty() && flow == GST_FLOW_OK)
    flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(element_), take_ready());
  return flow;
}

// Finishes the frames in flight and pushes their buffers. Keeps the temporal state.
GstFlowReturn Stream::finish_frames() {
  if (!op_.exists()) return GST_FLOW_OK;
  bool dropped = false;
  const GstFlowReturn flow = collect(true, &dropped);
  // Frames that were finished before an error are pushed, too.
  const GstFlowReturn pushed = push_ready();
  return flow == GST_FLOW_OK ? pushed : flow;
}

void Stream::finish_before_event() {
  if (op_.depth() > 1) finish_frames();
}

// Pushes the oldest picture that is held back; `result` may be null.
GstFlowReturn Stream::push_oldest_held(const GstOcellusResult* result, Clock::time_point begin) {
  GstBuffer* buffer = wrap_output(take_oldest_held(), result);
  if (buffer == nullptr) return GST_FLOW_ERROR;
  if (result != nullptr) post_frame(buffer, begin, nanoseconds(Clock::now() - begin));
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(element_), buffer);
}

// Returns the newest result for a picture whose own result needs frames that have not arrived.
// `data` is a new reference, or null.
GstOcellusResult Stream::stand_in() const {
  GstOcellusResult result = results_.newest();
  if (result.data != nullptr) gst_buffer_ref(result.data);
  result.repeated = true;
  return result;
}

// Submits `picture` again as the next frame and waits for its result. No frame is in flight.
GstFlowReturn Stream::repeat_frame(GstBuffer* picture, GstOcellusResult* result) {
  FrameTask task;
  task.picture = picture;
  task.sequence = sequence_;
  task.arrival = Clock::now();
  if (const GstFlowReturn flow = op_.submit(task); flow != GST_FLOW_OK) return flow;
  FinishedFrame frame;
  const Outcome outcome = finish_oldest(Deadline::never(), &frame);
  if (outcome != Outcome::kDone) return flow_of(outcome);
  ++sequence_;
  gst_clear_buffer(&frame.task.picture);
  *result = frame.result;
  return GST_FLOW_OK;
}

GstFlowReturn Stream::push_held() {
  GST_DEBUG_OBJECT(element_, "draining %" G_GSIZE_FORMAT " frames", held_.size());
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer* last = gst_buffer_ref(held_.back().picture);
  // A stream that is shorter than the delay needs more repetitions than it has frames, but at most
  // `hold`.
  for (guint i = 0; i < hold_ && !held_.empty() && flow == GST_FLOW_OK; ++i) {
    // Before the first frame this wraps around and equals no sequence number.
    const guint64 described = sequence_ - hold_;
    const Clock::time_point begin = Clock::now();
    // After so many repetitions, a result depends only on the last frame and so has no motion. The
    // motion up to the last frame is the best estimate of the motion at the last frame.
    const bool is_of_one_frame = i + 2 >= static_cast<guint>(op_.info().support_frames);
    GstOcellusResult result;
    if (is_of_one_frame) result = stand_in();
    if (result.data != nullptr) {
      ++sequence_;
    } else if (flow = repeat_frame(last, &result); flow != GST_FLOW_OK) {
      break;
    }
    result.repeated = true;
    if (described == held_.front().sequence) {
      if (held_.size() == 1) gst_clear_buffer(&last);
      flow = push_oldest_held(&result, begin);
    }
    gst_clear_buffer(&result.data);
  }
  gst_clear_buffer(&last);
  return flow;
}

// Whether nothing is lost when the frames in flight are dropped: their pictures have been dealt
// with, and nothing is learned from them.
bool Stream::is_idle() {
  if (op_.in_flight() > 0 && op_.info().learns) return false;
  for (guint i = 0; i < op_.in_flight(); ++i)
    if (!op_.frame(i).task.abandoned) return false;
  return held_.empty();
}

GstFlowReturn Stream::drain() {
  GstFlowReturn flow = is_idle() ? GST_FLOW_OK : finish_frames();
  if (flow == GST_FLOW_OK && !held_.empty() && op_.exists()) flow = push_held();
  reset();
  return flow;
}

GstFlowReturn Stream::release_pictures() {
  if (!op_.exists()) return GST_FLOW_OK;
  GstFlowReturn flow = finish_frames();
  if (flow == GST_FLOW_ERROR) {
    reset();
    return flow;
  }
  while (!held_.empty() && flow == GST_FLOW_OK) {
    GstOcellusResult result = stand_in();
    flow = push_oldest_held(result.data != nullptr ? &result : nullptr, Clock::now());
    gst_clear_buffer(&result.data);
  }
  drop_held();
  return flow;
}

// ---- learning

bool Stream::save_model(const gchar* path) {
  const Expected<void> saved = op_.save_model(path != nullptr ? path : "");
  if (saved) return true;
  GST_ELEMENT_WARNING(element_, RESOURCE, WRITE, ("The model is not saved: %s", saved.error().text),
                      (nullptr));
  return false;
}

void Stream::save_learned() {
  const std::string path = state.get(state.properties.save_location);
  if (!path.empty() && op_.is_changed() && save_model(path.c_str())) op_.set_saved();
}

}  // namespace gst_ocellus
