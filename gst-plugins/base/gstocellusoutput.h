// What goes out: a buffer of the element's own with the memory of a picture and a result.
#pragma once

#include "base/gstocellusbase.h"

namespace gst_ocellus {

/// Makes the outgoing buffer. Takes `picture`; `result` may be null. Null: an error has been
/// posted.
GstBuffer* wrap_output(GstOcellusBase* self, GstBuffer* picture, const GstOcellusResult* result);

}  // namespace gst_ocellus
