// What an element posts on the bus.
#pragma once

#include "base/gstocellusbase.h"
#include "ocellus/status.h"

namespace gst_ocellus {

void post_error(GstOcellusBase* self, const ocellus::Error& error);
/// A buffer that is not what the caps say.
void post_bad_buffer(GstOcellusBase* self, const ocellus::Error& error);
/// The same for a picture that came, which may lie on a lost device.
void post_bad_picture(GstOcellusBase* self, const ocellus::Error& error);

/// A frame that missed its budget, or that downstream would drop.
void post_qos(GstOcellusBase* self, GstBuffer* buffer, GstClockTimeDiff jitter, gdouble proportion);
/// The element message of a frame with a result, for the property `post-messages`.
void post_frame(GstOcellusBase* self, GstBuffer* buffer, GstClockTime arrival_to_result);

}  // namespace gst_ocellus
