// The stream of an element: the processing of a frame from its arrival until a buffer is pushed.
//
// The streaming thread calls everything here, or another thread while the stream is stopped.
// Members that other threads access are guarded by the object lock.
#pragma once

#include <string>
#include <vector>

#include "base/gstocellusbase.h"
#include "base/gstocelluscontext.h"
#include "base/gstocellusoperator.h"
#include "base/gstocellusoptions.h"
#include "base/gstocelluspoolset.h"
#include "base/gstocellusresults.h"
#include "base/gstocellusstatistics.h"
#include "base/gstocellustime.h"
#include "base/gstocellusvideo.h"

namespace gst_ocellus {

/// Properties that may change while the stream runs.
struct FrameSettings {
  guint64 budget = 0;  ///< nanoseconds; 0 means no limit
  GstOcellusOnMiss on_miss = GST_OCELLUS_ON_MISS_POST;
  GstOcellusOnDeviceLoss on_device_loss = GST_OCELLUS_ON_DEVICE_LOSS_ERROR;
  bool draw = false;
  bool post_messages = false;
  GstOcellusMessages messages = GST_OCELLUS_MESSAGES_CHANGES;
};

/// A picture that is held back until the result that describes it is ready.
struct HeldFrame {
  GstBuffer* picture;
  guint64 sequence;
};

}  // namespace gst_ocellus

struct GstOcellusBasePrivate {
  GstOcellusBasePrivate(GstOcellusBase* element, const ocellus::OperatorDescription& description);

  // Properties; guarded by the object lock.
  gst_ocellus::Options options;
  std::string backend = "auto";
  ocellus::EngineConfig engine;  // its options and workers
  bool align = false;
  std::string save_location;
  gst_ocellus::FrameSettings settings;

  // State that other threads read while the stream runs; guarded by the object lock.
  bool started = false;
  bool on_cuda = false;      // if started: the engine is on a CUDA device
  bool fallen_back = false;  // the device was lost: use the CPU until the next start
  std::string active_backend;
  GstClockTime latency = 0;
  bool live = false;
  GstClockTime earliest_time = GST_CLOCK_TIME_NONE;

  // These have their own locks.
  gst_ocellus::Statistics statistics;
  gst_ocellus::CudaContext context;

  // State of the stream; accessed by the streaming thread, or while the stream is stopped.
  gst_ocellus::VideoCaps caps;
  gst_ocellus::PoolSet pools;
  gst_ocellus::ElementOperator op;
  gst_ocellus::Results results;
  gst_ocellus::Timeline timeline;
  guint hold = 0;        // number of pictures that are held back: whole frames of delay
  guint64 sequence = 0;  // number of the next frame since the last reset
  std::vector<gst_ocellus::HeldFrame> held;  // oldest first
  GstOcellusResult newest;                   // used for frames without a result; data may be null
  std::vector<GstBuffer*> ready;             // buffers to push, oldest first
  bool mark_discont = false;                 // a picture before the next one was dropped
};

GstOcellusBasePrivate* gst_ocellus_base_get_private(GstOcellusBase* self);

namespace gst_ocellus {

// ---- settings and state of an element; any thread

/// Sets and reads a member of the private part under the object lock.
template <typename Value>
void set_locked(GstOcellusBase* self, Value& member, const Value& value) {
  GST_OBJECT_LOCK(self);
  member = value;
  GST_OBJECT_UNLOCK(self);
}
template <typename Value>
Value get_locked(GstOcellusBase* self, const Value& member) {
  GST_OBJECT_LOCK(self);
  const Value value = member;
  GST_OBJECT_UNLOCK(self);
  return value;
}

ocellus::Expected<ocellus::EngineConfig> engine_config(GstOcellusBase* self);
Options get_options(GstOcellusBase* self);
FrameSettings get_settings(GstOcellusBase* self);
bool is_live(GstOcellusBase* self);
Statistics& get_statistics(GstOcellusBase* self);
void set_active_backend(GstOcellusBase* self, std::string name);
void set_latency(GstOcellusBase* self, GstClockTime latency);
/// Whether the element accepts pictures in CUDA memory. Before the start it is derived from the
/// settings.
bool takes_cuda_memory(GstOcellusBase* self);

// ---- a lost device; streaming thread

/// Called when the device is lost. Returns true if the settings allow to continue on the CPU.
/// `engine_config` then selects the CPU.
bool begin_fallback(GstOcellusBase* self);
/// Whether pictures may be in the memory of a lost device.
bool has_lost_pictures(GstOcellusBase* self);

// ---- the stream; streaming thread, or stopped

/// Resets the temporal state, and drops the frames in flight or held back and the result for reuse.
void reset_stream(GstOcellusBase* self);
/// Returns the maximum number of frames that the element keeps, in flight or held back.
guint frames_kept(const GstOcellusBasePrivate* priv);

/// Processes a picture and takes ownership of it. Appends the buffers to push to `ready`.
/// `skipped`: downstream would drop the picture. Returns GST_BASE_TRANSFORM_FLOW_DROPPED if a
/// picture was dropped and no buffer is to be pushed.
GstFlowReturn take_picture(GstOcellusBase* self, GstBuffer* picture, bool skipped,
                           Clock::time_point arrival);
/// Collects finished frames into `ready`, when a picture was skipped (`dropped`) and not taken.
/// Returns as `take_picture`.
GstFlowReturn collect_done(GstOcellusBase* self, bool dropped);
/// Finishes the frames in flight and pushes their buffers. Keeps the temporal state.
GstFlowReturn finish_frames(GstOcellusBase* self);
/// Called before a discontinuity or the end of the stream. Finishes the frames in flight. The
/// results of pictures that are held back are computed with the last frame repeated. Resets the
/// temporal state.
GstFlowReturn drain(GstOcellusBase* self);
/// Called when upstream or downstream needs the buffers, but the stream continues. Finishes the
/// frames in flight. Pictures that are held back are pushed with the newest result. Keeps the
/// temporal state.
GstFlowReturn release_pictures(GstOcellusBase* self);

}  // namespace gst_ocellus
