// The stream of an element: its operator, its pools, and a frame's way through them.
//
// Everything here runs in the streaming thread, or while no stream runs; what others may ask for
// meanwhile is under the object lock.
#pragma once

#include <gst/video/video.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/gstocellusbase.h"
#include "base/gstocelluscuda.h"
#include "base/gstocellusoptions.h"
#include "base/gstocelluspicture.h"
#include "ocellus/buffer.h"
#include "ocellus/latency_histogram.h"

#define DEFAULT_CONFIG ""
#define DEFAULT_BACKEND "auto"
#define DEFAULT_THREADS 0
#define DEFAULT_BUDGET 0
#define DEFAULT_ON_MISS GST_OCELLUS_ON_MISS_POST
#define DEFAULT_ON_DEVICE_LOSS GST_OCELLUS_ON_DEVICE_LOSS_ERROR
#define DEFAULT_POST_MESSAGES FALSE

// A picture that waits for the result that describes it.
struct GstOcellusHeldFrame {
  GstBuffer* picture;
  guint64 sequence;
};

// A frame that the operator has not finished: its memory belongs to the operator until then.
struct GstOcellusPendingFrame {
  ocellus::Ticket ticket;
  GstBuffer* picture = nullptr;
  GstBuffer* result = nullptr;
  GstOcellusPicture luma;         // with chroma, when the result takes it over
  GstMapInfo result_map{};        // of a result that is no picture
  GstOcellusPicture target;       // of one that is
  bool chroma_on_device = false;  // and whose chroma may still be written there
};

struct GstOcellusBasePrivate {
  explicit GstOcellusBasePrivate(const ocellus::OperatorDescription& description)
      : options(description) {}

  // Settings; under the object lock.
  gst_ocellus::Options options;
  std::string backend = DEFAULT_BACKEND;
  gint threads = DEFAULT_THREADS;
  guint64 budget = DEFAULT_BUDGET;
  GstOcellusOnMiss on_miss = DEFAULT_ON_MISS;
  GstOcellusOnDeviceLoss on_device_loss = DEFAULT_ON_DEVICE_LOSS;
  gboolean draw = FALSE;
  gboolean post_messages = DEFAULT_POST_MESSAGES;
  gboolean align = FALSE;
  gboolean keep_chroma = FALSE;

  // What others ask for while the stream runs; under the object lock.
  std::shared_ptr<GstOcellusCuda> cuda;  // made when a neighbor asks, or when the caps want it
  gpointer neighbors_context = nullptr;  // CUDA context that was set on the element; only compared
  bool started = false;
  bool on_cuda = false;      // started: the engine will be on a CUDA device
  bool fallen_back = false;  // the device was lost: the CPU until the next start
  std::string active_backend;
  GstClockTime latency = 0;
  gboolean live = FALSE;
  GstClockTime earliest_time = GST_CLOCK_TIME_NONE;
  ocellus::LatencyHistogram histogram;
  guint64 frames = 0;
  guint64 misses = 0;
  guint64 copies = 0;
  guint64 dropped = 0;

  // The stream; streaming thread, or stopped.
  GstVideoInfo video;
  bool cuda_caps = false;  // pictures come in CUDA memory
  std::optional<ocellus::Engine> engine;
  std::optional<ocellus::OperatorHandle> op;
  ocellus::OperatorInfo info;  // of the operator, or of the one to be made
  GstOcellusRecord record{};   // of the pending frame
  // CUDA memory: the luma plane of a picture from another context.
  std::optional<ocellus::Buffer> fetched;
  gsize fetched_stride = 0;
  gsize result_bytes = 0;    // of all planes, where the result is no picture
  guint pinned_results = 0;  // that the engine has memory for
  guint hold = 0;            // whole frames of delay that are held back
  GstBufferPool* wrap_pool = nullptr;
  GstBufferPool* result_pool = nullptr;  // of pictures: chosen with downstream
  GstBufferPool* copy_pool = nullptr;    // made when a picture must be copied for the first time
  guint64 sequence = 0;                  // of the next frame, since the last reset
  GstClockTime last_pts = GST_CLOCK_TIME_NONE;  // of the frame before, since the last reset
  GstClockTime last_frame_time = 0;       // its duration; without one the shortest step so far
  std::vector<GstOcellusHeldFrame> held;  // oldest first
  std::optional<GstOcellusPendingFrame> pending;
  GstOcellusResult newest;  // for frames without one of their own; data is null without one
  GstBuffer* ready = nullptr;
};

GstOcellusBasePrivate* gst_ocellus_base_get_private(GstOcellusBase* self);

namespace gst_ocellus {

using Clock = ocellus::Deadline::Clock;

inline GstClockTime nanoseconds(Clock::duration duration) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return ns > 0 ? static_cast<GstClockTime>(ns) : 0;
}

// The longest time that is told to others: it is a GstClockTimeDiff too, so that differences of two
// times are right.
inline constexpr GstClockTime kLongestTime = G_MAXINT64;

// The sum of two valid times, at most the longest.
inline GstClockTime add_times(GstClockTime a, GstClockTime b) {
  return a >= kLongestTime || b >= kLongestTime - a ? kLongestTime : a + b;
}

// What became of a frame given to the operator.
enum class Outcome {
  kDone,    // `result` is filled in; the caller owns its data
  kMissed,  // not within the budget; the frame is pending
  kFailed,  // an error has been posted
};

void post_error(GstOcellusBase* self, const ocellus::Error& error);
ocellus::Expected<ocellus::EngineConfig> engine_config(GstOcellusBase* self);
void set_active_backend(GstOcellusBase* self, std::string name);
// What is set of the operator, without the object lock from here on.
Options get_options(GstOcellusBase* self);
// The element's side of CUDA memory, made when it is needed first and offered to the pipeline.
// Errors: Unsupported and BackendUnavailable, with what is missing.
ocellus::Expected<std::shared_ptr<GstOcellusCuda>> open_cuda(GstOcellusBase* self);
void close_cuda(GstOcellusBase* self);
// Whether pictures in CUDA memory may come; before the start a guess from the settings.
bool takes_cuda_memory(GstOcellusBase* self);
// Forgets the past: temporal state, frames held back, results for reuse.
void reset_state(GstOcellusBase* self);
void destroy_operator(GstOcellusBase* self);
ocellus::Expected<void> create_operator(GstOcellusBase* self, ocellus::EngineConfig config);
ocellus::Expected<void> create_pools(GstOcellusBase* self, GstCaps* caps);
// Downstream is asked anew for the pool that pictures come from.
void leave_picture_pool(GstOcellusBase* self);
void clear_pools(GstOcellusBase* self);
void set_latency(GstOcellusBase* self, GstClockTime latency);
// Waits for the pending frame.
Outcome finish_pending(GstOcellusBase* self, ocellus::Deadline deadline, GstOcellusResult* result);
// Submits and waits. After a lost device the frame is tried once more, on the CPU.
Outcome run_frame(GstOcellusBase* self, GstBuffer* picture, GstClockTime pts,
                  ocellus::Deadline deadline, GstOcellusResult* result);
void post_qos(GstOcellusBase* self, GstBuffer* buffer, GstClockTimeDiff jitter, gdouble proportion);
void post_frame(GstOcellusBase* self, GstBuffer* buffer, GstClockTime arrival_to_result);
// Makes the outgoing buffer: picture and result on one of our own. Takes `picture`; `result` may be
// null.
GstBuffer* wrap_output(GstOcellusBase* self, GstBuffer* picture, const GstOcellusResult* result);
// The stream pauses for good: what is held back gets its result with the last frame standing in for
// those to come. Forgets the past.
GstFlowReturn drain(GstOcellusBase* self);
// The pictures that came are wanted back, but the stream goes on: what is held back goes out with
// the newest result there is. The past remains.
GstFlowReturn release_pictures(GstOcellusBase* self);
// A frame that downstream would throw away because it is too late; `false` without such knowledge.
bool too_late(GstOcellusBase* self, GstBuffer* picture, GstClockTimeDiff* jitter);

}  // namespace gst_ocellus
