#include "base/gstocellusbase.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/gstocellusmeta.h"
#include "base/gstocellusstream.h"
#include "core/failure.h"

GST_DEBUG_CATEGORY(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

using gst_ocellus::Properties;
using gst_ocellus::State;
using gst_ocellus::Stream;

static_assert(kMaxImageSide == 16384, "the pad templates say 16384");

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
#define OCELLUS_CAPS                                                              \
  OCELLUS_CUDA_CAPS                                                               \
  "video/x-raw, format=(string){ GRAY8, GRAY16_LE, I420, NV12, P010_10LE, YUY2, " \
  "UYVY, " OCELLUS_RGB " }, " OCELLUS_SIZES

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
  // The first rows of the tables of the engine and of drawing.
  PROP_ENGINE_OPTIONS = 50,
  PROP_DRAWING_OPTIONS = 100,
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
    private_offset = g_type_add_instance_private(made, sizeof(Stream*));
    g_once_init_leave(&type, made);
  }
  return type;
}

static Stream*& stream_of(gpointer self) {
  return *static_cast<Stream**>(G_STRUCT_MEMBER_P(self, private_offset));
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

GType gst_ocellus_messages_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_MESSAGES_NONE, "No messages", "none"},
      {GST_OCELLUS_MESSAGES_CHANGES,
       "For the first frame, and for a frame whose result differs from the frame before",
       "changes"},
      {GST_OCELLUS_MESSAGES_ALL, "For every frame with a result", "all"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusMessages", values);
  return type;
}

// ---- functions for derived elements

gboolean gst_ocellus_base_get_draw(GstOcellusBase* self) {
  const State& state = stream_of(self)->state;
  return state.get(state.properties.draw);
}

// True in the states NULL and READY, and for properties that may change later: options of the
// operator once the element has started. Otherwise posts a warning that names the property, which
// then keeps its value.
static bool may_configure(GstOcellusBase* self, GParamSpec* pspec) {
  const bool later = (pspec->flags & GST_PARAM_MUTABLE_READY) == 0;
  const bool is_option = pspec->param_id >= gst_ocellus::kFirstOption;
  if (later && (!is_option || stream_of(self)->state.started())) return true;
  GST_OBJECT_LOCK(self);
  const GstState state = GST_STATE(self);
  const GstState next = GST_STATE_NEXT(self);
  const bool failed = GST_STATE_RETURN(self) == GST_STATE_CHANGE_FAILURE;
  GST_OBJECT_UNLOCK(self);
  // While the state goes down to READY, the operator is about to be destroyed. While it goes up
  // from READY, the operator may be under construction, unless the state change has failed.
  if (state <= GST_STATE_READY &&
      (next == GST_STATE_VOID_PENDING || next <= GST_STATE_READY || failed))
    return true;
  GST_ELEMENT_WARNING(
      self, LIBRARY, SETTINGS,
      (later ? "The property \"%s\" cannot be changed while the element starts."
             : "The property \"%s\" can be changed only in the states NULL and READY.",
       pspec->name),
      ("The property keeps its value. The current state is %s.",
       gst_element_state_get_name(state)));
  return false;
}

// ---- GstElement

static void gst_ocellus_base_set_context(GstElement* element, GstContext* context) {
  stream_of(element)->state.context.set_neighbors(context);
  GST_ELEMENT_CLASS(gst_ocellus_base_parent_class)->set_context(element, context);
}

// Checks the options for the pictures of the stream; before the caps are known, what does not
// depend on their size.
static Expected<void> check_options(GstOcellusBase* self, const gst_ocellus::Options& options,
                                    const EngineInfo& engine) {
  const GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  OCELLUS_TRY_ASSIGN(config, options.make());
  if (klass->check_settings != nullptr) {
    if (const Expected<void> checked = klass->check_settings(*config); !checked)
      return options.named(checked.error());
  }
  // These two read the files that the options name.
  OperatorConfig trial = *config;
  if (const auto running = stream_of(self)->state.running())
    gst_ocellus::set_input(trial, running->video);
  else
    trial.set_input(
        klass->trial_size != nullptr ? klass->trial_size(*config) : kGstOcellusTrialSize,
        PixelFormat::kGray8);
  if (const auto info = trial.info(); !info) return options.named(info.error());
  if (const auto footprint = trial.footprint(engine); !footprint)
    return options.named(footprint.error());
  return {};
}

// Checks the settings of the engine and of the operator.
static Expected<EngineInfo> check_settings(GstOcellusBase* self, gst_ocellus::Options& options) {
  State& state = stream_of(self)->state;
  state.forget_fallback();
  OCELLUS_TRY_ASSIGN(config, state.engine_config());
  OCELLUS_TRY_ASSIGN(info, Engine::probe(*config));
  OCELLUS_TRY(options.read_file());
  OCELLUS_TRY(check_options(self, options, *info));
  return info;
}

// What an operator has learned is for its options.
static Expected<void> check_change(GstOcellusBase* self, const gst_ocellus::Options& options) {
  const State& state = stream_of(self)->state;
  if (const auto running = state.running(); running && running->learns) {
    return tl::unexpected(make_error(
        Status::kUnsupported,
        "the options of an element that learns can be changed only in the states NULL and READY"));
  }
  OCELLUS_TRY_ASSIGN(config, state.engine_config());
  OCELLUS_TRY_ASSIGN(info, Engine::probe(*config));
  return check_options(self, options, *info);
}

static GstStateChangeReturn gst_ocellus_base_change_state(GstElement* element,
                                                          GstStateChange transition) {
  GstOcellusBase* self = GST_OCELLUS_BASE(element);
  Stream& stream = *stream_of(self);
  // Properties may still change in READY, so `start` checks again. But here an application, such as
  // gst-launch, does not yet wait for the first frame.
  if (transition == GST_STATE_CHANGE_NULL_TO_READY) {
    gst_ocellus::Options options = stream.state.get(stream.state.options);
    if (const Expected<EngineInfo> checked = check_settings(self, options); !checked) {
      gst_ocellus::post_error(self, checked.error());
      return GST_STATE_CHANGE_FAILURE;
    }
  }
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) stream.go_on();
  // The parent class waits for the streaming thread, which may wait for a frame.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) stream.interrupt();
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_ocellus_base_parent_class)->change_state(element, transition);
  // Neighbors may ask for the context before the element starts. Then `stop` is not called.
  if (transition == GST_STATE_CHANGE_READY_TO_NULL) stream.state.context.close();
  return result;
}

// ---- GstBaseTransform

static gboolean gst_ocellus_base_start(GstBaseTransform* trans) {
  GstOcellusBase* self = GST_OCELLUS_BASE(trans);
  State& state = stream_of(self)->state;
  gst_ocellus::Options options = state.get(state.options);
  const Expected<EngineInfo> info = check_settings(self, options);
  if (!info) {
    gst_ocellus::post_error(self, info.error());
    return FALSE;
  }
  state.start(std::move(options), info->backend == BackendKind::kCuda);
  return TRUE;
}

static gboolean gst_ocellus_base_stop(GstBaseTransform* trans) {
  Stream& stream = *stream_of(trans);
  // The parent class has waited for the end of streaming, but a query may have come since.
  GST_PAD_STREAM_LOCK(GST_BASE_TRANSFORM_SINK_PAD(trans));
  stream.stop();
  GST_PAD_STREAM_UNLOCK(GST_BASE_TRANSFORM_SINK_PAD(trans));
  stream.state.stop();
  return TRUE;
}

static gboolean gst_ocellus_base_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  return stream_of(trans)->set_caps(incaps);
}

static bool answer_context(State& state, GstQuery* query) {
  if (!state.takes_cuda_memory()) return false;
  const Expected<EngineConfig> config = state.engine_config();
  return config && state.context.answer(*config, query);
}

static gboolean gst_ocellus_base_query(GstBaseTransform* trans, GstPadDirection direction,
                                       GstQuery* query) {
  Stream& stream = *stream_of(trans);
  const auto* const parent = GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class);
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CONTEXT:
      if (answer_context(stream.state, query)) return TRUE;
      break;
    case GST_QUERY_CAPS: {
      if (!parent->query(trans, direction, query)) return FALSE;
      if (stream.state.takes_cuda_memory()) return TRUE;
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
        if (GST_PAD_IS_FLUSHING(GST_BASE_TRANSFORM_SINK_PAD(trans))) return FALSE;
        stream.release_pictures();
      }
      break;
    case GST_QUERY_LATENCY:
      if (direction == GST_PAD_SRC) return stream.answer_latency(query);
      break;
    default:
      break;
  }
  return parent->query(trans, direction, query);
}

static gboolean gst_ocellus_base_propose_allocation(GstBaseTransform* trans, GstQuery*,
                                                    GstQuery* query) {
  return stream_of(trans)->propose_allocation(query);
}

// The parent class must not allocate output buffers. Pictures come from upstream, and all other
// memory from the element's own pools.
static gboolean gst_ocellus_base_decide_allocation(GstBaseTransform*, GstQuery* query) {
  gst_ocellus::remove_pools(query);
  return TRUE;
}

static gboolean gst_ocellus_base_sink_event(GstBaseTransform* trans, GstEvent* event) {
  Stream& stream = *stream_of(trans);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START:
      stream.interrupt();
      break;
    case GST_EVENT_FLUSH_STOP:
      stream.go_on();
      stream.flush();
      stream.state.set(stream.state.earliest_time, GST_CLOCK_TIME_NONE);
      break;
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      stream.prepare_for_caps(caps);
      break;
    }
    case GST_EVENT_STREAM_START:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_GAP:
    case GST_EVENT_SEGMENT_DONE:
      stream.drain();
      break;
    case GST_EVENT_EOS:
      stream.drain();
      stream.save_learned();
      break;
    default:
      // The frames before a serialized event go out before it. The macro GST_EVENT_IS_SERIALIZED
      // mixes two enumerations, which clang warns of.
      if ((gst_event_type_get_flags(GST_EVENT_TYPE(event)) & GST_EVENT_TYPE_SERIALIZED) != 0)
        stream.finish_before_event();
      break;
  }
  return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->sink_event(trans, event);
}

static gboolean gst_ocellus_base_src_event(GstBaseTransform* trans, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    State& state = stream_of(trans)->state;
    GstClockTimeDiff diff = 0;
    GstClockTime timestamp = GST_CLOCK_TIME_NONE;
    gst_event_parse_qos(event, nullptr, nullptr, &diff, &timestamp);
    GstClockTime earliest = GST_CLOCK_TIME_NONE;
    if (GST_CLOCK_TIME_IS_VALID(timestamp)) {
      // Unsigned, because G_MININT64 cannot be negated.
      const guint64 early = diff < 0 ? guint64{0} - static_cast<guint64>(diff) : 0;
      earliest = diff < 0 ? MIN(timestamp - MIN(timestamp, early), gst_ocellus::kLongestTime)
                          : gst_ocellus::add_times(timestamp, static_cast<guint64>(diff));
    }
    state.set(state.earliest_time, earliest);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_ocellus_base_parent_class)->src_event(trans, event);
}

static GstFlowReturn gst_ocellus_base_submit_input_buffer(GstBaseTransform* trans,
                                                          gboolean is_discont, GstBuffer* input) {
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
  return stream_of(trans)->take_picture(gst_ocellus::OwnedBuffer(input), skipped, arrival);
}

// The parent class calls this function until it returns no buffer.
static GstFlowReturn gst_ocellus_base_generate_output(GstBaseTransform* trans, GstBuffer** outbuf) {
  *outbuf = stream_of(trans)->take_ready();
  return GST_FLOW_OK;
}

// ---- GObject

// A row of a table, and the configuration that has its value.
struct TableProperty {
  const Option& option;
  gpointer config;
};

static TableProperty table_property(gpointer self, guint id) {
  if (id < PROP_DRAWING_OPTIONS)
    return {EngineConfig::options()[id - PROP_ENGINE_OPTIONS], &stream_of(self)->state.engine};
  const GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  return {klass->drawing[id - PROP_DRAWING_OPTIONS], klass->drawing_config(GST_OCELLUS_BASE(self))};
}

// The member that a property sets.
struct MemberProperty {
  guint id;
  std::variant<bool Properties::*, int Properties::*, guint64 Properties::*,
               std::string Properties::*, GstOcellusOnMiss Properties::*,
               GstOcellusOnDeviceLoss Properties::*, GstOcellusMessages Properties::*>
      member;
};
static constexpr MemberProperty kMembers[] = {
    {PROP_BACKEND, &Properties::backend},
    {PROP_THREADS, &Properties::threads},
    {PROP_BUDGET, &Properties::budget},
    {PROP_ON_MISS, &Properties::on_miss},
    {PROP_ON_DEVICE_LOSS, &Properties::on_device_loss},
    {PROP_POST_MESSAGES, &Properties::post_messages},
    {PROP_ALIGN, &Properties::align},
    {PROP_DRAW, &Properties::draw},
    {PROP_MESSAGES, &Properties::messages},
    {PROP_SAVE_LOCATION, &Properties::save_location},
};

static const MemberProperty* member_property(guint id) {
  for (const MemberProperty& one : kMembers)
    if (one.id == id) return &one;
  return nullptr;
}

template <typename Value>
static void set_member(Value& member, const GValue* value, GParamSpec* pspec) {
  if constexpr (std::is_same_v<Value, std::string>) {
    const gchar* text = g_value_get_string(value);
    member = text != nullptr ? text : G_PARAM_SPEC_STRING(pspec)->default_value;
  } else if constexpr (std::is_same_v<Value, bool>) {
    member = g_value_get_boolean(value) != FALSE;
  } else if constexpr (std::is_enum_v<Value>) {
    member = static_cast<Value>(g_value_get_enum(value));
  } else if constexpr (std::is_same_v<Value, int>) {
    member = g_value_get_int(value);
  } else {
    member = g_value_get_uint64(value);
  }
}

template <typename Value>
static void get_member(const Value& member, GValue* value) {
  if constexpr (std::is_same_v<Value, std::string>)
    g_value_set_string(value, member.c_str());
  else if constexpr (std::is_same_v<Value, bool>)
    g_value_set_boolean(value, member);
  else if constexpr (std::is_enum_v<Value>)
    g_value_set_enum(value, member);
  else if constexpr (std::is_same_v<Value, int>)
    g_value_set_int(value, member);
  else
    g_value_set_uint64(value, member);
}

// GObject calls this once for all properties that one call has set.
static void gst_ocellus_base_dispatch_properties_changed(GObject* object, guint count,
                                                         GParamSpec** pspecs) {
  GstOcellusBase* self = GST_OCELLUS_BASE(object);
  State& state = stream_of(self)->state;
  if (const auto changed = state.changed_options()) {
    if (const Expected<void> checked = check_change(self, *changed); checked) {
      state.accept(*changed);
    } else {
      state.refuse(state.given_options());
      gst_ocellus::post_refused(self, checked.error());
    }
  }
  G_OBJECT_CLASS(gst_ocellus_base_parent_class)->dispatch_properties_changed(object, count, pspecs);
}

static void gst_ocellus_base_set_property(GObject* object, guint id, const GValue* value,
                                          GParamSpec* pspec) {
  State& state = stream_of(object)->state;
  if (!may_configure(GST_OCELLUS_BASE(object), pspec)) return;
  if (id >= gst_ocellus::kFirstOption) return state.set_option(id, value);
  {
    const GstOcellusLock lock(object);
    if (const MemberProperty* found = member_property(id)) {
      const bool drew = state.properties.draw;
      std::visit([&](auto member) { set_member(state.properties.*member, value, pspec); },
                 found->member);
      // The operator may have to compute more.
      if (state.properties.draw != drew && GST_OCELLUS_BASE_GET_CLASS(object)->adapt != nullptr)
        state.renew_options();
    } else if (id == PROP_CONFIG) {
      state.options.set_file(g_value_get_string(value));
    } else {
      const TableProperty row = table_property(object, id);
      gst_ocellus::set_option(row.option, row.config, value);
    }
  }
  // A neighbor may have been given the context of another device.
  if (id == PROP_BACKEND) state.context.close();
}

static void gst_ocellus_base_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  const State& state = stream_of(object)->state;
  // Not under the lock, because this may read the header of a kernel file.
  if (id >= gst_ocellus::kFirstOption) return state.get(state.options).get(id, value);
  if (id == PROP_STATS) return g_value_take_boxed(value, state.new_statistics());
  if (id == PROP_ACTIVE_BACKEND) {
    const std::string name = state.active_backend();
    return g_value_set_string(value, name.empty() ? nullptr : name.c_str());
  }
  const GstOcellusLock lock(object);
  if (const MemberProperty* found = member_property(id)) {
    std::visit([&](auto member) { get_member(state.properties.*member, value); }, found->member);
  } else if (id == PROP_CONFIG) {
    g_value_set_string(value, state.options.file().c_str());
  } else {
    const TableProperty row = table_property(object, id);
    gst_ocellus::get_option(row.option, row.config, value);
  }
}

static constexpr auto kMutableInPlaying = static_cast<GParamFlags>(
    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);

void gst_ocellus_base_class_install_align(GstOcellusBaseClass* klass) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_ALIGN,
      g_param_spec_boolean("align", "Align",
                           "Hold each frame back until the result that describes it is computed, "
                           "and report the latency",
                           Properties{}.align,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_READY)));
}

void gst_ocellus_base_class_install_draw(GstOcellusBaseClass* klass, const gchar* help) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_DRAW,
      g_param_spec_boolean("draw", "Draw", help, Properties{}.draw, kMutableInPlaying));
}

void gst_ocellus_base_class_install_drawing(GstOcellusBaseClass* klass, OptionTable table,
                                            gconstpointer defaults,
                                            gpointer (*config)(GstOcellusBase*)) {
  klass->drawing = table;
  klass->drawing_config = config;
  gst_ocellus::install_table(G_OBJECT_CLASS(klass), PROP_DRAWING_OPTIONS, table, defaults,
                             static_cast<GParamFlags>(GST_PARAM_MUTABLE_PLAYING));
}

static gboolean save_model(GstOcellusBase* self, const gchar* path) {
  return stream_of(self)->save_model(path);
}

void gst_ocellus_base_class_install_learning(GstOcellusBaseClass* klass) {
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), PROP_SAVE_LOCATION,
      g_param_spec_string("save-location", "Save location",
                          "With learn=true: model file to write at the end of the stream, and when "
                          "the element stops (empty = none)",
                          "", kMutableInPlaying));
  /**
   * GstOcellusCortex::save-model:
   * @self: the element
   * @location: the file
   *
   * Writes what the element has learned to a model file, beside it and then renamed. The file has
   * what all pictures have taught that the element has begun to compute. The stream waits until the
   * file is written and loses no frame.
   *
   * Returns: %TRUE if the file is complete; otherwise a warning message has the reason.
   */
  g_signal_new_class_handler("save-model", G_TYPE_FROM_CLASS(klass),
                             static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                             G_CALLBACK(save_model), nullptr, nullptr, nullptr, G_TYPE_BOOLEAN, 1,
                             G_TYPE_STRING);
}

static bool has_classes(const OperatorDescription& description) {
  OperatorConfig config(description);
  config.set_input(kGstOcellusTrialSize, PixelFormat::kGray8);
  const auto info = config.info();
  return info && info->classes > 0;
}

void gst_ocellus_base_class_set_operator(GstOcellusBaseClass* klass,
                                         const OperatorDescription* description) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  // GObject clears these two functions in every derived class.
  object_class->set_property = gst_ocellus_base_set_property;
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
                        GST_TYPE_OCELLUS_MESSAGES, Properties{}.messages, kMutableInPlaying));
}

static void gst_ocellus_base_finalize(GObject* object) {
  delete stream_of(object);
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
  object_class->dispatch_properties_changed = gst_ocellus_base_dispatch_properties_changed;
  object_class->finalize = gst_ocellus_base_finalize;

  constexpr auto kReady = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  constexpr auto kPlaying = kMutableInPlaying;
  constexpr auto kRead = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  const Properties defaults;
  properties[PROP_CONFIG] = g_param_spec_string(
      "config", "Configuration",
      "JSON file of operator options, read when the element starts; a property that is set takes "
      "precedence over the file (empty = none)",
      "", kReady);
  properties[PROP_BACKEND] = g_param_spec_string(
      "backend", "Backend", "Backend to use: auto, cpu, cuda or cuda:N (N = device number)",
      defaults.backend.c_str(), kReady);
  properties[PROP_ACTIVE_BACKEND] = g_param_spec_string(
      "active-backend", "Active backend",
      "Backend in use: cpu or cuda:N; NULL before the caps are known", nullptr, kRead);
  properties[PROP_THREADS] = g_param_spec_int(
      "threads", "Threads", "Number of CPU threads per frame (0 = as many as the process may use)",
      0, kMaxWorkers, defaults.threads, kReady);
  properties[PROP_BUDGET] = g_param_spec_uint64(
      "budget", "Budget",
      "Maximum time from the arrival of a frame to its result, in nanoseconds (0 = no limit)", 0,
      G_MAXINT64, defaults.budget, kPlaying);
  properties[PROP_ON_MISS] = g_param_spec_enum(
      "on-miss", "On miss", "What to do with a frame whose result is not ready within the budget",
      GST_TYPE_OCELLUS_ON_MISS, defaults.on_miss, kPlaying);
  properties[PROP_ON_DEVICE_LOSS] =
      g_param_spec_enum("on-device-loss", "On device loss", "What to do when the device is lost",
                        GST_TYPE_OCELLUS_ON_DEVICE_LOSS, defaults.on_device_loss, kPlaying);
  properties[PROP_STATS] = g_param_spec_boxed(
      "stats", "Statistics",
      "Since the last start: frames, misses (missed budgets), dropped, copies (of pictures), "
      "and p50, p99 and max of the time from the arrival of a frame to its result, in "
      "nanoseconds; overflow (frames above 17179869183 ns, where p50 and p99 are 17179869184)",
      GST_TYPE_STRUCTURE, kRead);
  properties[PROP_POST_MESSAGES] = g_param_spec_boolean(
      "post-messages", "Post messages", "Post an element message for each frame with a result",
      defaults.post_messages, kPlaying);
  g_object_class_install_properties(object_class, PROP_LAST, properties);
  const EngineConfig engine;
  gst_ocellus::install_table(object_class, PROP_ENGINE_OPTIONS, EngineConfig::options(), &engine,
                             static_cast<GParamFlags>(GST_PARAM_MUTABLE_READY));

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
  auto* stream = new Stream(self, *GST_OCELLUS_BASE_CLASS(klass)->description);
  stream_of(self) = stream;
  if (g_object_class_find_property(static_cast<GObjectClass*>(klass), "align") == nullptr)
    stream->state.properties.align = false;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), FALSE);
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}

// ---- elements

static void gst_ocellus_element_class_init(gpointer klass, gpointer data) {
  const auto& element = *static_cast<const GstOcellusElement*>(data);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), element.long_name,
                                        element.classification, element.description,
                                        "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, find_operator(element.operator_name));
  if (element.class_init != nullptr) element.class_init(base_class);
}

gboolean gst_ocellus_element_register(GstPlugin* plugin, const GstOcellusElement& element) {
  const std::string name = element.operator_name;
  const std::string type_name =
      std::string("GstOcellus") + g_ascii_toupper(name[0]) + name.substr(1);
  GType type = g_type_from_name(type_name.c_str());
  if (type == 0) {
    GTypeInfo info{};
    info.class_size = sizeof(GstOcellusBaseClass);
    info.class_init = gst_ocellus_element_class_init;
    info.class_data = &element;
    info.instance_size = static_cast<guint16>(element.instance_size);
    info.instance_init = element.init;
    type = g_type_register_static(GST_TYPE_OCELLUS_BASE, type_name.c_str(), &info,
                                  static_cast<GTypeFlags>(0));
  }
  return gst_element_register(plugin, ("ocellus" + name).c_str(), GST_RANK_NONE, type);
}
