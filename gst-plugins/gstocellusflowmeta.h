// The plugin's side of GstOcellusFlowMeta: registers the type and fills in the meta. Programs that
// read the meta use <ocellus/gst/flow_meta.h>.
#pragma once

#include "ocellus/gst/flow_meta.h"

GType gst_ocellus_flow_meta_api_get_type(void);
const GstMetaInfo* gst_ocellus_flow_meta_get_info(void);

/// Adds an empty meta. The public accessor does not return it until it has planes.
GstOcellusFlowMeta* gst_buffer_add_ocellus_flow_meta(GstBuffer* buffer);

/// Releases the planes. The meta is empty afterwards.
void gst_ocellus_flow_meta_clear(GstOcellusFlowMeta* meta);
