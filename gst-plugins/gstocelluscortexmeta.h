// The plugin's side of GstOcellusCortexMeta: registers the type and copies the meta. Programs that
// read the meta use <ocellus/gst/cortex_meta.h>.
#pragma once

#include "ocellus/gst/cortex_meta.h"

GType gst_ocellus_cortex_meta_api_get_type(void);
const GstMetaInfo* gst_ocellus_cortex_meta_get_info(void);

/// Adds an empty meta. The public accessor does not return it until it has a source.
GstOcellusCortexMeta* gst_buffer_add_ocellus_cortex_meta(GstBuffer* buffer);

/// The meta is empty afterwards.
void gst_ocellus_cortex_meta_clear(GstOcellusCortexMeta* meta);
