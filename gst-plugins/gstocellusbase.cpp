#include "gstocellusbase.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gstocelluspicture.h"
#include "gstocelluspool.h"
#include "ocellus/latency_histogram.h"

GST_DEBUG_CATEGORY_STATIC(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::BackendChoice;
using ocellus::BackendSpec;
using ocellus::Deadline;
using ocellus::Engine;
using ocellus::EngineConfig;
using ocellus::EngineInfo;
using ocellus::Error;
using ocellus::Expected;
using ocellus::Footprint;
using ocellus::Frame;
using ocellus::FrameInfo;
using ocellus::PixelFormat;
using ocellus::Status;
using ocellus::Ticket;

static_assert(G_BYTE_ORDER == G_LITTLE_ENDIAN,
              "GRAY16_LE is handed to the library as it is: 16 bits in the host's byte order");
static_assert(ocellus::kMaxImageSide == 16384, "the pad templates say 16384");

#define OCELLUS_CAPS                                                                        \
  "video/x-raw, format=(string){ GRAY8, GRAY16_LE, I420, NV12 }, width=(int)[ 1, 16384 ], " \
  "height=(int)[ 1, 16384 ], "                                                              \
  "framerate=(fraction)[ 0/1, 2147483647/1 ]"

#define DEFAULT_BACKEND "auto"
#define DEFAULT_THREADS 0
#define DEFAULT_BUDGET 0
#define DEFAULT_ON_MISS GST_OCELLUS_ON_MISS_POST
#define DEFAULT_ON_DEVICE_LOSS GST_OCELLUS_ON_DEVICE_LOSS_ERROR
#define DEFAULT_DRAW FALSE
#define DEFAULT_POST_MESSAGES FALSE

enum {
  PROP_0,
  PROP_BACKEND,
  PROP_ACTIVE_BACKEND,
  PROP_THREADS,
  PROP_BUDGET,
  PROP_ON_MISS,
  PROP_ON_DEVICE_LOSS,
  PROP_STATS,
  PROP_DRAW,
  PROP_POST_MESSAGES,
  PROP_LAST,
};

static GParamSpec* properties[PROP_LAST];

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(OCELLUS_CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(OCELLUS_CAPS));

namespace {

using Clock = Deadline::Clock;

// A picture that waits for the result that describes it.
struct HeldFrame {
  GstBuffer* picture;
  guint64 sequence;
};

// A frame that the operator has not finished: its memory belongs to the operator until then.
struct PendingFrame {
  Ticket ticket;
  GstBuffer* picture = nullptr;
  GstBuffer* result = nullptr;
  GstOcellusPicture luma;
  GstMapInfo result_map{};
};

GstClockTime nanoseconds(Clock::duration duration) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return ns > 0 ? static_cast<GstClockTime>(ns) : 0;
}

}  // namespace

struct GstOcellusBasePrivate {
  // Settings; under the object lock.
  std::string backend = DEFAULT_BACKEND;
  gint threads = DEFAULT_THREADS;
  guint64 budget = DEFAULT_BUDGET;
  GstOcellusOnMiss on_miss = DEFAULT_ON_MISS;
  GstOcellusOnDeviceLoss on_device_loss = DEFAULT_ON_DEVICE_LOSS;
  gboolean draw = DEFAULT_DRAW;
  gboolean post_messages = DEFAULT_POST_MESSAGES;
  gboolean align = FALSE;

  // What others ask for while the stream runs; under the object lock.
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
  bool fallen_back = false;  // the device was lost: the CPU until the next start
  GstVideoInfo video;
  std::optional<Engine> engine;  // set: the operator exists too
  gsize result_bytes = 0;
  gfloat delay = 0.0f;
  guint hold = 0;  // whole frames of delay that are held back
  GstBufferPool* wrap_pool = nullptr;
  GstBufferPool* result_pool = nullptr;
  GstBufferPool* copy_pool = nullptr;  // made when a picture must be copied for the first time
  guint64 sequence = 0;                // of the next frame, since the last reset
  std::vector<HeldFrame> held;         // oldest first
  std::optional<PendingFrame> pending;
  GstOcellusResult newest;  // for on-miss=reuse; data is null without one
  GstBuffer* ready = nullptr;
};

static gint private_offset;
static gpointer gst_ocellus_base_parent_class;

static void gst_ocellus_base_class_init(gpointer klass, gpointer data);
static void gst_ocellus_base_init(GTypeInstance* instance, gpointer klass);

// Not G_DEFINE_ABSTRACT_TYPE: the private part holds C++ objects of 100 KiB, for which a pointer is
// kept.
GType gst_ocellus_base_get_type(void) {
  static gsize type = 0;
  if (g_once_init_enter(&type)) {
    GTypeInfo info{};
    info.class_size = sizeof(GstOcellusBaseClass);
    info.class_init = gst_ocellus_base_class_init;
    info.instance_size = sizeof(GstOcellusBase);
    info.instance_init = gst_ocellus_base_init;
    const GType made = g_type_register_static(GST_TYPE_BASE_TRANSFORM, "GstOcellusBase", &info,
                                              G_TYPE_FLAG_ABSTRACT);
    private_offset = g_type_add_instance_private(made, sizeof(GstOcellusBasePrivate*));
    g_once_init_leave(&type, made);
  }
  return type;
}

static GstOcellusBasePrivate* get_private(GstOcellusBase* self) {
  return *static_cast<GstOcellusBasePrivate**>(G_STRUCT_MEMBER_P(self, private_offset));
}

GType gst_ocellus_on_miss_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_ON_MISS_POST, "Wait for the result and post a QoS message", "post"},
      {GST_OCELLUS_ON_MISS_DROP, "Drop the frame", "drop"},
      {GST_OCELLUS_ON_MISS_REUSE, "Pass the frame with the newest result there is", "reuse"},
      {GST_OCELLUS_ON_MISS_PASSTHROUGH, "Pass the frame without a result", "passthrough"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusOnMiss", values);
  return type;
}

GType gst_ocellus_on_device_loss_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_ON_DEVICE_LOSS_ERROR, "End the stream with an error", "error"},
      {GST_OCELLUS_ON_DEVICE_LOSS_CPU, "Post a warning and go on with the CPU", "cpu"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusOnDeviceLoss", values);
  return type;
}

PixelFormat gst_ocellus_pixel_format(const GstVideoInfo& video) {
  return GST_VIDEO_INFO_FORMAT(&video) == GST_VIDEO_FORMAT_GRAY16_LE ? PixelFormat::kGray16
                                                                     : PixelFormat::kGray8;
}

void gst_ocellus_base_set_align(GstOcellusBase* self, gboolean align) {
  GST_OBJECT_LOCK(self);
  get_private(self)->align = align;
  GST_OBJECT_UNLOCK(self);
}

gboolean gst_ocellus_base_may_configure(GstOcellusBase* self, GParamSpec* pspec) {
  GST_OBJECT_LOCK(self);
  const GstState state = GST_STATE(self);
  const GstState next = GST_STATE_NEXT(self);
  GST_OBJECT_UNLOCK(self);
  // On the way down to READY the operator is as good as gone; on the way up it may be in the
  // making.
  if (state <= GST_STATE_READY && (next == GST_STATE_VOID_PENDING || next <= GST_STATE_READY))
    return TRUE;
  GST_ELEMENT_WARNING(
      self, LIBRARY, SETTINGS,
      ("Property \"%s\" can be changed only in the states NULL and READY.", pspec->name),
      ("it keeps its value; the state is %s", gst_element_state_get_name(state)));
  return FALSE;
}

// ---- errors
// -------------------------------------------------------------------------------------------------------

static void post_error(GstOcellusBase* self, const Error& error) {
  const char* name = ocellus::status_name(error.status);
  switch (error.status) {
    case Status::kInvalidArgument:
    case Status::kUnsupported:
      GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kOutOfMemory:
      GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kBackendUnavailable:
      GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kDeviceLost:
      GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kCorruptFile:
      GST_ELEMENT_ERROR(self, RESOURCE, READ, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kIoError:
      GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("%s", error.text), ("ocellus: %s", name));
      break;
    default:
      GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", error.text), ("ocellus: %s", name));
      break;
  }
}

static void post_bad_buffer(GstOcellusBase* self, const Error& error) {
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", error.text), (nullptr));
}

// ---- operator and pools
// -------------------------------------------------------------------------------------------

static Expected<EngineConfig> engine_config(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = get_private(self);
  EngineConfig config;
  GST_OBJECT_LOCK(self);
  const Expected<BackendSpec> spec = BackendSpec::parse(priv->backend.c_str());
  config.workers = priv->threads;
  GST_OBJECT_UNLOCK(self);
  if (!spec) return tl::unexpected(spec.error());
  config.backend = *spec;
  if (priv->fallen_back) {
    config.backend = BackendSpec{};
    config.backend.choice = BackendChoice::kCpu;
  }
  return config;
}

static void set_active_backend(GstOcellusBase* self, std::string name) {
  GstOcellusBasePrivate* priv = get_private(self);
  GST_OBJECT_LOCK(self);
  const bool changed = priv->active_backend != name;
  priv->active_backend = std::move(name);
  GST_OBJECT_UNLOCK(self);
  if (changed) g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_ACTIVE_BACKEND]);
}

// The operator has been reset, or finished the frame.
static void release_pending(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = get_private(self);
  if (!priv->pending) return;
  priv->pending->luma.unmap();
  gst_buffer_unmap(priv->pending->result, &priv->pending->result_map);
  gst_buffer_unref(priv->pending->picture);
  gst_buffer_unref(priv->pending->result);
  priv->pending.reset();
}

static void drop_held(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = get_private(self);
  for (const HeldFrame& frame : priv->held) gst_buffer_unref(frame.picture);
  priv->held.clear();
}

// Forgets the past: temporal state, frames held back, results for reuse.
static void forget(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = get_private(self);
  if (priv->engine) GST_OCELLUS_BASE_GET_CLASS(self)->reset(self);
  release_pending(self);
  drop_held(self);
  gst_clear_buffer(&priv->newest.data);
  gst_clear_buffer(&priv->ready);
  priv->sequence = 0;
}

static void destroy_operator(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = get_private(self);
  forget(self);
  if (priv->engine) GST_OCELLUS_BASE_GET_CLASS(self)->destroy(self);
  priv->engine.reset();
}

static void clear_pool(GstBufferPool** pool) {
  if (*pool == nullptr) return;
  gst_buffer_pool_set_active(*pool, FALSE);
  gst_clear_object(pool);
}

static Expected<void> create_operator(GstOcellusBase* self, EngineConfig config) {
  GstOcellusBasePrivate* priv = get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);

  const Expected<EngineInfo> info = Engine::probe(config);
  if (!info) return tl::unexpected(info.error());
  const Expected<Footprint> footprint =
      klass->footprint(self, *info, priv->video, &priv->result_bytes);
  if (!footprint) return tl::unexpected(footprint.error());
  config.memory = *footprint;
  Expected<Engine> engine = Engine::create(config);
  if (!engine) return tl::unexpected(engine.error());
  if (Expected<void> made = klass->create(self, *engine, priv->video, &priv->delay); !made)
    return made;
  priv->engine.emplace(std::move(*engine));

  const EngineInfo& got = priv->engine->info();
  std::string name = ocellus::backend_name(got.backend);
  if (got.device >= 0) name += ":" + std::to_string(got.device);
  GST_INFO_OBJECT(self,
                  "backend %s (%s, %s), %d workers, %" G_GSIZE_FORMAT
                  " bytes of host memory, delay %g frames",
                  name.c_str(), got.device_name, got.simd_target, got.workers, footprint->host,
                  static_cast<double>(priv->delay));
  set_active_backend(self, std::move(name));
  return {};
}

static GstBufferPool* new_memory_pool(GstBufferPool* pool, GstCaps* caps, gsize bytes,
                                      guint min_buffers) {
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.align = ocellus::kMemoryAlignment - 1;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), min_buffers, 0);
  gst_buffer_pool_config_set_allocator(config, nullptr, &params);
  if (!gst_buffer_pool_set_config(pool, config) || !gst_buffer_pool_set_active(pool, TRUE))
    gst_clear_object(&pool);
  return pool;
}

static Expected<void> create_pools(GstOcellusBase* self, GstCaps* caps) {
  GstOcellusBasePrivate* priv = get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  clear_pool(&priv->wrap_pool);
  clear_pool(&priv->result_pool);
  clear_pool(&priv->copy_pool);
  if (priv->result_bytes > G_MAXUINT) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "one result of this size has %zu bytes; GStreamer's pools hold buffers up to %u bytes: set "
        "a smaller roi",
        priv->result_bytes, G_MAXUINT));
  }
  priv->wrap_pool = gst_ocellus_pool_new(caps, 2, klass->attach_meta, klass->clear_meta);
  priv->result_pool = new_memory_pool(gst_buffer_pool_new(), caps, priv->result_bytes, 2);
  if (priv->wrap_pool == nullptr || priv->result_pool == nullptr) {
    return tl::unexpected(ocellus::make_error(Status::kOutOfMemory,
                                              "the pools of %zu bytes a result could not be made",
                                              priv->result_bytes));
  }
  return {};
}

static void set_latency(GstOcellusBase* self, GstClockTime latency) {
  GstOcellusBasePrivate* priv = get_private(self);
  GST_OBJECT_LOCK(self);
  const bool changed = priv->latency != latency;
  priv->latency = latency;
  GST_OBJECT_UNLOCK(self);
  if (!changed) return;
  GST_DEBUG_OBJECT(self, "latency is now %" GST_TIME_FORMAT, GST_TIME_ARGS(latency));
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

// The device answers no more. TRUE: the operator was made anew on the CPU, with an empty past.
static bool recover_from_device_loss(GstOcellusBase* self, const Error& error) {
  GstOcellusBasePrivate* priv = get_private(self);
  GST_OBJECT_LOCK(self);
  const bool allowed = priv->on_device_loss == GST_OCELLUS_ON_DEVICE_LOSS_CPU && !priv->fallen_back;
  GST_OBJECT_UNLOCK(self);
  if (!allowed) return false;
  priv->fallen_back = true;

  const std::string text = error.text;
  release_pending(self);
  gst_clear_buffer(&priv->newest.data);
  GST_OCELLUS_BASE_GET_CLASS(self)->destroy(self);
  priv->engine.reset();

  const Expected<EngineConfig> config = engine_config(self);
  if (!config) return false;
  if (Expected<void> made = create_operator(self, *config); !made) {
    post_error(self, made.error());
    return false;
  }
  GST_ELEMENT_WARNING(self, RESOURCE, FAILED, ("The device was lost; going on with the CPU."),
                      ("%s", text.c_str()));
  return true;
}

// ---- one frame
// ----------------------------------------------------------------------------------------------------

// What became of a frame given to the operator.
enum class Outcome {
  kDone,    // `result` is filled in; the caller owns its data
  kMissed,  // not within the budget; the frame is pending
  kFailed,  // an error has been posted
};

static void remember_newest(GstOcellusBase* self, const GstOcellusResult& result) {
  GstOcellusBasePrivate* priv = get_private(self);
  gst_buffer_replace(&priv->newest.data, result.data);
  GstBuffer* data = priv->newest.data;
  priv->newest = result;
  priv->newest.data = data;
}

// Waits for the pending frame.
static Outcome finish_pending(GstOcellusBase* self, Deadline deadline, GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = get_private(self);
  const Expected<FrameInfo> info =
      GST_OCELLUS_BASE_GET_CLASS(self)->wait(self, priv->pending->ticket, deadline);
  if (!info) {
    if (info.error().status == Status::kDeadlineMissed) return Outcome::kMissed;
    if (info.error().status == Status::kDeviceLost) {
      GstBuffer* picture = gst_buffer_ref(priv->pending->picture);
      const bool recovered = recover_from_device_loss(self, info.error());
      gst_buffer_unref(picture);
      if (recovered) return Outcome::kMissed;  // no longer pending: the caller submits again
    }
    post_error(self, info.error());
    return Outcome::kFailed;
  }
  result->data = gst_buffer_ref(priv->pending->result);
  result->info = *info;
  release_pending(self);
  GST_OBJECT_LOCK(self);
  const bool keep = priv->on_miss == GST_OCELLUS_ON_MISS_REUSE;
  GST_OBJECT_UNLOCK(self);
  if (keep) remember_newest(self, *result);
  return Outcome::kDone;
}

// Gives `picture` to the operator as the next frame.
static Outcome begin_frame(GstOcellusBase* self, GstBuffer* picture, GstClockTime pts) {
  GstOcellusBasePrivate* priv = get_private(self);
  const bool merged =
      gst_buffer_get_video_meta(picture) == nullptr && gst_buffer_n_memory(picture) > 1;

  PendingFrame next;
  if (Expected<void> mapped = next.luma.map(picture, priv->video, 1, GST_MAP_READ); !mapped) {
    post_bad_buffer(self, mapped.error());
    return Outcome::kFailed;
  }
  if (gst_buffer_pool_acquire_buffer(priv->result_pool, &next.result, nullptr) != GST_FLOW_OK) {
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT,
                      ("No memory for a result of %" G_GSIZE_FORMAT " bytes.", priv->result_bytes),
                      (nullptr));
    return Outcome::kFailed;
  }
  if (!gst_buffer_map(next.result, &next.result_map, GST_MAP_READWRITE)) {
    gst_buffer_unref(next.result);
    GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("The memory of a result cannot be mapped."),
                      (nullptr));
    return Outcome::kFailed;
  }

  Frame frame;
  frame.data = next.luma.plane(0);
  frame.size = {GST_VIDEO_INFO_WIDTH(&priv->video), GST_VIDEO_INFO_HEIGHT(&priv->video)};
  frame.stride = next.luma.stride(0);
  frame.format = gst_ocellus_pixel_format(priv->video);
  frame.sequence = priv->sequence;
  // GST_CLOCK_TIME_NONE comes back as it went in.
  frame.timestamp_ns = static_cast<gint64>(pts);
  const Expected<Ticket> ticket =
      GST_OCELLUS_BASE_GET_CLASS(self)->submit(self, frame, next.result_map.data);
  if (!ticket) {
    next.luma.unmap();
    gst_buffer_unmap(next.result, &next.result_map);
    gst_buffer_unref(next.result);
    if (ticket.error().status == Status::kDeviceLost &&
        recover_from_device_loss(self, ticket.error()))
      return Outcome::kMissed;
    post_error(self, ticket.error());
    return Outcome::kFailed;
  }
  next.ticket = *ticket;
  next.picture = gst_buffer_ref(picture);
  priv->pending.emplace(std::move(next));
  if (merged) {
    GST_OBJECT_LOCK(self);
    ++priv->copies;
    GST_OBJECT_UNLOCK(self);
  }
  return Outcome::kDone;
}

// Submits and waits. After a lost device the frame is tried once more, on the CPU.
static Outcome run_frame(GstOcellusBase* self, GstBuffer* picture, GstClockTime pts,
                         Deadline deadline, GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = get_private(self);
  // An earlier frame that missed its budget still has the operator. The temporal state needs every
  // frame, in order, so the stream waits here; `finish_pending` keeps its result for on-miss=reuse.
  if (priv->pending) {
    GstOcellusResult earlier;
    if (finish_pending(self, Deadline::never(), &earlier) == Outcome::kFailed)
      return Outcome::kFailed;
    gst_clear_buffer(&earlier.data);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Outcome begun = begin_frame(self, picture, pts);
    if (begun == Outcome::kFailed) return begun;
    if (begun == Outcome::kMissed) continue;
    const Outcome outcome = finish_pending(self, deadline, result);
    if (outcome == Outcome::kMissed && !priv->pending) continue;
    ++priv->sequence;
    return outcome;
  }
  GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("The device was lost again."), (nullptr));
  return Outcome::kFailed;
}

static void post_qos(GstOcellusBase* self, GstBuffer* buffer, GstClockTimeDiff jitter,
                     gdouble proportion) {
  GstOcellusBasePrivate* priv = get_private(self);
  const GstSegment* segment = &GST_BASE_TRANSFORM(self)->segment;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  GST_OBJECT_LOCK(self);
  const gboolean live = priv->live;
  const guint64 processed = priv->frames;
  const guint64 dropped = priv->dropped;
  GST_OBJECT_UNLOCK(self);
  GstMessage* message = gst_message_new_qos(
      GST_OBJECT(self), live, gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts),
      gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts), pts, GST_BUFFER_DURATION(buffer));
  gst_message_set_qos_values(message, jitter, proportion, 1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, processed, dropped);
  gst_element_post_message(GST_ELEMENT(self), message);
}

static void post_frame(GstOcellusBase* self, GstBuffer* buffer, GstClockTime arrival_to_result) {
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  const GstSegment* segment = &GST_BASE_TRANSFORM(self)->segment;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  GstStructure* structure = gst_structure_new(
      klass->message_name, "timestamp", G_TYPE_UINT64, pts, "stream-time", G_TYPE_UINT64,
      gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts), "running-time", G_TYPE_UINT64,
      gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts), "duration", G_TYPE_UINT64,
      GST_BUFFER_DURATION(buffer), "latency", G_TYPE_UINT64, arrival_to_result, nullptr);
  if (klass->describe != nullptr) klass->describe(self, buffer, structure);
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), structure));
}

// A picture that may be drawn on: this one when nobody else reads it, else a copy. Takes and gives
// a reference.
static GstBuffer* make_drawable(GstOcellusBase* self, GstBuffer* picture) {
  GstOcellusBasePrivate* priv = get_private(self);
  if (gst_buffer_is_writable(picture) && gst_buffer_is_all_memory_writable(picture)) return picture;
  if (priv->copy_pool == nullptr) {
    GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
    priv->copy_pool =
        new_memory_pool(gst_video_buffer_pool_new(), caps, GST_VIDEO_INFO_SIZE(&priv->video), 2);
    gst_caps_unref(caps);
  }
  GstBuffer* copy = nullptr;
  if (priv->copy_pool == nullptr ||
      gst_buffer_pool_acquire_buffer(priv->copy_pool, &copy, nullptr) != GST_FLOW_OK) {
    gst_buffer_unref(picture);
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT,
                      ("No memory for a copy of the picture to draw on."), (nullptr));
    return nullptr;
  }
  // Metas that speak of the memory's layout do not come along: the copy has the layout of the caps.
  gst_buffer_copy_into(copy, picture, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  const Expected<void> copied = gst_ocellus_copy_picture(picture, copy, priv->video);
  gst_buffer_unref(picture);
  if (!copied) {
    gst_buffer_unref(copy);
    post_bad_buffer(self, copied.error());
    return nullptr;
  }
  GST_OBJECT_LOCK(self);
  ++priv->copies;
  GST_OBJECT_UNLOCK(self);
  return copy;
}

// Makes the outgoing buffer: picture and result on one of our own. Takes `picture`; `result` may be
// null.
static GstBuffer* dress(GstOcellusBase* self, GstBuffer* picture, const GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  GstBuffer* buffer = nullptr;
  if (gst_buffer_pool_acquire_buffer(priv->wrap_pool, &buffer, nullptr) != GST_FLOW_OK) {
    gst_buffer_unref(picture);
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("No buffer for a frame."), (nullptr));
    return nullptr;
  }
  GST_OBJECT_LOCK(self);
  const bool draw = priv->draw && result != nullptr;
  GST_OBJECT_UNLOCK(self);
  if (result != nullptr) klass->set_result(self, buffer, *result);
  if (draw) {
    picture = make_drawable(self, picture);
    if (picture == nullptr) {
      gst_buffer_unref(buffer);
      return nullptr;
    }
    GstOcellusPicture planes;
    const auto readwrite = static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_WRITE);
    const Expected<void> mapped = planes.map(
        picture, priv->video, static_cast<int>(GST_VIDEO_INFO_N_PLANES(&priv->video)), readwrite);
    if (!mapped) {
      gst_buffer_unref(picture);
      gst_buffer_unref(buffer);
      post_bad_buffer(self, mapped.error());
      return nullptr;
    }
    klass->draw(self, buffer, planes.overlay(priv->video));
  }
  if (gst_ocellus_pool_wrap(buffer, picture)) {
    GST_OBJECT_LOCK(self);
    ++priv->copies;
    GST_OBJECT_UNLOCK(self);
  }
  return buffer;
}

// The stream pauses for good: what is held back gets its result with the last frame standing in for
// those to come.
static GstFlowReturn drain(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = get_private(self);
  GstFlowReturn flow = GST_FLOW_OK;
  if (!priv->held.empty() && priv->engine) {
    GST_DEBUG_OBJECT(self, "draining %" G_GSIZE_FORMAT " frames", priv->held.size());
    GstBuffer* last = gst_buffer_ref(priv->held.back().picture);
    // A stream shorter than the delay needs more repetitions than it has frames, but never more
    // than `hold`.
    for (guint i = 0; i < priv->hold && !priv->held.empty() && flow == GST_FLOW_OK; ++i) {
      const guint64 described =
          priv->sequence - priv->hold;  // wraps around below the first frame, and then equals none
      const Clock::time_point begin = Clock::now();
      GstOcellusResult result;
      if (run_frame(self, last, GST_BUFFER_PTS(last), Deadline::never(), &result) !=
          Outcome::kDone) {
        flow = GST_FLOW_ERROR;
        break;
      }
      result.repeated = true;
      if (described == priv->held.front().sequence) {
        GstBuffer* picture = priv->held.front().picture;
        priv->held.erase(priv->held.begin());
        if (priv->held.empty()) gst_clear_buffer(&last);
        GstBuffer* buffer = dress(self, picture, &result);
        GST_OBJECT_LOCK(self);
        const bool post_messages = priv->post_messages;
        GST_OBJECT_UNLOCK(self);
        if (post_messages && buffer != nullptr)
          post_frame(self, buffer, nanoseconds(Clock::now() - begin));
        flow = buffer != nullptr ? gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer)
                                 : GST_FLOW_ERROR;
      }
      gst_clear_buffer(&result.data);
    }
    gst_clear_buffer(&last);
  }
  forget(self);
  return flow;
}

// A frame that downstream would throw away because it is too late; `false` without such knowledge.
static bool too_late(GstOcellusBase* self, GstBuffer* picture, GstClockTimeDiff* jitter) {
  GstOcellusBasePrivate* priv = get_private(self);
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  if (!gst_base_transform_is_qos_enabled(trans) || trans->segment.format != GST_FORMAT_TIME)
    return false;
  const GstClockTime running =
      gst_segment_to_running_time(&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(picture));
  GST_OBJECT_LOCK(self);
  const GstClockTime earliest = priv->earliest_time;
  GST_OBJECT_UNLOCK(self);
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(earliest) || running > earliest)
    return false;
  *jitter = GST_CLOCK_DIFF(running, earliest);
  return true;
}

// ---- GstBaseTransform
// ---------------------------------------------------------------------------------------------

static gboolean gst_ocellus_base_start(GstBaseTransform* trans) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  priv->fallen_back = false;
  const Expected<EngineConfig> config = engine_config(self);
  if (!config) {
    post_error(self, config.error());
    return FALSE;
  }
  if (const Expected<EngineInfo> info = Engine::probe(*config); !info) {
    post_error(self, info.error());
    return FALSE;
  }
  if (klass->check_settings != nullptr) {
    if (const Expected<void> checked = klass->check_settings(self); !checked) {
      post_error(self, checked.error());
      return FALSE;
    }
  }
  GST_OBJECT_LOCK(self);
  priv->histogram.reset();
  priv->frames = priv->misses = priv->copies = priv->dropped = 0;
  priv->latency = 0;
  priv->live = FALSE;
  priv->earliest_time = GST_CLOCK_TIME_NONE;
  GST_OBJECT_UNLOCK(self);
  return TRUE;
}

static gboolean gst_ocellus_base_stop(GstBaseTransform* trans) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  destroy_operator(self);
  clear_pool(&priv->wrap_pool);
  clear_pool(&priv->result_pool);
  clear_pool(&priv->copy_pool);
  gst_video_info_init(&priv->video);
  set_active_backend(self, {});
  return TRUE;
}

static bool same_picture(const GstVideoInfo& a, const GstVideoInfo& b) {
  if (GST_VIDEO_INFO_FORMAT(&a) != GST_VIDEO_INFO_FORMAT(&b) ||
      GST_VIDEO_INFO_WIDTH(&a) != GST_VIDEO_INFO_WIDTH(&b) ||
      GST_VIDEO_INFO_HEIGHT(&a) != GST_VIDEO_INFO_HEIGHT(&b))
    return false;
  return GST_VIDEO_INFO_SIZE(&a) == GST_VIDEO_INFO_SIZE(&b);
}

static gboolean gst_ocellus_base_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  GstVideoInfo video;
  if (!gst_video_info_from_caps(&video, incaps)) {
    GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("These caps are not understood."),
                      ("%" GST_PTR_FORMAT, static_cast<gpointer>(incaps)));
    return FALSE;
  }
  const GstVideoInterlaceMode mode = GST_VIDEO_INFO_INTERLACE_MODE(&video);
  if (mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE && mode != GST_VIDEO_INTERLACE_MODE_MIXED) {
    GST_ELEMENT_ERROR(self, STREAM, FORMAT,
                      ("Interlaced video (%s): two fields are two moments. Put the element "
                       "deinterlace before this one.",
                       gst_video_interlace_mode_to_string(mode)),
                      (nullptr));
    return FALSE;
  }

  // The same caps come again when downstream renegotiates; the past is not lost by that.
  if (!priv->engine || !same_picture(video, priv->video)) {
    destroy_operator(self);
    priv->video = video;
    Expected<EngineConfig> config = engine_config(self);
    Expected<void> made =
        config ? create_operator(self, *config) : Expected<void>(tl::unexpected(config.error()));
    if (made) made = create_pools(self, incaps);
    if (!made) {
      destroy_operator(self);
      post_error(self, made.error());
      return FALSE;
    }
  }
  priv->video = video;
  GST_OBJECT_LOCK(self);
  priv->hold = priv->align ? static_cast<guint>(priv->delay) : 0;
  GST_OBJECT_UNLOCK(self);
  priv->held.reserve(priv->hold + 1);

  const gint fps_n = GST_VIDEO_INFO_FPS_N(&video);
  const gint fps_d = GST_VIDEO_INFO_FPS_D(&video);
  // Without a frame rate the latency is measured while frames come.
  if (priv->hold == 0 || fps_n > 0)
    set_latency(self, priv->hold == 0 ? 0
                                      : gst_util_uint64_scale(priv->hold * GST_SECOND,
                                                              static_cast<guint64>(fps_d),
                                                              static_cast<guint64>(fps_n)));
  return TRUE;
}

static gboolean gst_ocellus_base_query(GstBaseTransform* trans, GstPadDirection direction,
                                       GstQuery* query) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY || direction != GST_PAD_SRC)
    return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->query(trans, direction, query);

  if (!gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(trans), query)) return FALSE;
  gboolean live = FALSE;
  GstClockTime min = 0;
  GstClockTime max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  GST_OBJECT_LOCK(self);
  priv->live = live;
  const GstClockTime latency = priv->latency;
  GST_OBJECT_UNLOCK(self);
  GST_DEBUG_OBJECT(self, "latency: upstream %" GST_TIME_FORMAT ", own %" GST_TIME_FORMAT,
                   GST_TIME_ARGS(min), GST_TIME_ARGS(latency));
  min += latency;
  if (GST_CLOCK_TIME_IS_VALID(max)) max += latency;
  gst_query_set_latency(query, live, min, max);
  return TRUE;
}

// The pictures that come in go out again as they are, so downstream's wishes are asked of upstream;
// frames held back and the one in the operator come on top.
static gboolean gst_ocellus_base_propose_allocation(GstBaseTransform* trans, GstQuery*,
                                                    GstQuery* query) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  const guint extra = priv->hold + 1;
  gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(trans), query);
  const guint pools = gst_query_get_n_allocation_pools(query);
  for (guint i = 0; i < pools; ++i) {
    GstBufferPool* pool = nullptr;
    guint size = 0;
    guint min = 0;
    guint max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, min + extra,
                                      max == 0 ? 0 : max + extra);
    if (pool != nullptr) gst_object_unref(pool);
  }
  if (pools == 0)
    gst_query_add_allocation_pool(
        query, nullptr, static_cast<guint>(GST_VIDEO_INFO_SIZE(&priv->video)), extra + 1, 0);
  return TRUE;
}

// Nothing is allocated for the output: the pictures are upstream's, the rest comes from the
// element's own pools.
static gboolean gst_ocellus_base_decide_allocation(GstBaseTransform*, GstQuery* query) {
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  return TRUE;
}

static gboolean gst_ocellus_base_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_STOP:
      forget(self);
      GST_OBJECT_LOCK(self);
      priv->earliest_time = GST_CLOCK_TIME_NONE;
      GST_OBJECT_UNLOCK(self);
      break;
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      GstVideoInfo video;
      // A change of the frame rate alone is a new timeline too: pixels per frame mean something
      // else.
      if (gst_video_info_from_caps(&video, caps) && !gst_video_info_is_equal(&video, &priv->video))
        drain(self);
      break;
    }
    case GST_EVENT_STREAM_START:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_GAP:
    case GST_EVENT_SEGMENT_DONE:
    case GST_EVENT_EOS:
      drain(self);
      break;
    default:
      break;
  }
  return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->sink_event(trans, event);
}

static gboolean gst_ocellus_base_src_event(GstBaseTransform* trans, GstEvent* event) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    GstClockTimeDiff diff = 0;
    GstClockTime timestamp = GST_CLOCK_TIME_NONE;
    gst_event_parse_qos(event, nullptr, nullptr, &diff, &timestamp);
    GST_OBJECT_LOCK(self);
    GstClockTime earliest = GST_CLOCK_TIME_NONE;
    if (GST_CLOCK_TIME_IS_VALID(timestamp)) {
      const auto sum = static_cast<GstClockTimeDiff>(timestamp) + diff;
      earliest = sum > 0 ? static_cast<GstClockTime>(sum) : 0;
    }
    get_private(self)->earliest_time = earliest;
    GST_OBJECT_UNLOCK(self);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->src_event(trans, event);
}

static GstFlowReturn gst_ocellus_base_submit_input_buffer(GstBaseTransform* trans,
                                                          gboolean is_discont, GstBuffer* input) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = get_private(self);
  const Clock::time_point arrival = Clock::now();

  // The parent renegotiates when asked to and decides by QoS. What it skips is computed all the
  // same: a temporal state with a hole would see everything move twice as fast.
  gst_buffer_ref(input);
  const GstFlowReturn parent = GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)
                                   ->submit_input_buffer(trans, is_discont, input);
  const bool skipped = parent == GST_BASE_TRANSFORM_FLOW_DROPPED;
  if (parent == GST_FLOW_OK) {
    gst_clear_buffer(&trans->queued_buf);
  } else if (!skipped) {
    gst_buffer_unref(input);
    return parent;
  }
  if (!priv->engine) {
    gst_buffer_unref(input);
    return GST_FLOW_NOT_NEGOTIATED;
  }

  // Not `is_discont`, which is set after a frame of our own was dropped, too.
  if (GST_BUFFER_IS_DISCONT(input) && priv->sequence > 0) {
    GST_DEBUG_OBJECT(self, "discontinuity: the past is forgotten");
    if (const GstFlowReturn flow = drain(self); flow != GST_FLOW_OK) {
      gst_buffer_unref(input);
      return flow;
    }
  }

  GST_OBJECT_LOCK(self);
  const guint64 budget = priv->budget;
  const GstOcellusOnMiss on_miss = priv->on_miss;
  const bool post_messages = priv->post_messages;
  GST_OBJECT_UNLOCK(self);
  const bool limited = budget > 0 && budget <= static_cast<guint64>(G_MAXINT64);
  const auto allowed = std::chrono::nanoseconds(limited ? static_cast<gint64>(budget) : 0);
  const Deadline deadline = limited ? Deadline::at(arrival + allowed) : Deadline::never();

  const guint64 sequence = priv->sequence;
  GstOcellusResult result;
  Outcome outcome = run_frame(self, input, GST_BUFFER_PTS(input), deadline, &result);
  bool missed = outcome == Outcome::kMissed;
  const Clock::duration given_up = Clock::now() - arrival;
  if (missed && on_miss == GST_OCELLUS_ON_MISS_POST)
    outcome = finish_pending(self, Deadline::never(), &result);
  if (outcome == Outcome::kMissed && !priv->pending)
    outcome = run_frame(self, input, GST_BUFFER_PTS(input), Deadline::never(), &result);
  if (outcome == Outcome::kFailed) {
    gst_buffer_unref(input);
    return GST_FLOW_ERROR;
  }
  const Clock::duration elapsed = outcome == Outcome::kDone ? Clock::now() - arrival : given_up;
  missed = missed || (limited && elapsed > allowed);
  result.late = missed;

  // The picture that goes out now: this one, or the one that the result describes.
  GstBuffer* picture = input;
  if (priv->hold > 0) {
    priv->held.push_back({input, sequence});
    picture = nullptr;
    if (priv->held.size() > priv->hold) {
      picture = priv->held.front().picture;
      priv->held.erase(priv->held.begin());
      const GstClockTime now = GST_BUFFER_PTS(input);
      const GstClockTime then = GST_BUFFER_PTS(picture);
      if (GST_VIDEO_INFO_FPS_N(&priv->video) == 0 && GST_CLOCK_TIME_IS_VALID(now) &&
          GST_CLOCK_TIME_IS_VALID(then) && now > then && now - then > priv->latency)
        set_latency(self, now - then);
    }
  }

  GstClockTimeDiff jitter = 0;
  const bool late_downstream =
      picture != nullptr && !skipped && priv->hold > 0 && too_late(self, picture, &jitter);
  const bool drop_missed = missed && on_miss == GST_OCELLUS_ON_MISS_DROP;
  const bool drop = picture != nullptr && (skipped || late_downstream || drop_missed);
  GST_OBJECT_LOCK(self);
  ++priv->frames;
  priv->histogram.record(static_cast<gint64>(nanoseconds(elapsed)));
  if (missed) ++priv->misses;
  if (drop) ++priv->dropped;
  GST_OBJECT_UNLOCK(self);
  if (missed) {
    GST_DEBUG_OBJECT(self, "budget of %" G_GUINT64_FORMAT " ns missed: %" G_GUINT64_FORMAT " ns",
                     budget, nanoseconds(elapsed));
    // `input` is alive: as the picture, or among the frames held back.
    post_qos(
        self, input,
        static_cast<GstClockTimeDiff>(nanoseconds(elapsed)) - static_cast<GstClockTimeDiff>(budget),
        static_cast<gdouble>(nanoseconds(elapsed)) / static_cast<gdouble>(budget));
  }
  if (late_downstream) post_qos(self, picture, jitter, 1.0);

  GstFlowReturn flow = GST_FLOW_OK;
  if (drop) {
    gst_buffer_unref(picture);
    flow = GST_BASE_TRANSFORM_FLOW_DROPPED;
  } else if (picture != nullptr) {
    const GstOcellusResult* shown = outcome == Outcome::kDone ? &result : nullptr;
    GstOcellusResult old;
    if (shown == nullptr && on_miss == GST_OCELLUS_ON_MISS_REUSE && priv->newest.data != nullptr) {
      old = priv->newest;
      old.reused = true;
      shown = &old;
    }
    priv->ready = dress(self, picture, shown);
    if (priv->ready == nullptr)
      flow = GST_FLOW_ERROR;
    else if (post_messages && shown != nullptr)
      post_frame(self, priv->ready, nanoseconds(elapsed));
  }
  gst_clear_buffer(&result.data);
  return flow;
}

static GstFlowReturn gst_ocellus_base_generate_output(GstBaseTransform* trans, GstBuffer** outbuf) {
  *outbuf = std::exchange(get_private(GST_OCELLUS_BASE(trans))->ready, nullptr);
  return GST_FLOW_OK;
}

// ---- GObject
// ------------------------------------------------------------------------------------------------------

static void gst_ocellus_base_set_property(GObject* object, guint id, const GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* self = GST_OCELLUS_BASE(object);
  GstOcellusBasePrivate* priv = get_private(self);
  if ((pspec->flags & GST_PARAM_MUTABLE_READY) != 0 && !gst_ocellus_base_may_configure(self, pspec))
    return;
  GST_OBJECT_LOCK(self);
  switch (id) {
    case PROP_BACKEND:
      priv->backend =
          g_value_get_string(value) != nullptr ? g_value_get_string(value) : DEFAULT_BACKEND;
      break;
    case PROP_THREADS:
      priv->threads = g_value_get_int(value);
      break;
    case PROP_BUDGET:
      priv->budget = g_value_get_uint64(value);
      break;
    case PROP_ON_MISS:
      priv->on_miss = static_cast<GstOcellusOnMiss>(g_value_get_enum(value));
      break;
    case PROP_ON_DEVICE_LOSS:
      priv->on_device_loss = static_cast<GstOcellusOnDeviceLoss>(g_value_get_enum(value));
      break;
    case PROP_DRAW:
      priv->draw = g_value_get_boolean(value);
      break;
    case PROP_POST_MESSAGES:
      priv->post_messages = g_value_get_boolean(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
}

static GstStructure* make_stats(GstOcellusBasePrivate* priv) {
  const auto percentile = [priv](double percent) {
    return static_cast<guint64>(priv->histogram.percentile_ns(percent));
  };
  return gst_structure_new("ocellus-stats", "frames", G_TYPE_UINT64, priv->frames, "misses",
                           G_TYPE_UINT64, priv->misses, "dropped", G_TYPE_UINT64, priv->dropped,
                           "copies", G_TYPE_UINT64, priv->copies, "p50", G_TYPE_UINT64,
                           percentile(50.0), "p99", G_TYPE_UINT64, percentile(99.0), "max",
                           G_TYPE_UINT64, static_cast<guint64>(priv->histogram.max_ns()), nullptr);
}

static void gst_ocellus_base_get_property(GObject* object, guint id, GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* self = GST_OCELLUS_BASE(object);
  GstOcellusBasePrivate* priv = get_private(self);
  GST_OBJECT_LOCK(self);
  switch (id) {
    case PROP_BACKEND:
      g_value_set_string(value, priv->backend.c_str());
      break;
    case PROP_ACTIVE_BACKEND:
      g_value_set_string(value,
                         priv->active_backend.empty() ? nullptr : priv->active_backend.c_str());
      break;
    case PROP_THREADS:
      g_value_set_int(value, priv->threads);
      break;
    case PROP_BUDGET:
      g_value_set_uint64(value, priv->budget);
      break;
    case PROP_ON_MISS:
      g_value_set_enum(value, priv->on_miss);
      break;
    case PROP_ON_DEVICE_LOSS:
      g_value_set_enum(value, priv->on_device_loss);
      break;
    case PROP_STATS:
      g_value_take_boxed(value, make_stats(priv));
      break;
    case PROP_DRAW:
      g_value_set_boolean(value, priv->draw);
      break;
    case PROP_POST_MESSAGES:
      g_value_set_boolean(value, priv->post_messages);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
}

static void gst_ocellus_base_finalize(GObject* object) {
  delete get_private(GST_OCELLUS_BASE(object));
  G_OBJECT_CLASS(gst_ocellus_base_parent_class)->finalize(object);
}

static void gst_ocellus_base_class_init(gpointer klass, gpointer) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_ocellus_base_debug, "ocellusbase", 0,
                          "Base class of the Ocellus elements");
  gst_ocellus_base_parent_class = g_type_class_peek_parent(klass);
  g_type_class_adjust_private_offset(klass, &private_offset);

  object_class->set_property = gst_ocellus_base_set_property;
  object_class->get_property = gst_ocellus_base_get_property;
  object_class->finalize = gst_ocellus_base_finalize;

  constexpr auto kReady = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  constexpr auto kPlaying = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                     GST_PARAM_MUTABLE_PLAYING);
  constexpr auto kRead = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  properties[PROP_BACKEND] = g_param_spec_string(
      "backend", "Backend", "What computes: auto, cpu, cuda or cuda:N (N = device number)",
      DEFAULT_BACKEND, kReady);
  properties[PROP_ACTIVE_BACKEND] = g_param_spec_string(
      "active-backend", "Active backend",
      "What computes now: cpu or cuda:N; NULL before the caps are known", nullptr, kRead);
  properties[PROP_THREADS] =
      g_param_spec_int("threads", "Threads", "CPU threads that work on a frame (0 = one per CPU)",
                       0, ocellus::kMaxWorkers, DEFAULT_THREADS, kReady);
  properties[PROP_BUDGET] = g_param_spec_uint64(
      "budget", "Budget",
      "Time from a frame's arrival to its result, in nanoseconds (0 = no limit)", 0, G_MAXINT64,
      DEFAULT_BUDGET, kPlaying);
  properties[PROP_ON_MISS] = g_param_spec_enum(
      "on-miss", "On miss", "What happens to a frame whose result is not there within the budget",
      GST_TYPE_OCELLUS_ON_MISS, DEFAULT_ON_MISS, kPlaying);
  properties[PROP_ON_DEVICE_LOSS] = g_param_spec_enum(
      "on-device-loss", "On device loss", "What happens when the device answers no more",
      GST_TYPE_OCELLUS_ON_DEVICE_LOSS, DEFAULT_ON_DEVICE_LOSS, kPlaying);
  properties[PROP_STATS] =
      g_param_spec_boxed("stats", "Statistics",
                         "Since READY: frames, misses (of the budget), dropped, copies (of "
                         "pictures), and the time from a "
                         "frame's arrival to its result in nanoseconds: p50, p99, max",
                         GST_TYPE_STRUCTURE, kRead);
  properties[PROP_DRAW] = g_param_spec_boolean("draw", "Draw", "Draw the result over the picture",
                                               DEFAULT_DRAW, kPlaying);
  properties[PROP_POST_MESSAGES] = g_param_spec_boolean(
      "post-messages", "Post messages", "Post an element message for every frame with a result",
      DEFAULT_POST_MESSAGES, kPlaying);
  g_object_class_install_properties(object_class, PROP_LAST, properties);

  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);

  trans_class->start = GST_DEBUG_FUNCPTR(gst_ocellus_base_start);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_ocellus_base_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_ocellus_base_set_caps);
  trans_class->query = GST_DEBUG_FUNCPTR(gst_ocellus_base_query);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR(gst_ocellus_base_propose_allocation);
  trans_class->decide_allocation = GST_DEBUG_FUNCPTR(gst_ocellus_base_decide_allocation);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_ocellus_base_sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR(gst_ocellus_base_src_event);
  trans_class->submit_input_buffer = GST_DEBUG_FUNCPTR(gst_ocellus_base_submit_input_buffer);
  trans_class->generate_output = GST_DEBUG_FUNCPTR(gst_ocellus_base_generate_output);

  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_BASE, static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_ON_MISS, static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_ON_DEVICE_LOSS, static_cast<GstPluginAPIFlags>(0));
}

static void gst_ocellus_base_init(GTypeInstance* instance, gpointer) {
  GstOcellusBase* self = GST_OCELLUS_BASE(instance);
  auto* priv = new GstOcellusBasePrivate;
  gst_video_info_init(&priv->video);
  *static_cast<GstOcellusBasePrivate**>(G_STRUCT_MEMBER_P(self, private_offset)) = priv;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), FALSE);
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}
