// Messages that an element posts on the bus.
#pragma once

#include "base/gstocellusbase.h"
#include "ocellus/status.h"

namespace gst_ocellus {

void post_error(GstOcellusBase* self, const ocellus::Error& error);
/// For a buffer that does not match the caps.
void post_bad_buffer(GstOcellusBase* self, const ocellus::Error& error);
/// As `post_bad_buffer`, for an input picture, which may be in the memory of a lost device.
void post_bad_picture(GstOcellusBase* self, const ocellus::Error& error);

/// Appends a structure, which the array takes, with the fields x, y, width and height of this box.
void append_with_box(GValue* array, GstStructure* values, const ocellus::Rect& box);

/// For a frame that missed its budget or that downstream would drop.
void post_qos(GstOcellusBase* self, GstBuffer* buffer, GstClockTimeDiff jitter, gdouble proportion);
/// Posts the element message of a frame with a result, if the property `post-messages` or
/// `messages` asks for it.
void post_frame(GstOcellusBase* self, GstBuffer* buffer, GstClockTime arrival_to_result);

}  // namespace gst_ocellus
