#include "base/gstocellusstream.h"

#include <algorithm>
#include <utility>

#include "base/gstocellusmessages.h"
#include "base/gstocellusoutput.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::BackendSpec;
using ocellus::Deadline;
using ocellus::EngineConfig;
using ocellus::Expected;

GstOcellusBasePrivate::GstOcellusBasePrivate(GstOcellusBase* element,
                                             const ocellus::OperatorDescription& description)
    : options(description),
      context(GST_ELEMENT(element)),
      pools(caps, context),
      op(element, caps, context, pools) {
  ready.reserve(ocellus::kMaxDepth + 1);
}

namespace gst_ocellus {

// ---- settings and state

Expected<EngineConfig> engine_config(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  EngineConfig config = priv->engine;
  const Expected<BackendSpec> spec = BackendSpec::parse(priv->backend.c_str());
  const bool fallen_back = priv->fallen_back;
  GST_OBJECT_UNLOCK(self);
  if (!spec) return tl::unexpected(spec.error());
  config.backend = *spec;
  if (fallen_back) {
    config.backend = BackendSpec{};
    config.backend.choice = ocellus::BackendChoice::kCpu;
  }
  return config;
}

Options get_options(GstOcellusBase* self) {
  return get_locked(self, gst_ocellus_base_get_private(self)->options);
}

FrameSettings get_settings(GstOcellusBase* self) {
  return get_locked(self, gst_ocellus_base_get_private(self)->settings);
}

bool is_live(GstOcellusBase* self) {
  return get_locked(self, gst_ocellus_base_get_private(self)->live);
}

Statistics& get_statistics(GstOcellusBase* self) {
  return gst_ocellus_base_get_private(self)->statistics;
}

void set_active_backend(GstOcellusBase* self, std::string name) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const bool changed = priv->active_backend != name;
  priv->active_backend = std::move(name);
  GST_OBJECT_UNLOCK(self);
  if (changed) g_object_notify(G_OBJECT(self), "active-backend");
}

void set_latency(GstOcellusBase* self, GstClockTime latency) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  latency = MIN(latency, kLongestTime);
  GST_OBJECT_LOCK(self);
  const bool changed = priv->latency != latency;
  priv->latency = latency;
  GST_OBJECT_UNLOCK(self);
  if (!changed) return;
  GST_DEBUG_OBJECT(self, "latency is now %" GST_TIME_FORMAT, GST_TIME_ARGS(latency));
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

bool takes_cuda_memory(GstOcellusBase* self) {
  if (!GstOcellusCuda::built()) return false;
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const bool started = priv->started;
  const bool on_cuda = priv->on_cuda;
  GST_OBJECT_UNLOCK(self);
  if (started) return on_cuda;
  const Expected<EngineConfig> config = engine_config(self);
  return !config || config->backend.choice != ocellus::BackendChoice::kCpu;
}

// ---- a lost device

bool begin_fallback(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const bool allowed =
      priv->settings.on_device_loss == GST_OCELLUS_ON_DEVICE_LOSS_CPU && !priv->fallen_back;
  if (allowed) {
    priv->fallen_back = true;
    priv->on_cuda = false;
  }
  GST_OBJECT_UNLOCK(self);
  // The memory of the newest result belongs to the lost device.
  if (allowed) gst_clear_buffer(&priv->newest.data);
  return allowed;
}

bool has_lost_pictures(GstOcellusBase* self) {
  const GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  return priv->caps.cuda && priv->fallen_back;
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

// A finished frame. The receiver owns picture and data.
struct FinishedFrame {
  FrameTask task;
  GstOcellusResult result;
};

void clear(FinishedFrame* frame) {
  gst_clear_buffer(&frame->task.picture);
  gst_clear_buffer(&frame->result.data);
}

void remember_newest(GstOcellusBasePrivate* priv, const GstOcellusResult& result) {
  gst_buffer_replace(&priv->newest.data, result.data);
  GstBuffer* data = priv->newest.data;
  priv->newest = result;
  priv->newest.data = data;
}

// Waits for the oldest frame in flight and removes it from the operator.
Outcome finish_oldest(GstOcellusBase* self, Deadline deadline, FinishedFrame* frame) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstOcellusResult& result = frame->result;
  const Outcome outcome = priv->op.wait_oldest(deadline, &result.info);
  // If `wait` fails, the frame stays in flight until the operator is reset.
  if (outcome == Outcome::kFailed || outcome == Outcome::kStopped) priv->op.reset();
  if (outcome != Outcome::kDone) return outcome;
  FrameInFlight& oldest = priv->op.frame(0);
  result.data = gst_buffer_ref(oldest.result);
  result.record = oldest.record;
  frame->task = std::exchange(oldest.task, FrameTask{});
  priv->op.release_oldest();
  // Pictures that are held back may have to be pushed before their results are ready.
  if (priv->hold > 0 || get_settings(self).on_miss == GST_OCELLUS_ON_MISS_REUSE)
    remember_newest(priv, result);
  return Outcome::kDone;
}

// The end of a frame that has no result.
GstFlowReturn flow_of(Outcome outcome) {
  return outcome == Outcome::kStopped ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

// Whether downstream would drop this picture as too late.
bool is_too_late(GstOcellusBase* self, GstBuffer* picture, GstClockTimeDiff* jitter) {
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  if (!gst_base_transform_is_qos_enabled(trans) || trans->segment.format != GST_FORMAT_TIME)
    return false;
  const GstClockTime running =
      gst_segment_to_running_time(&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(picture));
  const GstClockTime earliest = get_locked(self, gst_ocellus_base_get_private(self)->earliest_time);
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(earliest) || running > earliest)
    return false;
  *jitter = GST_CLOCK_DIFF(running, earliest);
  return true;
}

GstBuffer* take_oldest_held(GstOcellusBasePrivate* priv) {
  GstBuffer* picture = priv->held.front().picture;
  priv->held.erase(priv->held.begin());
  return picture;
}

// Without a frame rate, the latency is the longest time for which a picture was kept.
void measure_latency(GstOcellusBase* self, GstBuffer* picture) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (frames_kept(priv) == 0 || GST_VIDEO_INFO_FPS_N(&priv->caps.video) != 0) return;
  const GstClockTime now = priv->timeline.last_pts();
  const GstClockTime then = GST_BUFFER_PTS(picture);
  if (!GST_CLOCK_TIME_IS_VALID(now) || !GST_CLOCK_TIME_IS_VALID(then)) return;
  const GstClockTime kept = now > then ? now - then : then - now;
  if (kept > priv->latency) set_latency(self, kept);
}

// Appends to `ready` the buffer that is due for a frame: its own picture, or the picture that the
// result describes. Takes ownership of the picture. `result`: null if the frame missed its budget
// and is not waited for. `dropped`: set if a picture is dropped.
GstFlowReturn deliver(GstOcellusBase* self, const FrameSettings& settings, const FrameTask& task,
                      GstOcellusResult* result, bool missed, bool* dropped) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const Clock::duration elapsed = Clock::now() - task.arrival;
  missed = missed || Budget(settings.budget).is_over(elapsed);
  if (result != nullptr) result->late = missed;

  GstBuffer* picture = task.picture;
  if (priv->hold > 0) {
    priv->held.push_back({task.picture, task.sequence});
    picture = priv->held.size() > priv->hold ? take_oldest_held(priv) : nullptr;
  }
  if (picture != nullptr) measure_latency(self, picture);

  GstClockTimeDiff jitter = 0;
  const bool late_downstream = picture != nullptr && !task.skipped && frames_kept(priv) > 0 &&
                               is_too_late(self, picture, &jitter);
  const bool drop_missed = missed && settings.on_miss == GST_OCELLUS_ON_MISS_DROP;
  const bool drop = picture != nullptr && (task.skipped || late_downstream || drop_missed);
  priv->statistics.record_frame(elapsed, missed);
  if (drop) priv->statistics.count_dropped();
  if (missed) {
    const GstClockTime taken = nanoseconds(elapsed);
    GST_DEBUG_OBJECT(self, "budget of %" G_GUINT64_FORMAT " ns missed: %" G_GUINT64_FORMAT " ns",
                     settings.budget, taken);
    // The picture is still referenced: it is pushed now, or held back.
    post_qos(self, task.picture,
             static_cast<GstClockTimeDiff>(taken) - static_cast<GstClockTimeDiff>(settings.budget),
             static_cast<gdouble>(taken) / static_cast<gdouble>(settings.budget));
  }
  if (late_downstream) post_qos(self, picture, jitter, 1.0);

  if (picture == nullptr) return GST_FLOW_OK;
  if (drop) {
    gst_buffer_unref(picture);
    priv->mark_discont = true;
    *dropped = true;
    return GST_FLOW_OK;
  }
  GstOcellusResult old;
  if (result == nullptr && settings.on_miss == GST_OCELLUS_ON_MISS_REUSE &&
      priv->newest.data != nullptr) {
    old = priv->newest;
    old.reused = true;
    result = &old;
  }
  GstBuffer* buffer = wrap_output(self, picture, result);
  if (buffer == nullptr) return GST_FLOW_ERROR;
  priv->ready.push_back(buffer);
  if (result != nullptr) post_frame(self, buffer, nanoseconds(elapsed));
  return GST_FLOW_OK;
}

// Applies `on-miss` to a frame that missed its budget, while the operator still has it.
GstFlowReturn abandon(GstOcellusBase* self, const FrameSettings& settings, FrameTask* task,
                      bool* dropped) {
  task->abandoned = true;
  gst_buffer_ref(task->picture);
  return deliver(self, settings, *task, nullptr, true, dropped);
}

bool is_full(GstOcellusBasePrivate* priv) {
  return priv->op.in_flight() == priv->op.depth();
}

// Delivers all finished frames, and the oldest one if the operator has no free slot. `all`:
// delivers every frame. Waits for a frame that is due within its budget, then applies `on-miss`.
GstFlowReturn collect(GstOcellusBase* self, bool all, bool* dropped) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const FrameSettings settings = get_settings(self);
  const Budget budget(settings.budget);
  while (priv->op.in_flight() > 0) {
    const bool abandoned = priv->op.frame(0).task.abandoned;
    // The temporal state needs every frame, so an abandoned frame is finished, too.
    const bool due = all || (is_full(priv) && !abandoned);
    Deadline deadline = Deadline::immediate();
    if (due)
      deadline = abandoned ? Deadline::never() : budget.deadline(priv->op.frame(0).task.arrival);
    FinishedFrame frame;
    Outcome outcome = finish_oldest(self, deadline, &frame);
    bool missed = false;
    if (outcome == Outcome::kNotYet) {
      if (!due) break;
      missed = true;
      if (settings.on_miss == GST_OCELLUS_ON_MISS_POST) {
        outcome = finish_oldest(self, Deadline::never(), &frame);
      } else {
        const GstFlowReturn flow = abandon(self, settings, &priv->op.frame(0).task, dropped);
        if (flow != GST_FLOW_OK) return flow;
        continue;
      }
    }
    if (outcome != Outcome::kDone) return flow_of(outcome);
    if (abandoned) {
      clear(&frame);
      continue;
    }
    const GstFlowReturn flow = deliver(self, settings, frame.task, &frame.result, missed, dropped);
    gst_clear_buffer(&frame.result.data);
    if (flow != GST_FLOW_OK) return flow;
  }
  if (settings.on_miss == GST_OCELLUS_ON_MISS_POST) return GST_FLOW_OK;
  const Clock::time_point now = Clock::now();
  for (guint i = 0; i < priv->op.in_flight(); ++i) {
    FrameTask* task = &priv->op.frame(i).task;
    if (task->abandoned) continue;
    // Frames leave in order: those after one that is in time are not looked at.
    if (!budget.is_over(now - task->arrival)) break;
    const GstFlowReturn flow = abandon(self, settings, task, dropped);
    if (flow != GST_FLOW_OK) return flow;
  }
  return GST_FLOW_OK;
}

// If the operator is full, its oldest frame is an abandoned one.
GstFlowReturn make_room(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!is_full(priv)) return GST_FLOW_OK;
  FinishedFrame frame;
  const Outcome outcome = finish_oldest(self, Deadline::never(), &frame);
  if (outcome != Outcome::kDone) return flow_of(outcome);
  clear(&frame);
  return GST_FLOW_OK;
}

}  // namespace

guint frames_kept(const GstOcellusBasePrivate* priv) {
  return priv->hold + priv->op.depth() - 1;
}

GstFlowReturn take_picture(GstOcellusBase* self, GstBuffer* picture, bool skipped,
                           Clock::time_point arrival) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const GstSegment& segment = GST_BASE_TRANSFORM(self)->segment;
  if (priv->sequence > 0 && priv->timeline.breaks_off(segment, priv->caps.video, picture)) {
    GST_DEBUG_OBJECT(self, "discontinuity: the temporal state is reset");
    if (const GstFlowReturn flow = drain(self); flow != GST_FLOW_OK) {
      gst_buffer_unref(picture);
      return flow;
    }
  }
  FrameTask task;
  task.picture = picture;
  task.sequence = priv->sequence;
  task.arrival = arrival;
  task.skipped = skipped;
  priv->timeline.remember(picture);
  GstFlowReturn flow = make_room(self);
  if (flow == GST_FLOW_OK) flow = priv->op.submit(task);
  gst_buffer_unref(picture);
  if (flow != GST_FLOW_OK) return flow;
  ++priv->sequence;
  return collect_done(self, false);
}

GstFlowReturn collect_done(GstOcellusBase* self, bool dropped) {
  const GstFlowReturn flow = collect(self, false, &dropped);
  if (flow == GST_FLOW_OK && dropped && gst_ocellus_base_get_private(self)->ready.empty())
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  return flow;
}

// ---- reset and drain

static void drop_held(GstOcellusBasePrivate* priv) {
  for (const HeldFrame& frame : priv->held) gst_buffer_unref(frame.picture);
  priv->held.clear();
}

void reset_stream(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  priv->op.reset();
  drop_held(priv);
  gst_clear_buffer(&priv->newest.data);
  for (GstBuffer* buffer : priv->ready) gst_buffer_unref(buffer);
  priv->ready.clear();
  priv->sequence = 0;
  priv->timeline.reset();
}

// Pushes the ready buffers, outside the loop of the parent class.
static GstFlowReturn push_ready(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstFlowReturn flow = GST_FLOW_OK;
  while (!priv->ready.empty() && flow == GST_FLOW_OK) {
    GstBuffer* buffer = priv->ready.front();
    priv->ready.erase(priv->ready.begin());
    flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer);
  }
  return flow;
}

GstFlowReturn finish_frames(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!priv->op.exists()) return GST_FLOW_OK;
  bool dropped = false;
  const GstFlowReturn flow = collect(self, true, &dropped);
  // Frames that were finished before an error are pushed, too.
  const GstFlowReturn pushed = push_ready(self);
  return flow == GST_FLOW_OK ? pushed : flow;
}

// Pushes the oldest picture that is held back; `result` may be null.
static GstFlowReturn push_oldest_held(GstOcellusBase* self, const GstOcellusResult* result,
                                      Clock::time_point begin) {
  GstBuffer* buffer =
      wrap_output(self, take_oldest_held(gst_ocellus_base_get_private(self)), result);
  if (buffer == nullptr) return GST_FLOW_ERROR;
  if (result != nullptr) post_frame(self, buffer, nanoseconds(Clock::now() - begin));
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer);
}

// Returns the newest result for a picture whose own result needs frames that have not arrived.
// `data` is a new reference, or null.
static GstOcellusResult stand_in(const GstOcellusBasePrivate* priv) {
  GstOcellusResult result = priv->newest;
  if (result.data != nullptr) gst_buffer_ref(result.data);
  result.reused = true;
  result.repeated = true;
  return result;
}

// Whether, after this many repetitions of the last frame, a result depends only on that frame and
// so has no motion.
static bool is_of_one_frame(const GstOcellusBasePrivate* priv, guint repetitions) {
  return repetitions > 0 && repetitions + 1 >= static_cast<guint>(priv->op.info().support_frames);
}

// Submits `picture` again as the next frame and waits for its result. No frame is in flight.
static GstFlowReturn repeat_frame(GstOcellusBase* self, GstBuffer* picture,
                                  GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  FrameTask task;
  task.picture = picture;
  task.sequence = priv->sequence;
  task.arrival = Clock::now();
  if (const GstFlowReturn flow = priv->op.submit(task); flow != GST_FLOW_OK) return flow;
  FinishedFrame frame;
  const Outcome outcome = finish_oldest(self, Deadline::never(), &frame);
  if (outcome != Outcome::kDone) return flow_of(outcome);
  ++priv->sequence;
  gst_clear_buffer(&frame.task.picture);
  *result = frame.result;
  return GST_FLOW_OK;
}

static GstFlowReturn push_held(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_DEBUG_OBJECT(self, "draining %" G_GSIZE_FORMAT " frames", priv->held.size());
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer* last = gst_buffer_ref(priv->held.back().picture);
  // A stream that is shorter than the delay needs more repetitions than it has frames, but at most
  // `hold`.
  for (guint i = 0; i < priv->hold && !priv->held.empty() && flow == GST_FLOW_OK; ++i) {
    // Before the first frame this wraps around and equals no sequence number.
    const guint64 described = priv->sequence - priv->hold;
    const Clock::time_point begin = Clock::now();
    GstOcellusResult result;
    if (is_of_one_frame(priv, i + 1) && priv->newest.data != nullptr) {
      // The motion up to the last frame is the best estimate of the motion at the last frame.
      result = stand_in(priv);
      ++priv->sequence;
    } else if (flow = repeat_frame(self, last, &result); flow != GST_FLOW_OK) {
      break;
    }
    result.repeated = true;
    if (described == priv->held.front().sequence) {
      if (priv->held.size() == 1) gst_clear_buffer(&last);
      flow = push_oldest_held(self, &result, begin);
    }
    gst_clear_buffer(&result.data);
  }
  gst_clear_buffer(&last);
  return flow;
}

// Whether nothing is lost when the frames in flight are dropped: their pictures have been dealt
// with, and nothing is learned from them.
static bool is_idle(GstOcellusBasePrivate* priv) {
  if (priv->op.in_flight() > 0 && priv->op.info().learns) return false;
  for (guint i = 0; i < priv->op.in_flight(); ++i)
    if (!priv->op.frame(i).task.abandoned) return false;
  return priv->held.empty();
}

GstFlowReturn drain(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstFlowReturn flow = is_idle(priv) ? GST_FLOW_OK : finish_frames(self);
  if (flow == GST_FLOW_OK && !priv->held.empty() && priv->op.exists()) flow = push_held(self);
  reset_stream(self);
  return flow;
}

GstFlowReturn release_pictures(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!priv->op.exists()) return GST_FLOW_OK;
  GstFlowReturn flow = finish_frames(self);
  if (flow == GST_FLOW_ERROR) {
    reset_stream(self);
    return flow;
  }
  while (!priv->held.empty() && flow == GST_FLOW_OK) {
    GstOcellusResult result = stand_in(priv);
    flow = push_oldest_held(self, result.data != nullptr ? &result : nullptr, Clock::now());
    gst_clear_buffer(&result.data);
  }
  drop_held(priv);
  return flow;
}

}  // namespace gst_ocellus
