// ocellusfilter: see gstocellusfilter.cpp.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_FILTER (gst_ocellus_filter_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusFilter, gst_ocellus_filter, GST, OCELLUS_FILTER, GstOcellusBase)
GST_ELEMENT_REGISTER_DECLARE(ocellusfilter)

G_END_DECLS
