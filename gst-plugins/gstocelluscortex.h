// ocelluscortex: see gstocelluscortex.cpp.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_CORTEX (gst_ocellus_cortex_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusCortex, gst_ocellus_cortex, GST, OCELLUS_CORTEX, GstOcellusBase)
GST_ELEMENT_REGISTER_DECLARE(ocelluscortex)

G_END_DECLS
