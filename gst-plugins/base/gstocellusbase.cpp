#include "base/gstocellusbase.h"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "base/gstocellusstream.h"

GST_DEBUG_CATEGORY(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::Deadline;
using ocellus::Engine;
using ocellus::EngineConfig;
using ocellus::EngineInfo;
using ocellus::Expected;
using ocellus::OperatorConfig;
using ocellus::PixelFormat;

static_assert(G_BYTE_ORDER == G_LITTLE_ENDIAN,
              "GRAY16_LE is handed to the library as it is: 16 bits in the host's byte order");
static_assert(ocellus::kMaxImageSide == 16384, "the pad templates say 16384");

#define OCELLUS_SIZES                                   \
  "width=(int)[ 1, 16384 ], height=(int)[ 1, 16384 ], " \
  "framerate=(fraction)[ 0/1, 2147483647/1 ]"
// GStreamer's CUDA library has no gray pictures: asked for one, 1.22 ends the process.
#ifdef OCELLUS_GST_CUDA
#define OCELLUS_CUDA_CAPS \
  "video/x-raw(" GST_OCELLUS_CUDA_FEATURE "), format=(string){ I420, NV12 }, " OCELLUS_SIZES "; "
#else
#define OCELLUS_CUDA_CAPS ""
#endif
#define OCELLUS_CAPS \
  OCELLUS_CUDA_CAPS "video/x-raw, format=(string){ GRAY8, GRAY16_LE, I420, NV12 }, " OCELLUS_SIZES

enum {
  PROP_0,
  PROP_CONFIG,
  PROP_BACKEND,
  PROP_ACTIVE_BACKEND,
  PROP_THREADS,
  PROP_BUDGET,
  PROP_ON_MISS,
  PROP_ON_DEVICE_LOSS,
  PROP_STATS,
  PROP_POST_MESSAGES,
  PROP_LAST,
};

static GParamSpec* properties[PROP_LAST];

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(OCELLUS_CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(OCELLUS_CAPS));

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

GstOcellusBasePrivate* gst_ocellus_base_get_private(GstOcellusBase* self) {
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

GstVideoColorRange gst_ocellus_color_range(const GstVideoInfo& video) {
  gint number = 0;  // a value that the enumeration does not have may not be read as one of its
  static_assert(sizeof(number) == sizeof(GST_VIDEO_INFO_COLORIMETRY(&video).range));
  std::memcpy(&number, &GST_VIDEO_INFO_COLORIMETRY(&video).range, sizeof(number));
  return number == GST_VIDEO_COLOR_RANGE_0_255 || number == GST_VIDEO_COLOR_RANGE_16_235
             ? static_cast<GstVideoColorRange>(number)
             : GST_VIDEO_COLOR_RANGE_UNKNOWN;
}

ocellus::GrayRange gst_ocellus_gray_range(const GstVideoInfo& video) {
  gint offset[GST_VIDEO_MAX_COMPONENTS] = {};
  gint scale[GST_VIDEO_MAX_COMPONENTS] = {};
  gst_video_color_range_offsets(gst_ocellus_color_range(video), video.finfo, offset, scale);
  const float unit = gst_ocellus_pixel_format(video) == PixelFormat::kGray16 ? 257.0f : 1.0f;
  return {static_cast<float>(offset[0]) / unit, static_cast<float>(offset[0] + scale[0]) / unit};
}

PixelFormat gst_ocellus_pixel_format(const GstVideoInfo& video) {
  return GST_VIDEO_INFO_FORMAT(&video) == GST_VIDEO_FORMAT_GRAY16_LE ? PixelFormat::kGray16
                                                                     : PixelFormat::kGray8;
}

void gst_ocellus_base_set_align(GstOcellusBase* self, gboolean align) {
  GST_OBJECT_LOCK(self);
  gst_ocellus_base_get_private(self)->align = align;
  GST_OBJECT_UNLOCK(self);
}

gboolean gst_ocellus_base_get_align(GstOcellusBase* self) {
  GST_OBJECT_LOCK(self);
  const gboolean align = gst_ocellus_base_get_private(self)->align;
  GST_OBJECT_UNLOCK(self);
  return align;
}

void gst_ocellus_base_set_draw(GstOcellusBase* self, gboolean draw) {
  GST_OBJECT_LOCK(self);
  gst_ocellus_base_get_private(self)->draw = draw;
  GST_OBJECT_UNLOCK(self);
}

gboolean gst_ocellus_base_get_draw(GstOcellusBase* self) {
  GST_OBJECT_LOCK(self);
  const gboolean draw = gst_ocellus_base_get_private(self)->draw;
  GST_OBJECT_UNLOCK(self);
  return draw;
}

void gst_ocellus_base_set_keep_chroma(GstOcellusBase* self, gboolean keep) {
  GST_OBJECT_LOCK(self);
  gst_ocellus_base_get_private(self)->keep_chroma = keep;
  GST_OBJECT_UNLOCK(self);
}

gboolean gst_ocellus_base_get_keep_chroma(GstOcellusBase* self) {
  GST_OBJECT_LOCK(self);
  const gboolean keep = gst_ocellus_base_get_private(self)->keep_chroma;
  GST_OBJECT_UNLOCK(self);
  return keep;
}

gboolean gst_ocellus_base_may_configure(GstOcellusBase* self, GParamSpec* pspec) {
  if ((pspec->flags & GST_PARAM_MUTABLE_READY) == 0) return TRUE;
  GST_OBJECT_LOCK(self);
  const GstState state = GST_STATE(self);
  const GstState next = GST_STATE_NEXT(self);
  const bool failed = GST_STATE_RETURN(self) == GST_STATE_CHANGE_FAILURE;
  GST_OBJECT_UNLOCK(self);
  // On the way down to READY the operator is as good as gone; on the way up it may be in the
  // making, unless the way has ended there.
  if (state <= GST_STATE_READY &&
      (next == GST_STATE_VOID_PENDING || next <= GST_STATE_READY || failed))
    return TRUE;
  GST_ELEMENT_WARNING(
      self, LIBRARY, SETTINGS,
      ("Property \"%s\" can be changed only in the states NULL and READY.", pspec->name),
      ("it keeps its value; the state is %s", gst_element_state_get_name(state)));
  return FALSE;
}

// ---- GstElement

static void gst_ocellus_base_set_context(GstElement* element, GstContext* context) {
  GstOcellusBase* self = GST_OCELLUS_BASE(element);
  if (const gpointer handle = GstOcellusCuda::handle_of(context)) {
    GST_OBJECT_LOCK(self);
    gst_ocellus_base_get_private(self)->neighbors_context = handle;
    GST_OBJECT_UNLOCK(self);
  }
  GST_ELEMENT_CLASS(gst_ocellus_base_parent_class)->set_context(element, context);
}

static GstStateChangeReturn gst_ocellus_base_change_state(GstElement* element,
                                                          GstStateChange transition) {
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_ocellus_base_parent_class)->change_state(element, transition);
  // Neighbors may ask before the start, too.
  if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    gst_ocellus::close_cuda(GST_OCELLUS_BASE(element));
  return result;
}

// ---- GstBaseTransform

// Reads the file of options, and checks what can be checked without a size.
static Expected<void> check_options(GstOcellusBase* self) {
  gst_ocellus::Options options = gst_ocellus::get_options(self);
  if (Expected<void> read = options.read_file(); !read) return read;
  const Expected<OperatorConfig> config = options.make();
  if (!config) return tl::unexpected(config.error());
  if (const auto check = GST_OCELLUS_BASE_GET_CLASS(self)->check_settings; check != nullptr) {
    if (const Expected<void> checked = check(*config); !checked)
      return options.named(checked.error());
  }
  GST_OBJECT_LOCK(self);
  gst_ocellus_base_get_private(self)->options = std::move(options);
  GST_OBJECT_UNLOCK(self);
  return {};
}

static gboolean gst_ocellus_base_start(GstBaseTransform* trans) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  priv->fallen_back = false;
  GST_OBJECT_UNLOCK(self);
  const Expected<EngineConfig> config = gst_ocellus::engine_config(self);
  if (!config) {
    gst_ocellus::post_error(self, config.error());
    return FALSE;
  }
  const Expected<EngineInfo> info = Engine::probe(*config);
  if (!info) {
    gst_ocellus::post_error(self, info.error());
    return FALSE;
  }
  if (const Expected<void> checked = check_options(self); !checked) {
    gst_ocellus::post_error(self, checked.error());
    return FALSE;
  }
  GST_OBJECT_LOCK(self);
  priv->started = true;
  priv->on_cuda = info->backend == ocellus::BackendKind::kCuda;
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
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  gst_ocellus::destroy_operator(self);
  gst_ocellus::clear_pools(self);
  gst_ocellus::close_cuda(self);
  gst_video_info_init(&priv->video);
  priv->cuda_caps = false;
  GST_OBJECT_LOCK(self);
  priv->started = false;
  priv->options.forget_file();
  GST_OBJECT_UNLOCK(self);
  gst_ocellus::set_active_backend(self, {});
  return TRUE;
}

static bool same_picture(const GstVideoInfo& a, const GstVideoInfo& b) {
  if (GST_VIDEO_INFO_FORMAT(&a) != GST_VIDEO_INFO_FORMAT(&b) ||
      GST_VIDEO_INFO_WIDTH(&a) != GST_VIDEO_INFO_WIDTH(&b) ||
      GST_VIDEO_INFO_HEIGHT(&a) != GST_VIDEO_INFO_HEIGHT(&b))
    return false;
  // What is black and what is white.
  if (gst_ocellus_color_range(a) != gst_ocellus_color_range(b)) return false;
  return GST_VIDEO_INFO_SIZE(&a) == GST_VIDEO_INFO_SIZE(&b);
}

static gboolean gst_ocellus_base_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
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

  const bool cuda_caps = GstOcellusCuda::is_feature_of(incaps);
  if (cuda_caps) {
    if (const auto cuda = gst_ocellus::open_cuda(self); !cuda) {
      gst_ocellus::post_error(self, cuda.error());
      return FALSE;
    }
  }

  // The same caps come again when downstream renegotiates; the past is not lost by that.
  if (!priv->engine || cuda_caps != priv->cuda_caps || !same_picture(video, priv->video)) {
    gst_ocellus::destroy_operator(self);
    priv->video = video;
    priv->cuda_caps = cuda_caps;
    Expected<EngineConfig> config = gst_ocellus::engine_config(self);
    Expected<void> made = config ? gst_ocellus::create_operator(self, *config)
                                 : Expected<void>(tl::unexpected(config.error()));
    if (made) made = gst_ocellus::create_pools(self, incaps);
    if (!made) {
      gst_ocellus::destroy_operator(self);
      gst_ocellus::post_error(self, made.error());
      return FALSE;
    }
  }
  priv->video = video;
  gst_ocellus::leave_picture_pool(self);
  GST_OBJECT_LOCK(self);
  priv->hold = priv->align ? static_cast<guint>(priv->info.delay_frames) : 0;
  GST_OBJECT_UNLOCK(self);
  priv->held.reserve(priv->hold + 1);

  const gint fps_n = GST_VIDEO_INFO_FPS_N(&video);
  const gint fps_d = GST_VIDEO_INFO_FPS_D(&video);
  // Without a frame rate the latency is measured while frames come.
  if (priv->hold == 0 || fps_n > 0)
    gst_ocellus::set_latency(
        self, priv->hold == 0
                  ? 0
                  : gst_util_uint64_scale(priv->hold * GST_SECOND, static_cast<guint64>(fps_d),
                                          static_cast<guint64>(fps_n)));
  return TRUE;
}

// A neighbor asks for a CUDA context to work in. Who has set another one on this element wants all
// to work there: those get their answer elsewhere.
static bool offer_context(GstOcellusBase* self, GstQuery* query) {
  const gchar* type = nullptr;
  gst_query_parse_context_type(query, &type);
  if (g_strcmp0(type, GST_OCELLUS_CUDA_CONTEXT) != 0 || !gst_ocellus::takes_cuda_memory(self))
    return false;
  const auto cuda = gst_ocellus::open_cuda(self);
  if (!cuda) {
    GST_DEBUG_OBJECT(self, "no CUDA context to offer: %s", cuda.error().text);
    return false;
  }
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const gpointer other = priv->neighbors_context;
  GST_OBJECT_UNLOCK(self);
  if (other != nullptr && other != (*cuda)->handle()) return false;
  GstContext* context = (*cuda)->new_context();
  gst_query_set_context(query, context);
  gst_context_unref(context);
  return true;
}

static gboolean gst_ocellus_base_query(GstBaseTransform* trans, GstPadDirection direction,
                                       GstQuery* query) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const auto* const parent = GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class);
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CONTEXT:
      return offer_context(self, query) || parent->query(trans, direction, query);
    case GST_QUERY_CAPS: {
      if (!parent->query(trans, direction, query)) return FALSE;
      if (gst_ocellus::takes_cuda_memory(self)) return TRUE;
      GstCaps* caps = nullptr;
      gst_query_parse_caps_result(query, &caps);
      GstCaps* rest = GstOcellusCuda::without_feature(gst_caps_ref(caps));
      gst_query_set_caps_result(query, rest);
      gst_caps_unref(rest);
      return TRUE;
    }
    case GST_QUERY_DRAIN:
    case GST_QUERY_ALLOCATION:
      // Both come in the stream, and their answer says that what came before them is through.
      if (direction == GST_PAD_SINK) gst_ocellus::release_pictures(self);
      return parent->query(trans, direction, query);
    case GST_QUERY_LATENCY:
      if (direction == GST_PAD_SRC) break;
      [[fallthrough]];
    default:
      return parent->query(trans, direction, query);
  }

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
  min = gst_ocellus::add_times(min, latency);
  if (GST_CLOCK_TIME_IS_VALID(max)) max = gst_ocellus::add_times(max, latency);
  gst_query_set_latency(query, live, min, max);
  return TRUE;
}

static void remove_pools(GstQuery* query) {
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
}

// Downstream's pool is good where its pictures lie in the primary context; else ours takes its
// place.
static gboolean propose_cuda_pool(GstOcellusBase* self, GstQuery* query, GstCaps* caps,
                                  guint extra) {
  const auto cuda = gst_ocellus::open_cuda(self);
  if (!cuda) return FALSE;
  GstBufferPool* pool = nullptr;
  guint bytes = 0;
  guint min = 1;
  guint max = 0;
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &bytes, &min, &max);
  if (pool == nullptr || !(*cuda)->is_pool_ours(pool)) {
    gst_clear_object(&pool);
    max = 0;
    pool = (*cuda)->new_pool(caps, min + extra, max, &bytes);
  }
  if (pool == nullptr) {
    GST_WARNING_OBJECT(self, "cuda:%d gave no memory for a pool", (*cuda)->device());
    return FALSE;
  }
  remove_pools(query);
  gst_query_add_allocation_pool(query, pool, bytes, min + extra, max == 0 ? 0 : max + extra);
  gst_object_unref(pool);
  if (!gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

// The pictures that come in go out again as they are, so downstream's wishes are asked of upstream;
// frames held back and the one in the operator come on top. Where results go out in their place,
// downstream's pool is for those.
static gboolean gst_ocellus_base_propose_allocation(GstBaseTransform* trans, GstQuery*,
                                                    GstQuery* query) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const guint extra = priv->hold + 1;
  gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(trans), query);
  if (GST_OCELLUS_BASE_GET_CLASS(self)->produces_video) remove_pools(query);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (caps != nullptr && GstOcellusCuda::is_feature_of(caps))
    return propose_cuda_pool(self, query, caps, extra);
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

// The parent allocates nothing for the output: the pictures are upstream's, the rest comes from
// pools that the element handles itself.
static gboolean gst_ocellus_base_decide_allocation(GstBaseTransform*, GstQuery* query) {
  remove_pools(query);
  return TRUE;
}

// What was held back goes out before caps that differ. A change of the frame rate alone is a new
// timeline too: pixels per frame mean something else.
static void prepare_for_caps(GstOcellusBase* self, GstCaps* caps) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstCaps* before = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
  const bool same = before != nullptr && gst_caps_is_equal(before, caps);
  gst_clear_caps(&before);
  if (same) return;
  GstVideoInfo video;
  if (gst_video_info_from_caps(&video, caps) && gst_video_info_is_equal(&video, &priv->video) &&
      GstOcellusCuda::is_feature_of(caps) == priv->cuda_caps)
    gst_ocellus::release_pictures(self);
  else
    gst_ocellus::drain(self);
}

static gboolean gst_ocellus_base_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_STOP:
      gst_ocellus::reset_state(self);
      GST_OBJECT_LOCK(self);
      priv->earliest_time = GST_CLOCK_TIME_NONE;
      GST_OBJECT_UNLOCK(self);
      break;
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      prepare_for_caps(self, caps);
      break;
    }
    case GST_EVENT_STREAM_START:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_GAP:
    case GST_EVENT_SEGMENT_DONE:
    case GST_EVENT_EOS:
      gst_ocellus::drain(self);
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
      // Unsigned: G_MININT64 has no negative.
      const guint64 early = diff < 0 ? guint64{0} - static_cast<guint64>(diff) : 0;
      earliest = diff < 0 ? MIN(timestamp - MIN(timestamp, early), gst_ocellus::kLongestTime)
                          : gst_ocellus::add_times(timestamp, static_cast<guint64>(diff));
    }
    gst_ocellus_base_get_private(self)->earliest_time = earliest;
    GST_OBJECT_UNLOCK(self);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->src_event(trans, event);
}

// How long a frame is: as the caps say; at a variable rate the longer one of this and the last.
static GstClockTime frame_time(const GstOcellusBasePrivate* priv, GstBuffer* input) {
  const gint fps_n = GST_VIDEO_INFO_FPS_N(&priv->video);
  if (fps_n > 0)
    return gst_util_uint64_scale_int_ceil(GST_SECOND, GST_VIDEO_INFO_FPS_D(&priv->video), fps_n);
  const GstClockTime duration = GST_BUFFER_DURATION(input);
  return GST_CLOCK_TIME_IS_VALID(duration) ? MAX(duration, priv->last_frame_time)
                                           : priv->last_frame_time;
}

// Whether the stream begins anew with this frame. Sources say so (DISCONT), or the time steps
// against the direction of playing. In reverse the flag says little: GStreamer's sources set it on
// every buffer, so there it counts only where the time does not go on, either. A step of a frame
// and a half is none yet: a camera's clock may be set back, and frames may come last first, by
// times that are rounded to nanoseconds or to milliseconds.
static bool breaks_off(const GstBaseTransform* trans, const GstOcellusBasePrivate* priv,
                       GstBuffer* input) {
  const bool reverse = trans->segment.rate < 0.0;
  const bool flagged = GST_BUFFER_IS_DISCONT(input);
  if (flagged && !reverse) return true;
  const GstClockTime pts = GST_BUFFER_PTS(input);
  if (!GST_CLOCK_TIME_IS_VALID(pts) || !GST_CLOCK_TIME_IS_VALID(priv->last_pts)) return flagged;
  const bool back = pts < priv->last_pts;
  const bool onward = back == reverse;
  if (onward && !flagged) return false;
  const GstClockTime step = back ? priv->last_pts - pts : pts - priv->last_pts;
  const GstClockTime frame = frame_time(priv, input);
  // Steps alone do not tell a long frame from frames left out.
  if (onward && GST_VIDEO_INFO_FPS_N(&priv->video) == 0 && !GST_BUFFER_DURATION_IS_VALID(input))
    return false;
  return step > frame && step - frame > frame / 2;
}

static void remember_time(GstOcellusBasePrivate* priv, GstBuffer* input) {
  const GstClockTime pts = GST_BUFFER_PTS(input);
  if (GST_BUFFER_DURATION_IS_VALID(input)) {
    priv->last_frame_time = GST_BUFFER_DURATION(input);
  } else if (GST_CLOCK_TIME_IS_VALID(pts) && GST_CLOCK_TIME_IS_VALID(priv->last_pts)) {
    const GstClockTime step = pts > priv->last_pts ? pts - priv->last_pts : priv->last_pts - pts;
    // A longer step may be one over frames left out.
    priv->last_frame_time = priv->last_frame_time > 0 ? MIN(priv->last_frame_time, step) : step;
  }
  priv->last_pts = pts;
}

static GstFlowReturn gst_ocellus_base_submit_input_buffer(GstBaseTransform* trans,
                                                          gboolean is_discont, GstBuffer* input) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const gst_ocellus::Clock::time_point arrival = gst_ocellus::Clock::now();

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
  if (skipped && !priv->info.keeps_state) {
    GST_OBJECT_LOCK(self);
    ++priv->dropped;
    GST_OBJECT_UNLOCK(self);
    gst_buffer_unref(input);
    return parent;
  }

  // Not `is_discont`, which is set after a frame of our own was dropped, too.
  if (priv->sequence > 0 && breaks_off(trans, priv, input)) {
    GST_DEBUG_OBJECT(self, "discontinuity: the past is forgotten");
    if (const GstFlowReturn flow = gst_ocellus::drain(self); flow != GST_FLOW_OK) {
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
  // From now on, which holds at "never" what the clock cannot count.
  const Deadline deadline = limited
                                ? Deadline::after(allowed - (gst_ocellus::Clock::now() - arrival))
                                : Deadline::never();

  const guint64 sequence = priv->sequence;
  remember_time(priv, input);
  GstOcellusResult result;
  gst_ocellus::Outcome outcome =
      gst_ocellus::run_frame(self, input, GST_BUFFER_PTS(input), deadline, &result);
  bool missed = outcome == gst_ocellus::Outcome::kMissed;
  const gst_ocellus::Clock::duration given_up = gst_ocellus::Clock::now() - arrival;
  if (missed && on_miss == GST_OCELLUS_ON_MISS_POST)
    outcome = gst_ocellus::finish_pending(self, Deadline::never(), &result);
  if (outcome == gst_ocellus::Outcome::kMissed && !priv->pending)
    outcome =
        gst_ocellus::run_frame(self, input, GST_BUFFER_PTS(input), Deadline::never(), &result);
  if (outcome == gst_ocellus::Outcome::kFailed) {
    gst_buffer_unref(input);
    return GST_FLOW_ERROR;
  }
  const gst_ocellus::Clock::duration elapsed =
      outcome == gst_ocellus::Outcome::kDone ? gst_ocellus::Clock::now() - arrival : given_up;
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
          GST_CLOCK_TIME_IS_VALID(then)) {
        const GstClockTime kept = now > then ? now - then : then - now;
        if (kept > priv->latency) gst_ocellus::set_latency(self, kept);
      }
    }
  }

  GstClockTimeDiff jitter = 0;
  const bool late_downstream = picture != nullptr && !skipped && priv->hold > 0 &&
                               gst_ocellus::too_late(self, picture, &jitter);
  const bool drop_missed = missed && on_miss == GST_OCELLUS_ON_MISS_DROP;
  const bool drop = picture != nullptr && (skipped || late_downstream || drop_missed);
  GST_OBJECT_LOCK(self);
  ++priv->frames;
  priv->histogram.record(static_cast<gint64>(gst_ocellus::nanoseconds(elapsed)));
  if (missed) ++priv->misses;
  if (drop) ++priv->dropped;
  GST_OBJECT_UNLOCK(self);
  if (missed) {
    GST_DEBUG_OBJECT(self, "budget of %" G_GUINT64_FORMAT " ns missed: %" G_GUINT64_FORMAT " ns",
                     budget, gst_ocellus::nanoseconds(elapsed));
    // `input` is alive: as the picture, or among the frames held back.
    gst_ocellus::post_qos(
        self, input,
        static_cast<GstClockTimeDiff>(gst_ocellus::nanoseconds(elapsed)) -
            static_cast<GstClockTimeDiff>(budget),
        static_cast<gdouble>(gst_ocellus::nanoseconds(elapsed)) / static_cast<gdouble>(budget));
  }
  if (late_downstream) gst_ocellus::post_qos(self, picture, jitter, 1.0);

  GstFlowReturn flow = GST_FLOW_OK;
  if (drop) {
    gst_buffer_unref(picture);
    flow = GST_BASE_TRANSFORM_FLOW_DROPPED;
  } else if (picture != nullptr) {
    const GstOcellusResult* shown = outcome == gst_ocellus::Outcome::kDone ? &result : nullptr;
    GstOcellusResult old;
    if (shown == nullptr && on_miss == GST_OCELLUS_ON_MISS_REUSE && priv->newest.data != nullptr) {
      old = priv->newest;
      old.reused = true;
      shown = &old;
    }
    priv->ready = gst_ocellus::wrap_output(self, picture, shown);
    if (priv->ready == nullptr)
      flow = GST_FLOW_ERROR;
    else if (post_messages && shown != nullptr)
      gst_ocellus::post_frame(self, priv->ready, gst_ocellus::nanoseconds(elapsed));
  }
  gst_clear_buffer(&result.data);
  return flow;
}

static GstFlowReturn gst_ocellus_base_generate_output(GstBaseTransform* trans, GstBuffer** outbuf) {
  *outbuf = std::exchange(gst_ocellus_base_get_private(GST_OCELLUS_BASE(trans))->ready, nullptr);
  return GST_FLOW_OK;
}

// ---- GObject

static void gst_ocellus_base_set_property(GObject* object, guint id, const GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* self = GST_OCELLUS_BASE(object);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!gst_ocellus_base_may_configure(self, pspec)) return;
  GST_OBJECT_LOCK(self);
  switch (id) {
    case PROP_CONFIG:
      priv->options.set_file(g_value_get_string(value));
      break;
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
    case PROP_POST_MESSAGES:
      priv->post_messages = g_value_get_boolean(value);
      break;
    default:
      if (id >= gst_ocellus::kFirstOption)
        priv->options.set(id, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
  // A neighbor may have asked for the context of another device before.
  if (id == PROP_BACKEND) gst_ocellus::close_cuda(self);
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
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  // Not under the lock: the header of a kernel file may have to be read.
  if (id >= gst_ocellus::kFirstOption) return gst_ocellus::get_options(self).get(id, value);
  GST_OBJECT_LOCK(self);
  switch (id) {
    case PROP_CONFIG:
      g_value_set_string(value, priv->options.file().c_str());
      break;
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
    case PROP_POST_MESSAGES:
      g_value_set_boolean(value, priv->post_messages);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
}

void gst_ocellus_base_class_set_operator(GstOcellusBaseClass* klass,
                                         const ocellus::OperatorDescription* description) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  // GObject takes these two away from every class that is derived.
  if (object_class->set_property == nullptr)
    object_class->set_property = gst_ocellus_base_set_property;
  if (object_class->get_property == nullptr)
    object_class->get_property = gst_ocellus_base_get_property;
  klass->description = description;
  gst_ocellus::install_options(object_class, *description);
}

static void gst_ocellus_base_finalize(GObject* object) {
  delete gst_ocellus_base_get_private(GST_OCELLUS_BASE(object));
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
  properties[PROP_CONFIG] = g_param_spec_string(
      "config", "Configuration",
      "JSON file of options of the operator, read at the start; a property that is set takes "
      "precedence over its option in the file (empty = none)",
      DEFAULT_CONFIG, kReady);
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
  properties[PROP_POST_MESSAGES] = g_param_spec_boolean(
      "post-messages", "Post messages", "Post an element message for every frame with a result",
      DEFAULT_POST_MESSAGES, kPlaying);
  g_object_class_install_properties(object_class, PROP_LAST, properties);

  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);

  element_class->set_context = GST_DEBUG_FUNCPTR(gst_ocellus_base_set_context);
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_ocellus_base_change_state);

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

static void gst_ocellus_base_init(GTypeInstance* instance, gpointer klass) {
  GstOcellusBase* self = GST_OCELLUS_BASE(instance);
  auto* priv = new GstOcellusBasePrivate(*GST_OCELLUS_BASE_CLASS(klass)->description);
  gst_video_info_init(&priv->video);
  *static_cast<GstOcellusBasePrivate**>(G_STRUCT_MEMBER_P(self, private_offset)) = priv;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), FALSE);
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}
