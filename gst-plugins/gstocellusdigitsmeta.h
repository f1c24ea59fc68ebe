// The plugin's side of GstOcellusDigitsMeta: registers the type and copies the meta. Programs that
// read the meta use <ocellus/gst/digits_meta.h>.
#pragma once

#include "ocellus/gst/digits_meta.h"

GType gst_ocellus_digits_meta_api_get_type(void);
const GstMetaInfo* gst_ocellus_digits_meta_get_info(void);

/// Adds an empty meta. The public accessor does not return it until it has a source.
GstOcellusDigitsMeta* gst_buffer_add_ocellus_digits_meta(GstBuffer* buffer);

/// Frees the string. The meta is empty afterwards.
void gst_ocellus_digits_meta_clear(GstOcellusDigitsMeta* meta);
