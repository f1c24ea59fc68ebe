// The stream of an element: what becomes of a frame from its arrival until a buffer goes out.
//
// Everything here runs in the streaming thread, or while no stream runs. What others may ask for
// meanwhile is under the object lock.
#pragma once

#include <string>
#include <vector>

#include "base/gstocellusbase.h"
#include "base/gstocelluscontext.h"
#include "base/gstocellusoperator.h"
#include "base/gstocellusoptions.h"
#include "base/gstocelluspoolset.h"
#include "base/gstocellusstatistics.h"
#include "base/gstocellustime.h"
#include "base/gstocellusvideo.h"

namespace gst_ocellus {

/// The properties that may change while frames come.
struct FrameSettings {
  guint64 budget = 0;  ///< nanoseconds; 0: no limit
  GstOcellusOnMiss on_miss = GST_OCELLUS_ON_MISS_POST;
  GstOcellusOnDeviceLoss on_device_loss = GST_OCELLUS_ON_DEVICE_LOSS_ERROR;
  bool draw = false;
  bool post_messages = false;
};

/// A picture that waits for the result that describes it.
struct HeldFrame {
  GstBuffer* picture;
  guint64 sequence;
};

}  // namespace gst_ocellus

struct GstOcellusBasePrivate {
  GstOcellusBasePrivate(GstOcellusBase* element, const ocellus::OperatorDescription& description);

  // Properties; under the object lock.
  gst_ocellus::Options options;
  std::string backend = "auto";
  gint threads = 0;
  bool align = false;
  bool keep_chroma = false;
  gst_ocellus::FrameSettings settings;

  // What others ask for while the stream runs; under the object lock.
  bool started = false;
  bool on_cuda = false;      // started: the engine will be on a CUDA device
  bool fallen_back = false;  // the device was lost: the CPU until the next start
  std::string active_backend;
  GstClockTime latency = 0;
  bool live = false;
  GstClockTime earliest_time = GST_CLOCK_TIME_NONE;

  // With locks of their own.
  gst_ocellus::Statistics statistics;
  gst_ocellus::CudaContext context;

  // The stream; streaming thread, or stopped.
  gst_ocellus::VideoCaps caps;
  gst_ocellus::PoolSet pools;
  gst_ocellus::ElementOperator op;
  gst_ocellus::Timeline timeline;
  guint hold = 0;        // whole frames of delay for which pictures are held back
  guint64 sequence = 0;  // of the next frame, since the last reset
  std::vector<gst_ocellus::HeldFrame> held;  // oldest first
  GstOcellusResult newest;        // for frames without one of their own; data is null without one
  std::vector<GstBuffer*> ready;  // to go out, oldest first
  bool mark_discont = false;      // a picture did not go out before the next one
};

GstOcellusBasePrivate* gst_ocellus_base_get_private(GstOcellusBase* self);

namespace gst_ocellus {

// ---- settings and state of an element; any thread

ocellus::Expected<ocellus::EngineConfig> engine_config(GstOcellusBase* self);
Options get_options(GstOcellusBase* self);
FrameSettings get_settings(GstOcellusBase* self);
bool keeps_chroma(GstOcellusBase* self);
bool is_live(GstOcellusBase* self);
Statistics& get_statistics(GstOcellusBase* self);
void set_active_backend(GstOcellusBase* self, std::string name);
void set_latency(GstOcellusBase* self, GstClockTime latency);
/// Whether pictures in CUDA memory may come; before the start a guess from the settings.
bool takes_cuda_memory(GstOcellusBase* self);

// ---- a lost device; streaming thread

/// The device is lost. True: the settings allow to go on with the CPU, which `engine_config` names
/// from now on.
bool begin_fallback(GstOcellusBase* self);
/// Whether pictures may lie in the memory of a lost device.
bool has_lost_pictures(GstOcellusBase* self);

// ---- the stream; streaming thread, or stopped

/// Forgets the past: temporal state, frames in flight and held back, results for reuse.
void reset_stream(GstOcellusBase* self);
/// Frames that the element keeps back at most, in flight or held.
guint frames_kept(const GstOcellusBasePrivate* priv);

/// Takes a picture. What goes out because of it is in `ready`. `skipped`: downstream does not want
/// it. Gives GST_BASE_TRANSFORM_FLOW_DROPPED when nothing goes out because something was dropped.
GstFlowReturn take_picture(GstOcellusBase* self, GstBuffer* picture, bool skipped,
                           Clock::time_point arrival);
/// The stream pauses for good. Frames in flight are finished. Pictures that are held back get
/// results for which the last frame stands in for those to come. Forgets the past.
GstFlowReturn drain(GstOcellusBase* self);
/// The pictures that came are wanted back, but the stream goes on. Frames in flight are finished.
/// Pictures that are held back go out with the newest result. The past remains.
GstFlowReturn release_pictures(GstOcellusBase* self);

}  // namespace gst_ocellus
