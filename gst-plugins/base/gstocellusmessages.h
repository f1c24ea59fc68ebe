// Messages that an element posts on the bus.
#pragma once

#include "base/gstocellusbase.h"
#include "ocellus/status.h"

namespace gst_ocellus {

void post_error(GstOcellusBase* self, const ocellus::Error& error);
/// For a buffer that does not match the caps.
void post_bad_buffer(GstOcellusBase* self, const ocellus::Error& error);

/// Appends a structure, which the array takes, with the fields x, y, width and height of this box.
void append_with_box(GValue* array, GstStructure* values, const ocellus::Rect& box);

}  // namespace gst_ocellus
