// GstOcellusCellularNetwork: what the elements share that put a cellular network on a video. Each
// of them says what templates run; the rest is here.
#pragma once

#include <vector>

#include "base/gstocellusbase.h"
#include "ocellus/cellular_network.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_CELLULAR_NETWORK (gst_ocellus_cellular_network_get_type())
G_DECLARE_DERIVABLE_TYPE(GstOcellusCellularNetwork, gst_ocellus_cellular_network, GST,
                         OCELLUS_CELLULAR_NETWORK, GstOcellusBase)

G_END_DECLS

/// What an element says of its network.
struct GstOcellusNetwork {
  ocellus::CellularNetworkConfig config;  ///< its stages
  std::vector<float> start_plane;         ///< what a stage may begin with
};

struct _GstOcellusCellularNetworkClass {
  GstOcellusBaseClass parent_class;

  /// The stages for pictures of this size, before the properties that all such elements have.
  /// Without a picture, at the start, the size is empty: nothing that depends on it is read.
  ocellus::Expected<void> (*describe_network)(GstOcellusCellularNetwork* self,
                                              ocellus::ImageSize size, GstOcellusNetwork* network);
};

/// Of the result; 0 = as the templates say.
gint gst_ocellus_cellular_network_get_levels(GstOcellusCellularNetwork* self);
/// Whether +1 stands for white.
bool gst_ocellus_cellular_network_white_is_one(GstOcellusCellularNetwork* self);

/// Reads a chain of templates into the network; an error names the property `template`.
ocellus::Expected<void> gst_ocellus_cellular_network_parse_chain(const char* chain,
                                                                 GstOcellusNetwork* network);
