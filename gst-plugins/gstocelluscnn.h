// The element ocelluscnn; see gstocelluscnn.cpp.
#pragma once

#include "gstocelluscellularnetwork.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_CNN (gst_ocellus_cnn_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusCnn, gst_ocellus_cnn, GST, OCELLUS_CNN, GstOcellusCellularNetwork)
GST_ELEMENT_REGISTER_DECLARE(ocelluscnn)

G_END_DECLS
