// GstOcellusCellularNetwork: base class of the elements that run a cellular network on a video.
// They differ only in the operator.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_CELLULAR_NETWORK (gst_ocellus_cellular_network_get_type())
G_DECLARE_DERIVABLE_TYPE(GstOcellusCellularNetwork, gst_ocellus_cellular_network, GST,
                         OCELLUS_CELLULAR_NETWORK, GstOcellusBase)

G_END_DECLS

struct _GstOcellusCellularNetworkClass {
  GstOcellusBaseClass parent_class;
};
