#include "gstocelluscellularnetwork.h"

#include "ocellus/halftone.h"

using ocellus::ChainConfig;
using ocellus::CnnConfig;
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

// ---- GObject

static void gst_ocellus_cellular_network_class_init(GstOcellusCellularNetworkClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  base_class->produces_video = TRUE;
  base_class->trial_size = gst_ocellus_cellular_network_trial_size;
  base_class->adapt = gst_ocellus_cellular_network_adapt;

  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_CELLULAR_NETWORK, static_cast<GstPluginAPIFlags>(0));
}

static void gst_ocellus_cellular_network_init(GstOcellusCellularNetwork*) {}
