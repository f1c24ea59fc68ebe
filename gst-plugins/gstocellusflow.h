// GstOcellusFlow: dense optical flow of a video, attached to the buffers as a meta.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_FLOW (gst_ocellus_flow_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusFlow, gst_ocellus_flow, GST, OCELLUS_FLOW, GstOcellusBase)

GST_ELEMENT_REGISTER_DECLARE(ocellusflow)

G_END_DECLS
