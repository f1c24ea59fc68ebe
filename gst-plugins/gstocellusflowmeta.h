// GstOcellusFlowMeta, the plugin's side: registration and filling in. Readers use
// <ocellus/gst/flow_meta.h>.
#pragma once

#include "ocellus/gst/flow_meta.h"

GType gst_ocellus_flow_meta_api_get_type(void);
const GstMetaInfo* gst_ocellus_flow_meta_get_info(void);

/// Adds an empty one, which the public accessor does not find until it has planes.
GstOcellusFlowMeta* gst_buffer_add_ocellus_flow_meta(GstBuffer* buffer);

/// Lets go of the planes; the meta is empty afterwards.
void gst_ocellus_flow_meta_clear(GstOcellusFlowMeta* meta);
