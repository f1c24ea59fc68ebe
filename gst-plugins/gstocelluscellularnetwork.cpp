#include "gstocelluscellularnetwork.h"

#include "ocellus/gst/cellular_network_meta.h"
#include "ocellus/halftone.h"

using ocellus::ChainConfig;
using ocellus::CnnConfig;
using ocellus::Expected;
using ocellus::HalftoneConfig;
using ocellus::OperatorConfig;

G_DEFINE_ABSTRACT_TYPE(GstOcellusCellularNetwork, gst_ocellus_cellular_network,
                       GST_TYPE_OCELLUS_BASE)

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
    // The meta has no tags, because it stays valid whatever is done to the picture later.
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
  // The first meta is the one of this element's pool. Metas of upstream elements are copied after
  // it.
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
  meta->passes = static_cast<guint>(record.passes);
  meta->changed = record.changed;
  meta->converged = record.converged;
  meta->finished = record.finished;
  meta->pts = static_cast<GstClockTime>(result.info.timestamp_ns);
  meta->compute_time = static_cast<GstClockTime>(result.info.compute_ns);
}

static void gst_ocellus_cellular_network_describe(GstOcellusBase*, GstBuffer* buffer,
                                                  GstStructure* message) {
  const GstOcellusCellularNetworkMeta* meta = meta_of(buffer);
  gst_structure_set(message, "sweeps", G_TYPE_UINT, meta->sweeps, "passes", G_TYPE_UINT,
                    meta->passes, "changed", G_TYPE_UINT, meta->changed, "converged",
                    G_TYPE_BOOLEAN, meta->converged, "finished", G_TYPE_BOOLEAN, meta->finished,
                    "compute-time", G_TYPE_UINT64, meta->compute_time, nullptr);
}

// ---- GObject

static void gst_ocellus_cellular_network_class_init(GstOcellusCellularNetworkClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  base_class->produces_video = TRUE;
  base_class->trial_size = gst_ocellus_cellular_network_trial_size;
  base_class->adapt = gst_ocellus_cellular_network_adapt;
  base_class->attach_meta = gst_ocellus_cellular_network_attach_meta;
  base_class->clear_meta = gst_ocellus_cellular_network_clear_meta;
  base_class->set_result = gst_ocellus_cellular_network_set_result;
  base_class->describe = gst_ocellus_cellular_network_describe;

  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_CELLULAR_NETWORK, static_cast<GstPluginAPIFlags>(0));
  // Readers find the meta by its name, so it is registered before the first buffer.
  gst_ocellus_cellular_network_meta_get_info();
}

static void gst_ocellus_cellular_network_init(GstOcellusCellularNetwork*) {}
