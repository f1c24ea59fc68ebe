#include "gstocelluscellularnetwork.h"

#include <utility>

#include "ocellus/cell_templates.h"
#include "ocellus/gst/cellular_network_meta.h"

using ocellus::CellPolarity;
using ocellus::CellStage;
using ocellus::CellStart;
using ocellus::CellularNetwork;
using ocellus::CellularNetworkConfig;
using ocellus::Expected;
using ocellus::GrayRange;
using ocellus::ImageSize;
using ocellus::Status;

typedef enum {
  GST_OCELLUS_CELLULAR_NETWORK_START_TEMPLATE,
  GST_OCELLUS_CELLULAR_NETWORK_START_INPUT,
  GST_OCELLUS_CELLULAR_NETWORK_START_NOISE,
  GST_OCELLUS_CELLULAR_NETWORK_START_BLUE_NOISE,
  GST_OCELLUS_CELLULAR_NETWORK_START_ERROR_DIFFUSION,
} GstOcellusCellularNetworkStart;

typedef enum {
  GST_OCELLUS_CELLULAR_NETWORK_POLARITY_BLACK,
  GST_OCELLUS_CELLULAR_NETWORK_POLARITY_WHITE,
} GstOcellusCellularNetworkPolarity;

typedef enum {
  GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL,
  GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP,
} GstOcellusCellularNetworkChroma;

#define DEFAULT_START GST_OCELLUS_CELLULAR_NETWORK_START_TEMPLATE
#define DEFAULT_SEED 1
#define DEFAULT_WARM_START FALSE
#define DEFAULT_LEVELS 0
#define DEFAULT_MAX_SWEEPS 0
#define DEFAULT_POLARITY GST_OCELLUS_CELLULAR_NETWORK_POLARITY_BLACK
#define DEFAULT_CHROMA GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL

enum {
  PROP_0,
  PROP_START,
  PROP_SEED,
  PROP_WARM_START,
  PROP_LEVELS,
  PROP_MAX_SWEEPS,
  PROP_POLARITY,
  PROP_CHROMA,
};

namespace {

// The properties as they were set; under the object lock.
struct Settings {
  gint start = DEFAULT_START;
  guint seed = DEFAULT_SEED;
  gboolean warm_start = DEFAULT_WARM_START;
  gint levels = DEFAULT_LEVELS;
  gint max_sweeps = DEFAULT_MAX_SWEEPS;
  gint polarity = DEFAULT_POLARITY;
  gint chroma = DEFAULT_CHROMA;
};

struct Stream {
  Settings settings;

  GstOcellusNetwork network;
};

}  // namespace

typedef struct {
  Stream* stream;
} GstOcellusCellularNetworkPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE(GstOcellusCellularNetwork, gst_ocellus_cellular_network,
                                    GST_TYPE_OCELLUS_BASE)

static Stream* stream_of(gpointer self) {
  return static_cast<GstOcellusCellularNetworkPrivate*>(
             gst_ocellus_cellular_network_get_instance_private(GST_OCELLUS_CELLULAR_NETWORK(self)))
      ->stream;
}

static GType gst_ocellus_cellular_network_start_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_CELLULAR_NETWORK_START_TEMPLATE, "As the first template says", "template"},
      {GST_OCELLUS_CELLULAR_NETWORK_START_INPUT, "The picture", "input"},
      {GST_OCELLUS_CELLULAR_NETWORK_START_NOISE, "White noise, see seed", "noise"},
      {GST_OCELLUS_CELLULAR_NETWORK_START_BLUE_NOISE, "The picture plus a blue-noise mask",
       "blue-noise"},
      {GST_OCELLUS_CELLULAR_NETWORK_START_ERROR_DIFFUSION, "The picture, error-diffused",
       "error-diffusion"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusCellularNetworkStart", values);
  return type;
}

static GType gst_ocellus_cellular_network_polarity_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_CELLULAR_NETWORK_POLARITY_BLACK, "+1 is black, as in the literature", "black"},
      {GST_OCELLUS_CELLULAR_NETWORK_POLARITY_WHITE, "+1 is white", "white"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusCellularNetworkPolarity", values);
  return type;
}

static GType gst_ocellus_cellular_network_chroma_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL, "Without color", "neutral"},
      {GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP, "The color of the picture that came", "keep"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusCellularNetworkChroma", values);
  return type;
}

static Settings get_settings(gpointer self) {
  GST_OBJECT_LOCK(self);
  const Settings settings = stream_of(self)->settings;
  GST_OBJECT_UNLOCK(self);
  return settings;
}

gint gst_ocellus_cellular_network_get_levels(GstOcellusCellularNetwork* self) {
  return get_settings(self).levels;
}

bool gst_ocellus_cellular_network_white_is_one(GstOcellusCellularNetwork* self) {
  return get_settings(self).polarity == GST_OCELLUS_CELLULAR_NETWORK_POLARITY_WHITE;
}

Expected<void> gst_ocellus_cellular_network_parse_chain(const char* chain,
                                                        GstOcellusNetwork* network) {
  const Expected<int> stages = ocellus::parse_cell_chain(chain, network->config.stages);
  if (!stages) {
    return tl::unexpected(
        ocellus::make_error(stages.error().status, "template: %s", stages.error().text));
  }
  network->config.stage_count = *stages;
  return {};
}

static CellStart library_start(gint start) {
  switch (start) {
    case GST_OCELLUS_CELLULAR_NETWORK_START_NOISE:
      return CellStart::kNoise;
    case GST_OCELLUS_CELLULAR_NETWORK_START_BLUE_NOISE:
      return CellStart::kBlueNoise;
    case GST_OCELLUS_CELLULAR_NETWORK_START_ERROR_DIFFUSION:
      return CellStart::kErrorDiffusion;
    default:
      return CellStart::kInput;
  }
}

// The network, but for the pictures' format. `size` is empty before the caps are known.
static Expected<void> make_network(GstOcellusCellularNetwork* self, ImageSize size,
                                   GstOcellusNetwork* network) {
  const Settings settings = get_settings(self);
  if (settings.seed != DEFAULT_SEED && settings.start != GST_OCELLUS_CELLULAR_NETWORK_START_NOISE) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument, "seed is set, but has a meaning only with start=noise"));
  }
  if (settings.levels == 1) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument, "levels is 1; it must be 2 to 256, or 0 for the template's"));
  }
  *network = {};
  if (Expected<void> described =
          GST_OCELLUS_CELLULAR_NETWORK_GET_CLASS(self)->describe_network(self, size, network);
      !described)
    return described;
  CellularNetworkConfig& config = network->config;
  config.warm_start = settings.warm_start != FALSE;
  config.polarity = gst_ocellus_cellular_network_white_is_one(self) ? CellPolarity::kWhiteIsOne
                                                                    : CellPolarity::kBlackIsOne;
  for (int i = 0; i < config.stage_count; ++i) {
    CellStage& stage = config.stages[static_cast<std::size_t>(i)];
    if (settings.levels > 0) stage.levels = settings.levels;
    if (settings.max_sweeps > 0) stage.max_sweeps = settings.max_sweeps;
  }
  CellStage& first = config.stages.front();
  if (settings.start != GST_OCELLUS_CELLULAR_NETWORK_START_TEMPLATE) {
    if (first.start == CellStart::kPlane) {
      return tl::unexpected(ocellus::make_error(
          Status::kInvalidArgument,
          "start is set, but initial says what the first stage begins with; leave one of the two"));
    }
    first.start = library_start(settings.start);
    first.seed = settings.seed;
  }
  return {};
}

// What the caps call black and white, in units of 8-bit gray. Without a word about it GStreamer
// takes gray formats to be of full range, the others of limited range.
static GrayRange gray_range(const GstVideoInfo& video) {
  gint offset[GST_VIDEO_MAX_COMPONENTS] = {};
  gint scale[GST_VIDEO_MAX_COMPONENTS] = {};
  gst_video_color_range_offsets(gst_ocellus_color_range(video), video.finfo, offset, scale);
  const float unit =
      gst_ocellus_pixel_format(video) == ocellus::PixelFormat::kGray16 ? 257.0f : 1.0f;
  return {static_cast<float>(offset[0]) / unit, static_cast<float>(offset[0] + scale[0]) / unit};
}

// ---- GstOcellusBase

static Expected<void> gst_ocellus_cellular_network_check_settings(GstOcellusBase* base) {
  return make_network(GST_OCELLUS_CELLULAR_NETWORK(base), {}, &stream_of(base)->network);
}

static Expected<GstOcellusOperator> gst_ocellus_cellular_network_configure(
    GstOcellusBase* base, const GstVideoInfo& video) {
  GstOcellusNetwork& network = stream_of(base)->network;
  const ImageSize size{GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)};
  if (const Expected<void> made = make_network(GST_OCELLUS_CELLULAR_NETWORK(base), size, &network);
      !made)
    return tl::unexpected(made.error());
  CellularNetworkConfig& config = network.config;
  config.size = size;
  config.format = gst_ocellus_pixel_format(video);
  config.output_format = config.format;
  // The caps are those of the source pad, too.
  config.input_range = config.output_range = gray_range(video);
  // Frames are waited for one by one: a second one in flight would only need more memory.
  config.depth = 1;
  const Expected<ocellus::OperatorInfo> info = CellularNetwork::info_for(config);
  if (!info) return tl::unexpected(info.error());
  return GstOcellusOperator{
      *info,
      [&config](const ocellus::EngineInfo& engine) {
        return CellularNetwork::footprint(engine, config);
      },
      [&config](ocellus::Engine& engine) -> Expected<ocellus::OperatorHandle> {
        Expected<CellularNetwork> made = CellularNetwork::create(engine, config);
        if (!made) return tl::unexpected(made.error());
        return ocellus::OperatorHandle(std::move(*made));
      }};
}

// ---- the meta

static void clear(GstOcellusCellularNetworkMeta* cells) {
  const GstMeta header = cells->meta;
  *cells = {};
  cells->meta = header;
  cells->version = GST_OCELLUS_CELLULAR_NETWORK_META_VERSION;
  cells->pts = GST_CLOCK_TIME_NONE;
}

static gboolean gst_ocellus_cellular_network_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  clear(reinterpret_cast<GstOcellusCellularNetworkMeta*>(meta));
  return TRUE;
}

static GType gst_ocellus_cellular_network_meta_api_get_type(void) {
  static gsize type = 0;
  if (g_once_init_enter(&type)) {
    // It tells how the picture came about, whatever is done to it later.
    static const gchar* tags[] = {nullptr};
    g_once_init_leave(&type,
                      gst_meta_api_type_register(GST_OCELLUS_CELLULAR_NETWORK_META_API_NAME, tags));
  }
  return type;
}

static const GstMetaInfo* gst_ocellus_cellular_network_meta_get_info(void);

static gboolean gst_ocellus_cellular_network_meta_transform(GstBuffer* target, GstMeta* meta,
                                                            GstBuffer*, GQuark type, gpointer) {
  const auto* from = reinterpret_cast<GstOcellusCellularNetworkMeta*>(meta);
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (from->source == 0) return TRUE;
  auto* to = reinterpret_cast<GstOcellusCellularNetworkMeta*>(
      gst_buffer_add_meta(target, gst_ocellus_cellular_network_meta_get_info(), nullptr));
  if (to == nullptr) return FALSE;
  const GstMeta header = to->meta;
  *to = *from;
  to->meta = header;
  return TRUE;
}

static const GstMetaInfo* gst_ocellus_cellular_network_meta_get_info(void) {
  static const GstMetaInfo* const info = gst_meta_register(
      gst_ocellus_cellular_network_meta_api_get_type(), "GstOcellusCellularNetworkMeta",
      sizeof(GstOcellusCellularNetworkMeta), gst_ocellus_cellular_network_meta_init, nullptr,
      gst_ocellus_cellular_network_meta_transform);
  return info;
}

static GstOcellusCellularNetworkMeta* meta_of(GstBuffer* buffer) {
  // The pool's own is the first; those of elements further up were copied after it.
  return reinterpret_cast<GstOcellusCellularNetworkMeta*>(
      gst_buffer_get_meta(buffer, gst_ocellus_cellular_network_meta_api_get_type()));
}

static void gst_ocellus_cellular_network_attach_meta(GstBuffer* buffer) {
  gst_buffer_add_meta(buffer, gst_ocellus_cellular_network_meta_get_info(), nullptr);
}

static void gst_ocellus_cellular_network_clear_meta(GstBuffer* buffer) {
  clear(meta_of(buffer));
}

static void gst_ocellus_cellular_network_set_result(GstOcellusBase* base, GstBuffer* buffer,
                                                    const GstOcellusResult& result) {
  GstOcellusCellularNetworkMeta* meta = meta_of(buffer);
  meta->source = g_quark_from_string(GST_OBJECT_NAME(base));
  guint flags = GST_OCELLUS_CELLULAR_NETWORK_FLAG_NONE;
  if (result.reused) flags |= GST_OCELLUS_CELLULAR_NETWORK_FLAG_REUSED;
  if (result.late) flags |= GST_OCELLUS_CELLULAR_NETWORK_FLAG_LATE;
  meta->flags = flags;
  const auto& record =
      *reinterpret_cast<const ocellus::CellularNetworkRecord*>(result.record.data());
  meta->sweeps = static_cast<guint>(record.sweeps);
  meta->changed = record.changed;
  meta->converged = record.converged;
  meta->pts = static_cast<GstClockTime>(result.info.timestamp_ns);
  meta->compute_time = static_cast<GstClockTime>(result.info.compute_ns);
}

static void gst_ocellus_cellular_network_describe(GstOcellusBase*, GstBuffer* buffer,
                                                  GstStructure* message) {
  const GstOcellusCellularNetworkMeta* meta = meta_of(buffer);
  gst_structure_set(message, "sweeps", G_TYPE_UINT, meta->sweeps, "changed", G_TYPE_UINT,
                    meta->changed, "converged", G_TYPE_BOOLEAN, meta->converged, "compute-time",
                    G_TYPE_UINT64, meta->compute_time, nullptr);
}

// ---- GObject

static void gst_ocellus_cellular_network_set_property(GObject* object, guint id,
                                                      const GValue* value, GParamSpec* pspec) {
  if (!gst_ocellus_base_may_configure(GST_OCELLUS_BASE(object), pspec)) return;
  GST_OBJECT_LOCK(object);
  Settings& settings = stream_of(object)->settings;
  switch (id) {
    case PROP_START:
      settings.start = g_value_get_enum(value);
      break;
    case PROP_SEED:
      settings.seed = g_value_get_uint(value);
      break;
    case PROP_WARM_START:
      settings.warm_start = g_value_get_boolean(value);
      break;
    case PROP_LEVELS:
      settings.levels = g_value_get_int(value);
      break;
    case PROP_MAX_SWEEPS:
      settings.max_sweeps = g_value_get_int(value);
      break;
    case PROP_POLARITY:
      settings.polarity = g_value_get_enum(value);
      break;
    case PROP_CHROMA:
      settings.chroma = g_value_get_enum(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
  if (id == PROP_CHROMA) {
    gst_ocellus_base_set_keep_chroma(
        GST_OCELLUS_BASE(object),
        g_value_get_enum(value) == GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP);
  }
}

static void gst_ocellus_cellular_network_get_property(GObject* object, guint id, GValue* value,
                                                      GParamSpec* pspec) {
  const Settings settings = get_settings(object);
  switch (id) {
    case PROP_START:
      g_value_set_enum(value, settings.start);
      break;
    case PROP_SEED:
      g_value_set_uint(value, settings.seed);
      break;
    case PROP_WARM_START:
      g_value_set_boolean(value, settings.warm_start);
      break;
    case PROP_LEVELS:
      g_value_set_int(value, settings.levels);
      break;
    case PROP_MAX_SWEEPS:
      g_value_set_int(value, settings.max_sweeps);
      break;
    case PROP_POLARITY:
      g_value_set_enum(value, settings.polarity);
      break;
    case PROP_CHROMA:
      g_value_set_enum(value, settings.chroma);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
}

static void gst_ocellus_cellular_network_finalize(GObject* object) {
  delete stream_of(object);
  G_OBJECT_CLASS(gst_ocellus_cellular_network_parent_class)->finalize(object);
}

static void gst_ocellus_cellular_network_class_init(GstOcellusCellularNetworkClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  object_class->set_property = gst_ocellus_cellular_network_set_property;
  object_class->get_property = gst_ocellus_cellular_network_get_property;
  object_class->finalize = gst_ocellus_cellular_network_finalize;

  constexpr auto kFlags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  const auto install = [object_class](guint id, GParamSpec* pspec) {
    g_object_class_install_property(object_class, id, pspec);
  };
  install(PROP_START,
          g_param_spec_enum("start", "Start", "What the first stage begins with",
                            gst_ocellus_cellular_network_start_get_type(), DEFAULT_START, kFlags));
  install(PROP_SEED, g_param_spec_uint("seed", "Seed", "Seed of the noise (start=noise)", 0,
                                       G_MAXUINT, DEFAULT_SEED, kFlags));
  install(PROP_WARM_START,
          g_param_spec_boolean(
              "warm-start", "Warm start",
              "Begin each frame but the first with the result of the one before, until a flush, a "
              "discontinuity or new caps; for halftones, and others whose cells follow the frame "
              "from any start",
              DEFAULT_WARM_START, kFlags));
  install(PROP_LEVELS, g_param_spec_int("levels", "Levels",
                                        "Gray levels of the result, 2 to 256 (0 = the template's)",
                                        0, 256, DEFAULT_LEVELS, kFlags));
  install(PROP_MAX_SWEEPS,
          g_param_spec_int("max-sweeps", "Max sweeps",
                           "Sweeps of each stage; it ends earlier at its fixed point (0 = the "
                           "template's)",
                           0, 100000, DEFAULT_MAX_SWEEPS, kFlags));
  install(PROP_POLARITY,
          g_param_spec_enum("polarity", "Polarity", "What +1 of the templates stands for",
                            gst_ocellus_cellular_network_polarity_get_type(), DEFAULT_POLARITY,
                            kFlags));
  install(PROP_CHROMA, g_param_spec_enum("chroma", "Chroma", "The color of the result (I420, NV12)",
                                         gst_ocellus_cellular_network_chroma_get_type(),
                                         DEFAULT_CHROMA, kFlags));

  base_class->produces_video = TRUE;
  base_class->check_settings = gst_ocellus_cellular_network_check_settings;
  base_class->configure = gst_ocellus_cellular_network_configure;
  base_class->attach_meta = gst_ocellus_cellular_network_attach_meta;
  base_class->clear_meta = gst_ocellus_cellular_network_clear_meta;
  base_class->set_result = gst_ocellus_cellular_network_set_result;
  base_class->describe = gst_ocellus_cellular_network_describe;

  for (const GType type :
       {GST_TYPE_OCELLUS_CELLULAR_NETWORK, gst_ocellus_cellular_network_start_get_type(),
        gst_ocellus_cellular_network_polarity_get_type(),
        gst_ocellus_cellular_network_chroma_get_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  // Readers find the meta by its name; it must be there before the first buffer is.
  gst_ocellus_cellular_network_meta_get_info();
}

static void gst_ocellus_cellular_network_init(GstOcellusCellularNetwork* self) {
  static_cast<GstOcellusCellularNetworkPrivate*>(
      gst_ocellus_cellular_network_get_instance_private(self))
      ->stream = new Stream;
}
