#include "base/gstocellusbase.h"

#include <utility>

#include "base/gstocelluslearning.h"
#include "base/gstocellusmessages.h"
#include "base/gstocellusmeta.h"
#include "base/gstocellusnegotiation.h"
#include "base/gstocellusstream.h"

GST_DEBUG_CATEGORY(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::Engine;
using ocellus::EngineConfig;
using ocellus::EngineInfo;
using ocellus::Expected;
using ocellus::OperatorConfig;

static_assert(ocellus::kMaxImageSide == 16384, "the pad templates say 16384");

#define OCELLUS_SIZES                                   \
  "width=(int)[ 1, 16384 ], height=(int)[ 1, 16384 ], " \
  "framerate=(fraction)[ 0/1, 2147483647/1 ]"
// The luma of these formats is computed for each frame.
#define OCELLUS_RGB "BGR, RGB, BGRx, BGRA, RGBx, RGBA"
// The CUDA library of GStreamer 1.22 has no gray formats, no YUY2 and no UYVY. It aborts the
// process when asked for one.
#ifdef OCELLUS_GST_CUDA
#define OCELLUS_CUDA_CAPS                                                                \
  "video/x-raw(" GST_OCELLUS_CUDA_FEATURE "), format=(string){ I420, NV12, " OCELLUS_RGB \
  " }, " OCELLUS_SIZES "; "
#else
#define OCELLUS_CUDA_CAPS ""
#endif
#define OCELLUS_CAPS                                                                     \
  OCELLUS_CUDA_CAPS                                                                      \
  "video/x-raw, format=(string){ GRAY8, GRAY16_LE, I420, NV12, YUY2, UYVY, " OCELLUS_RGB \
  " }, " OCELLUS_SIZES

#define DEFAULT_CONFIG ""
#define DEFAULT_BACKEND "auto"
#define DEFAULT_THREADS 0
#define DEFAULT_BUDGET 0
#define DEFAULT_ON_MISS GST_OCELLUS_ON_MISS_POST
#define DEFAULT_ON_DEVICE_LOSS GST_OCELLUS_ON_DEVICE_LOSS_ERROR
#define DEFAULT_POST_MESSAGES FALSE
#define DEFAULT_ALIGN TRUE
#define DEFAULT_DRAW FALSE
#define DEFAULT_MESSAGES GST_OCELLUS_MESSAGES_CHANGES
#define DEFAULT_SAVE_LOCATION ""

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
  // Of derived classes whose results are delayed, have a drawing or a text, or whose operator
  // learns.
  PROP_ALIGN = 40,
  PROP_DRAW,
  PROP_MESSAGES,
  PROP_SAVE_LOCATION,
  PROP_ENGINE_OPTIONS = 50,  // the first row of the engine's table; derived classes begin at 100
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

// Not G_DEFINE_ABSTRACT_TYPE: the private part holds C++ objects of 100 KiB, so the instance holds
// only a pointer to it.
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
      {GST_OCELLUS_ON_MISS_REUSE, "Pass the frame with the newest result available", "reuse"},
      {GST_OCELLUS_ON_MISS_PASSTHROUGH, "Pass the frame without a result", "passthrough"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusOnMiss", values);
  return type;
}

GType gst_ocellus_on_device_loss_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_ON_DEVICE_LOSS_ERROR, "Stop the stream with an error", "error"},
      {GST_OCELLUS_ON_DEVICE_LOSS_CPU, "Post a warning and continue on the CPU", "cpu"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusOnDeviceLoss", values);
  return type;
}

// ---- functions for derived elements

gboolean gst_ocellus_base_get_draw(GstOcellusBase* self) {
  return gst_ocellus::get_locked(self, gst_ocellus_base_get_private(self)->settings.draw);
}

gboolean gst_ocellus_base_may_configure(GstOcellusBase* self, GParamSpec* pspec) {
  if ((pspec->flags & GST_PARAM_MUTABLE_READY) == 0) return TRUE;
  GST_OBJECT_LOCK(self);
  const GstState state = GST_STATE(self);
  const GstState next = GST_STATE_NEXT(self);
  const bool failed = GST_STATE_RETURN(self) == GST_STATE_CHANGE_FAILURE;
  GST_OBJECT_UNLOCK(self);
  // While the state goes down to READY, the operator is about to be destroyed. While it goes up
  // from READY, the operator may be under construction, unless the state change has failed.
  if (state <= GST_STATE_READY &&
      (next == GST_STATE_VOID_PENDING || next <= GST_STATE_READY || failed))
    return TRUE;
  GST_ELEMENT_WARNING(
      self, LIBRARY, SETTINGS,
      ("The property \"%s\" can be changed only in the states NULL and READY.", pspec->name),
      ("The property keeps its value. The current state is %s.",
       gst_element_state_get_name(state)));
  return FALSE;
}

// ---- GstElement

static void gst_ocellus_base_set_context(GstElement* element, GstContext* context) {
  gst_ocellus_base_get_private(GST_OCELLUS_BASE(element))->context.set_neighbors(context);
  GST_ELEMENT_CLASS(gst_ocellus_base_parent_class)->set_context(element, context);
}

// Reads the file of options and checks what does not depend on the frame size.
static Expected<void> check_options(GstOcellusBase* self, gst_ocellus::Options& options,
                                    const EngineInfo& engine) {
  const GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  if (Expected<void> read = options.read_file(); !read) return read;
  const Expected<OperatorConfig> config = options.make();
  if (!config) return tl::unexpected(config.error());
  if (klass->check_settings != nullptr) {
    if (const Expected<void> checked = klass->check_settings(*config); !checked)
      return options.named(checked.error());
  }
  // These two read the files that the options name.
  OperatorConfig trial = *config;
  trial.set_input(klass->trial_size != nullptr ? klass->trial_size(*config) : kGstOcellusTrialSize,
                  ocellus::PixelFormat::kGray8);
  if (const auto info = trial.info(); !info) return options.named(info.error());
  if (const auto footprint = trial.footprint(engine); !footprint)
    return options.named(footprint.error());
  return {};
}

// Checks the settings of the engine and of the operator.
static Expected<EngineInfo> check_settings(GstOcellusBase* self, gst_ocellus::Options& options) {
  gst_ocellus::set_locked(self, gst_ocellus_base_get_private(self)->fallen_back, false);
  const Expected<EngineConfig> config = gst_ocellus::engine_config(self);
  if (!config) return tl::unexpected(config.error());
  const Expected<EngineInfo> info = Engine::probe(*config);
  if (!info) return info;
  if (const Expected<void> checked = check_options(self, options, *info); !checked)
    return tl::unexpected(checked.error());
  return info;
}

static GstStateChangeReturn gst_ocellus_base_change_state(GstElement* element,
                                                          GstStateChange transition) {
  GstOcellusBase* self = GST_OCELLUS_BASE(element);
  // Properties may still change in READY, so `start` checks again. But here an application, such as
  // gst-launch, does not yet wait for the first frame.
  if (transition == GST_STATE_CHANGE_NULL_TO_READY) {
    gst_ocellus::Options options = gst_ocellus::get_options(self);
    if (const Expected<EngineInfo> checked = check_settings(self, options); !checked) {
      gst_ocellus::post_error(self, checked.error());
      return GST_STATE_CHANGE_FAILURE;
    }
  }
  auto& op = gst_ocellus_base_get_private(self)->op;
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) op.go_on();
  // The parent class waits for the streaming thread, which may wait for a frame.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) op.stop();
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_ocellus_base_parent_class)->change_state(element, transition);
  // Neighbors may ask for the context before the element starts. Then `stop` is not called.
  if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    gst_ocellus_base_get_private(self)->context.close();
  return result;
}

// ---- GstBaseTransform

static gboolean gst_ocellus_base_start(GstBaseTransform* trans) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  gst_ocellus::Options options = gst_ocellus::get_options(self);
  const Expected<EngineInfo> info = check_settings(self, options);
  if (!info) {
    gst_ocellus::post_error(self, info.error());
    return FALSE;
  }
  GST_OBJECT_LOCK(self);
  priv->options = std::move(options);
  priv->started = true;
  priv->on_cuda = info->backend == ocellus::BackendKind::kCuda;
  priv->latency = 0;
  priv->live = false;
  priv->earliest_time = GST_CLOCK_TIME_NONE;
  GST_OBJECT_UNLOCK(self);
  priv->statistics.reset();
  return TRUE;
}

static gboolean gst_ocellus_base_stop(GstBaseTransform* trans) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  // The parent class has waited for the end of streaming, but a query may have come since.
  GST_PAD_STREAM_LOCK(GST_BASE_TRANSFORM_SINK_PAD(self));
  gst_ocellus::save_learned(self);
  gst_ocellus::reset_stream(self);
  priv->mark_discont = false;
  priv->op.destroy();
  priv->pools.clear();
  priv->context.close();
  priv->caps = {};
  GST_PAD_STREAM_UNLOCK(GST_BASE_TRANSFORM_SINK_PAD(self));
  GST_OBJECT_LOCK(self);
  priv->started = false;
  priv->options.forget_file();
  GST_OBJECT_UNLOCK(self);
  gst_ocellus::set_active_backend(self, {});
  return TRUE;
}

static gboolean gst_ocellus_base_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  return gst_ocellus::set_caps(GST_OCELLUS_BASE(trans), incaps);
}

static bool answer_context(GstOcellusBase* self, GstQuery* query) {
  if (!gst_ocellus::takes_cuda_memory(self)) return false;
  const Expected<EngineConfig> config = gst_ocellus::engine_config(self);
  return config && gst_ocellus_base_get_private(self)->context.answer(*config, query);
}

static gboolean gst_ocellus_base_query(GstBaseTransform* trans, GstPadDirection direction,
                                       GstQuery* query) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  const auto* const parent = GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class);
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CONTEXT:
      return answer_context(self, query) || parent->query(trans, direction, query);
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
      // Both queries are serialized. The answer means that all earlier frames have been pushed.
      if (direction == GST_PAD_SINK) {
        // GStreamer hands queries to a pad that is flushing, too, even after `stop`. The parent
        // class would set the caps again, and an operator would be created that nobody destroys.
        if (GST_PAD_IS_FLUSHING(GST_BASE_TRANSFORM_SINK_PAD(self))) return FALSE;
        gst_ocellus::release_pictures(self);
      }
      return parent->query(trans, direction, query);
    case GST_QUERY_LATENCY:
      if (direction == GST_PAD_SRC) return gst_ocellus::answer_latency(self, query);
      return parent->query(trans, direction, query);
    default:
      return parent->query(trans, direction, query);
  }
}

static gboolean gst_ocellus_base_propose_allocation(GstBaseTransform* trans, GstQuery*,
                                                    GstQuery* query) {
  return gst_ocellus::propose_allocation(GST_OCELLUS_BASE(trans), query);
}

static gboolean gst_ocellus_base_decide_allocation(GstBaseTransform*, GstQuery* query) {
  gst_ocellus::decide_allocation(query);
  return TRUE;
}

static gboolean gst_ocellus_base_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START:
      priv->op.stop();
      break;
    case GST_EVENT_FLUSH_STOP:
      priv->op.go_on();
      gst_ocellus::reset_stream(self);
      GST_OBJECT_LOCK(self);
      priv->earliest_time = GST_CLOCK_TIME_NONE;
      GST_OBJECT_UNLOCK(self);
      priv->mark_discont = false;
      break;
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      gst_ocellus::prepare_for_caps(self, caps);
      break;
    }
    case GST_EVENT_STREAM_START:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_GAP:
    case GST_EVENT_SEGMENT_DONE:
      gst_ocellus::drain(self);
      break;
    case GST_EVENT_EOS:
      gst_ocellus::drain(self);
      gst_ocellus::save_learned(self);
      break;
    default:
      // The frames before a serialized event go out before it. The macro GST_EVENT_IS_SERIALIZED
      // mixes two enumerations, which clang warns of.
      if ((gst_event_type_get_flags(GST_EVENT_TYPE(event)) & GST_EVENT_TYPE_SERIALIZED) != 0 &&
          priv->op.depth() > 1)
        gst_ocellus::finish_frames(self);
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
      // Unsigned, because G_MININT64 cannot be negated.
      const guint64 early = diff < 0 ? guint64{0} - static_cast<guint64>(diff) : 0;
      earliest = diff < 0 ? MIN(timestamp - MIN(timestamp, early), gst_ocellus::kLongestTime)
                          : gst_ocellus::add_times(timestamp, static_cast<guint64>(diff));
    }
    gst_ocellus_base_get_private(self)->earliest_time = earliest;
    GST_OBJECT_UNLOCK(self);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->src_event(trans, event);
}

static GstFlowReturn gst_ocellus_base_submit_input_buffer(GstBaseTransform* trans,
                                                          gboolean is_discont, GstBuffer* input) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const gst_ocellus::Clock::time_point arrival = gst_ocellus::Clock::now();

  // The parent class renegotiates on request and decides by QoS. A frame that it skips is computed
  // nevertheless. Without it in the temporal state, motion would seem to be twice as fast.
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
  if (!priv->op.exists()) {
    gst_buffer_unref(input);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (skipped && !priv->op.info().keeps_state) {
    priv->statistics.count_dropped();
    gst_buffer_unref(input);
    return gst_ocellus::collect_done(self, true);
  }
  return gst_ocellus::take_picture(self, input, skipped, arrival);
}

// The parent class calls this function until it returns no buffer.
static GstFlowReturn gst_ocellus_base_generate_output(GstBaseTransform* trans, GstBuffer** outbuf) {
  auto& ready = gst_ocellus_base_get_private(GST_OCELLUS_BASE(trans))->ready;
  *outbuf = nullptr;
  if (ready.empty()) return GST_FLOW_OK;
  *outbuf = ready.front();
  ready.erase(ready.begin());
  return GST_FLOW_OK;
}

// ---- GObject

static const ocellus::Option* engine_option(guint id) {
  const ocellus::OptionTable table = ocellus::EngineConfig::options();
  const bool known = id >= PROP_ENGINE_OPTIONS && id - PROP_ENGINE_OPTIONS < table.size();
  return known ? &table[id - PROP_ENGINE_OPTIONS] : nullptr;
}

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
      priv->engine.workers = g_value_get_int(value);
      break;
    case PROP_BUDGET:
      priv->settings.budget = g_value_get_uint64(value);
      break;
    case PROP_ON_MISS:
      priv->settings.on_miss = static_cast<GstOcellusOnMiss>(g_value_get_enum(value));
      break;
    case PROP_ON_DEVICE_LOSS:
      priv->settings.on_device_loss = static_cast<GstOcellusOnDeviceLoss>(g_value_get_enum(value));
      break;
    case PROP_POST_MESSAGES:
      priv->settings.post_messages = g_value_get_boolean(value) != FALSE;
      break;
    case PROP_ALIGN:
      priv->align = g_value_get_boolean(value) != FALSE;
      break;
    case PROP_DRAW:
      priv->settings.draw = g_value_get_boolean(value) != FALSE;
      break;
    case PROP_MESSAGES:
      priv->settings.messages = static_cast<GstOcellusMessages>(g_value_get_enum(value));
      break;
    case PROP_SAVE_LOCATION:
      priv->save_location =
          g_value_get_string(value) != nullptr ? g_value_get_string(value) : DEFAULT_SAVE_LOCATION;
      break;
    default:
      if (const ocellus::Option* option = engine_option(id))
        gst_ocellus::set_option(*option, &priv->engine, value);
      else if (id >= gst_ocellus::kFirstOption)
        priv->options.set(id, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
  // A neighbor may have been given the context of another device.
  if (id == PROP_BACKEND) priv->context.close();
}

static void gst_ocellus_base_get_property(GObject* object, guint id, GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* self = GST_OCELLUS_BASE(object);
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  // Not under the lock, because this may read the header of a kernel file.
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
      g_value_set_int(value, priv->engine.workers);
      break;
    case PROP_BUDGET:
      g_value_set_uint64(value, priv->settings.budget);
      break;
    case PROP_ON_MISS:
      g_value_set_enum(value, priv->settings.on_miss);
      break;
    case PROP_ON_DEVICE_LOSS:
      g_value_set_enum(value, priv->settings.on_device_loss);
      break;
    case PROP_STATS:
      g_value_take_boxed(value, priv->statistics.to_structure());
      break;
    case PROP_POST_MESSAGES:
      g_value_set_boolean(value, priv->settings.post_messages);
      break;
    case PROP_ALIGN:
      g_value_set_boolean(value, priv->align);
      break;
    case PROP_DRAW:
      g_value_set_boolean(value, priv->settings.draw);
      break;
    case PROP_MESSAGES:
      g_value_set_enum(value, priv->settings.messages);
      break;
    case PROP_SAVE_LOCATION:
      g_value_set_string(value, priv->save_location.c_str());
      break;
    default:
      if (const ocellus::Option* option = engine_option(id))
        gst_ocellus::get_option(*option, &priv->engine, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
}

static constexpr auto kMutableInPlaying = static_cast<GParamFlags>(
    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);

void gst_ocellus_base_class_install_align(GstOcellusBaseClass* klass) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_ALIGN,
      g_param_spec_boolean("align", "Align",
                           "Hold each frame back until the result that describes it is computed, "
                           "and report the latency",
                           DEFAULT_ALIGN,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_READY)));
}

void gst_ocellus_base_class_install_draw(GstOcellusBaseClass* klass, const gchar* help) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_DRAW,
      g_param_spec_boolean("draw", "Draw", help, DEFAULT_DRAW, kMutableInPlaying));
}

void gst_ocellus_base_class_install_learning(GstOcellusBaseClass* klass) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_SAVE_LOCATION,
      g_param_spec_string("save-location", "Save location",
                          "With learn=true: model file to write at the end of the stream, and when "
                          "the element stops (empty = none)",
                          DEFAULT_SAVE_LOCATION, kMutableInPlaying));
  gst_ocellus::install_save_model(G_TYPE_FROM_CLASS(klass));
}

static bool has_classes(const ocellus::OperatorDescription& description) {
  OperatorConfig config(description);
  config.set_input(kGstOcellusTrialSize, ocellus::PixelFormat::kGray8);
  const auto info = config.info();
  return info && info->classes > 0;
}

void gst_ocellus_base_class_set_operator(GstOcellusBaseClass* klass,
                                         const ocellus::OperatorDescription* description) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  // GObject clears these two functions in every derived class.
  if (object_class->set_property == nullptr)
    object_class->set_property = gst_ocellus_base_set_property;
  if (object_class->get_property == nullptr)
    object_class->get_property = gst_ocellus_base_get_property;
  klass->description = description;
  gchar* name = g_strconcat("ocellus", description->name, nullptr);
  klass->message_name = g_intern_string(name);
  g_free(name);
  gst_ocellus::install_options(object_class, *description);
  if (!has_classes(*description)) return;
  gst_ocellus_base_class_install_draw(
      klass, "Draw the boxes and the names of their classes over the picture");
  g_object_class_install_property(
      object_class, PROP_MESSAGES,
      g_param_spec_enum("messages", "Messages",
                        "When to post an element message; post-messages=true posts one for every "
                        "frame, too",
                        GST_TYPE_OCELLUS_MESSAGES, DEFAULT_MESSAGES, kMutableInPlaying));
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
  constexpr auto kPlaying = kMutableInPlaying;
  constexpr auto kRead = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  properties[PROP_CONFIG] = g_param_spec_string(
      "config", "Configuration",
      "JSON file of operator options, read when the element starts; a property that is set takes "
      "precedence over the file (empty = none)",
      DEFAULT_CONFIG, kReady);
  properties[PROP_BACKEND] = g_param_spec_string(
      "backend", "Backend", "Backend to use: auto, cpu, cuda or cuda:N (N = device number)",
      DEFAULT_BACKEND, kReady);
  properties[PROP_ACTIVE_BACKEND] = g_param_spec_string(
      "active-backend", "Active backend",
      "Backend in use: cpu or cuda:N; NULL before the caps are known", nullptr, kRead);
  properties[PROP_THREADS] = g_param_spec_int(
      "threads", "Threads", "Number of CPU threads per frame (0 = as many as the process may use)",
      0, ocellus::kMaxWorkers, DEFAULT_THREADS, kReady);
  properties[PROP_BUDGET] = g_param_spec_uint64(
      "budget", "Budget",
      "Maximum time from the arrival of a frame to its result, in nanoseconds (0 = no limit)", 0,
      G_MAXINT64, DEFAULT_BUDGET, kPlaying);
  properties[PROP_ON_MISS] = g_param_spec_enum(
      "on-miss", "On miss", "What to do with a frame whose result is not ready within the budget",
      GST_TYPE_OCELLUS_ON_MISS, DEFAULT_ON_MISS, kPlaying);
  properties[PROP_ON_DEVICE_LOSS] =
      g_param_spec_enum("on-device-loss", "On device loss", "What to do when the device is lost",
                        GST_TYPE_OCELLUS_ON_DEVICE_LOSS, DEFAULT_ON_DEVICE_LOSS, kPlaying);
  properties[PROP_STATS] = g_param_spec_boxed(
      "stats", "Statistics",
      "Since the last start: frames, misses (missed budgets), dropped, copies (of pictures), "
      "and p50, p99 and max of the time from the arrival of a frame to its result, in "
      "nanoseconds; overflow (frames above 17179869183 ns, where p50 and p99 are 17179869184)",
      GST_TYPE_STRUCTURE, kRead);
  properties[PROP_POST_MESSAGES] = g_param_spec_boolean(
      "post-messages", "Post messages", "Post an element message for each frame with a result",
      DEFAULT_POST_MESSAGES, kPlaying);
  g_object_class_install_properties(object_class, PROP_LAST, properties);
  const ocellus::EngineConfig engine;
  gst_ocellus::install_table(object_class, PROP_ENGINE_OPTIONS, ocellus::EngineConfig::options(),
                             &engine, static_cast<GParamFlags>(GST_PARAM_MUTABLE_READY));

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
  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_MESSAGES, static_cast<GstPluginAPIFlags>(0));

  // Readers find the meta by its name, so it is registered before the first buffer.
  gst_ocellus_meta_get_info();
}

static void gst_ocellus_base_init(GTypeInstance* instance, gpointer klass) {
  GstOcellusBase* self = GST_OCELLUS_BASE(instance);
  auto* priv = new GstOcellusBasePrivate(self, *GST_OCELLUS_BASE_CLASS(klass)->description);
  *static_cast<GstOcellusBasePrivate**>(G_STRUCT_MEMBER_P(self, private_offset)) = priv;
  priv->align = DEFAULT_ALIGN &&
                g_object_class_find_property(static_cast<GObjectClass*>(klass), "align") != nullptr;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), FALSE);
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}
