// The list of elements.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/// Registers every element; `plugin` is NULL in a program that links them in. FALSE: one was
/// refused.
gboolean gst_ocellus_register_elements(GstPlugin* plugin);

G_END_DECLS
