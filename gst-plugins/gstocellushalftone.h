// The element ocellushalftone; see gstocellushalftone.cpp.
#pragma once

#include "gstocelluscellularnetwork.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_HALFTONE (gst_ocellus_halftone_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusHalftone, gst_ocellus_halftone, GST, OCELLUS_HALFTONE,
                     GstOcellusCellularNetwork)
GST_ELEMENT_REGISTER_DECLARE(ocellushalftone)

G_END_DECLS
