#include "gstocelluscellularnetwork.h"

#include "ocellus/halftone.h"

using ocellus::ChainConfig;
using ocellus::CnnConfig;
using ocellus::HalftoneConfig;
using ocellus::OperatorConfig;

typedef enum {
  GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL,
  GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP,
} GstOcellusCellularNetworkChroma;

#define DEFAULT_CHROMA GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL

enum {
  PROP_0,
  PROP_CHROMA,
};

G_DEFINE_ABSTRACT_TYPE(GstOcellusCellularNetwork, gst_ocellus_cellular_network,
                       GST_TYPE_OCELLUS_BASE)

static GType gst_ocellus_cellular_network_chroma_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL, "Gray", "neutral"},
      {GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP, "The color of the input picture", "keep"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusCellularNetworkChroma", values);
  return type;
}

// ---- GstOcellusBase

// The file of the initial state must have the size of the pictures. Any error is found again with
// the configuration.
static ocellus::ImageSize gst_ocellus_cellular_network_trial_size(const OperatorConfig& config) {
  const CnnConfig* cnn = config.get_if<CnnConfig>();
  if (cnn == nullptr || cnn->initial.empty()) return kGstOcellusTrialSize;
  return ocellus::Cnn::read_initial_size(cnn->initial.c_str()).value_or(kGstOcellusTrialSize);
}

// Input and output have the same caps, so they have the same format and range.
static void gst_ocellus_cellular_network_adapt(GstOcellusBase*, OperatorConfig& config) {
  ChainConfig* chain = config.get_if<HalftoneConfig>();
  if (chain == nullptr) chain = config.get_if<CnnConfig>();
  chain->output_format = ocellus::luma_format(chain->format);
  chain->output_range = chain->input_range;
}

// ---- GObject

static void gst_ocellus_cellular_network_set_property(GObject* object, guint id,
                                                      const GValue* value, GParamSpec* pspec) {
  GstOcellusBase* base = GST_OCELLUS_BASE(object);
  if (!gst_ocellus_base_may_configure(base, pspec)) return;
  switch (id) {
    case PROP_CHROMA:
      gst_ocellus_base_set_keep_chroma(
          base, g_value_get_enum(value) == GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
}

static void gst_ocellus_cellular_network_get_property(GObject* object, guint id, GValue* value,
                                                      GParamSpec* pspec) {
  switch (id) {
    case PROP_CHROMA:
      g_value_set_enum(value, gst_ocellus_base_get_keep_chroma(GST_OCELLUS_BASE(object))
                                  ? GST_OCELLUS_CELLULAR_NETWORK_CHROMA_KEEP
                                  : GST_OCELLUS_CELLULAR_NETWORK_CHROMA_NEUTRAL);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
}

static void gst_ocellus_cellular_network_class_init(GstOcellusCellularNetworkClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  object_class->set_property = gst_ocellus_cellular_network_set_property;
  object_class->get_property = gst_ocellus_cellular_network_get_property;
  g_object_class_install_property(
      object_class, PROP_CHROMA,
      g_param_spec_enum("chroma", "Chroma", "Color of the output picture, if its format has color",
                        gst_ocellus_cellular_network_chroma_get_type(), DEFAULT_CHROMA,
                        static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                 GST_PARAM_MUTABLE_READY)));

  base_class->produces_video = TRUE;
  base_class->trial_size = gst_ocellus_cellular_network_trial_size;
  base_class->adapt = gst_ocellus_cellular_network_adapt;

  for (const GType type :
       {GST_TYPE_OCELLUS_CELLULAR_NETWORK, gst_ocellus_cellular_network_chroma_get_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}

static void gst_ocellus_cellular_network_init(GstOcellusCellularNetwork*) {}
