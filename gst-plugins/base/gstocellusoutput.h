// Output buffers: an empty buffer of the element gets the memory of a picture and a result.
#pragma once

#include "base/gstocellusbase.h"

namespace gst_ocellus {

/// Makes an output buffer. Takes `picture`; `result` may be null. Returns null after posting an
/// error.
GstBuffer* wrap_output(GstOcellusBase* self, GstBuffer* picture, const GstOcellusResult* result);

}  // namespace gst_ocellus
