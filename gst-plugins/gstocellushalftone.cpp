/**
 * SECTION:element-ocellushalftone
 * @title: ocellushalftone
 *
 * Turns every picture into black and white dots that look like it from afar, by a cellular neural
 * network: each cell takes the value that leaves the least error as an eye sees it, until no cell
 * wants to change, or the sweeps allowed are over.
 *
 * #GstOcellusHalftone:preset balances time and quality; #GstOcellusHalftone:template takes
 * another network instead: a template's name such as hlf5, the path of a file of templates
 * (*.ocellus), or a chain with "|" between them. With #GstOcellusCellularNetwork:warm-start a frame
 * begins with the dots of the one before: what does not move does not flicker.
 *
 * Luma is what becomes dots. What is black and what is white, in the picture that comes and in the
 * one that goes out, is in the caps' colorimetry: 16 and 235 in video of limited range, which I420
 * and NV12 are unless their caps say otherwise, and 0 and 255 in full range, which gray formats
 * are; in 16 bits 4096 and 60160, and 0 and 65535. Luma beyond that is as black or as white as can
 * be. Chroma becomes neutral, or is kept (#GstOcellusCellularNetwork:chroma).
 *
 * The picture goes out in a buffer of its own; frames that miss their budget go out as
 * #GstOcellusBase:on-miss says: late, not at all, with the newest dots there are, or as they came.
 * How many sweeps a frame took stands in its GstOcellusCellularNetworkMeta
 * (ocellus/gst/cellular_network_meta.h) and in the element message (#GstOcellusBase:post-messages).
 *
 * I420 and NV12 may come in memory:CUDAMemory, when the plugin was built for it and the backend is
 * a CUDA device: luma is read and written where it lies. The element offers the CUDA context in
 * which no copy is needed; pictures from another one are copied, which #GstOcellusBase:stats
 * counts.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocellushalftone
 * warm-start=true ! videoconvert ! autovideosink
 * ]| The camera in dots.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocellushalftone preset=fast
 * post-messages=true ! fakesink
 * ]| Add -m to see how many sweeps every frame took.
 */
#include "gstocellushalftone.h"

#include <string>

#include "ocellus/halftone.h"

using ocellus::Expected;
using ocellus::HalftonePreset;
using ocellus::Status;

typedef enum {
  GST_OCELLUS_HALFTONE_PRESET_QUALITY,
  GST_OCELLUS_HALFTONE_PRESET_FAST,
} GstOcellusHalftonePreset;

#define DEFAULT_PRESET GST_OCELLUS_HALFTONE_PRESET_QUALITY
#define DEFAULT_TEMPLATE ""

enum {
  PROP_0,
  PROP_PRESET,
  PROP_TEMPLATE,
};

namespace {

// The properties as they were set; under the object lock.
struct Settings {
  gint preset = DEFAULT_PRESET;
  std::string chain = DEFAULT_TEMPLATE;
};

}  // namespace

struct _GstOcellusHalftone {
  GstOcellusCellularNetwork parent_instance;

  Settings* settings;
};

G_DEFINE_TYPE(GstOcellusHalftone, gst_ocellus_halftone, GST_TYPE_OCELLUS_CELLULAR_NETWORK)
GST_ELEMENT_REGISTER_DEFINE(ocellushalftone, "ocellushalftone", GST_RANK_NONE,
                            GST_TYPE_OCELLUS_HALFTONE)

static GType gst_ocellus_halftone_preset_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_HALFTONE_PRESET_QUALITY, "The least error that an eye sees", "quality"},
      {GST_OCELLUS_HALFTONE_PRESET_FAST, "A little more error, for live video on few cores",
       "fast"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusHalftonePreset", values);
  return type;
}

static Settings get_settings(gpointer self) {
  GST_OBJECT_LOCK(self);
  Settings settings = *GST_OCELLUS_HALFTONE(self)->settings;
  GST_OBJECT_UNLOCK(self);
  return settings;
}

static Expected<void> gst_ocellus_halftone_describe_network(GstOcellusCellularNetwork* cells,
                                                            ocellus::ImageSize size,
                                                            GstOcellusNetwork* network) {
  const Settings settings = get_settings(cells);
  if (!settings.chain.empty()) {
    if (settings.preset != DEFAULT_PRESET) {
      return tl::unexpected(ocellus::make_error(
          Status::kInvalidArgument,
          "preset is set, but has no meaning with template \"%s\", which takes its place",
          settings.chain.c_str()));
    }
    return gst_ocellus_cellular_network_parse_chain(settings.chain.c_str(), network);
  }
  const gint levels = gst_ocellus_cellular_network_get_levels(cells);
  if (levels != 0 && levels != 2) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "levels is %d, but the presets are of two levels; set a template, such as hlf5", levels));
  }
  network->config = ocellus::halftone_config(
      size, settings.preset == GST_OCELLUS_HALFTONE_PRESET_FAST ? HalftonePreset::kFast
                                                                : HalftonePreset::kQuality);
  return {};
}

// ---- GObject

static void gst_ocellus_halftone_set_property(GObject* object, guint id, const GValue* value,
                                              GParamSpec* pspec) {
  if (!gst_ocellus_base_may_configure(GST_OCELLUS_BASE(object), pspec)) return;
  GST_OBJECT_LOCK(object);
  Settings& settings = *GST_OCELLUS_HALFTONE(object)->settings;
  switch (id) {
    case PROP_PRESET:
      settings.preset = g_value_get_enum(value);
      break;
    case PROP_TEMPLATE:
      settings.chain =
          g_value_get_string(value) != nullptr ? g_value_get_string(value) : DEFAULT_TEMPLATE;
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_ocellus_halftone_get_property(GObject* object, guint id, GValue* value,
                                              GParamSpec* pspec) {
  const Settings settings = get_settings(object);
  switch (id) {
    case PROP_PRESET:
      g_value_set_enum(value, settings.preset);
      break;
    case PROP_TEMPLATE:
      g_value_set_string(value, settings.chain.c_str());
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
}

static void gst_ocellus_halftone_finalize(GObject* object) {
  delete GST_OCELLUS_HALFTONE(object)->settings;
  G_OBJECT_CLASS(gst_ocellus_halftone_parent_class)->finalize(object);
}

static void gst_ocellus_halftone_class_init(GstOcellusHalftoneClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_ocellus_halftone_set_property;
  object_class->get_property = gst_ocellus_halftone_get_property;
  object_class->finalize = gst_ocellus_halftone_finalize;

  constexpr auto kFlags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      object_class, PROP_PRESET,
      g_param_spec_enum("preset", "Preset", "Balance of quality and speed (no template)",
                        gst_ocellus_halftone_preset_get_type(), DEFAULT_PRESET, kFlags));
  g_object_class_install_property(
      object_class, PROP_TEMPLATE,
      g_param_spec_string(
          "template", "Template",
          "Instead of a preset: a template's name, a file of templates (*.ocellus), or "
          "a chain of them with | between them",
          DEFAULT_TEMPLATE, kFlags));

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus halftone", "Filter/Effect/Video",
      "Turns pictures into black and white dots that look alike from afar", "The Ocellus authors");

  GST_OCELLUS_BASE_CLASS(klass)->message_name = "ocellushalftone";
  GST_OCELLUS_CELLULAR_NETWORK_CLASS(klass)->describe_network =
      gst_ocellus_halftone_describe_network;
  gst_type_mark_as_plugin_api(gst_ocellus_halftone_preset_get_type(),
                              static_cast<GstPluginAPIFlags>(0));
}

static void gst_ocellus_halftone_init(GstOcellusHalftone* self) {
  self->settings = new Settings;
}
