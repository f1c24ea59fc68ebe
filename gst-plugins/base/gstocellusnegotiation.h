// Negotiation of caps, latency and allocation with the neighbors of an element.
#pragma once

#include "base/gstocellusbase.h"

namespace gst_ocellus {

/// Returns FALSE after posting an error.
gboolean set_caps(GstOcellusBase* self, GstCaps* incaps);
/// Called before new caps: if the caps differ, pushes the frames that are held back or in flight.
void prepare_for_caps(GstOcellusBase* self, GstCaps* caps);

/// Adds the latency of this element to the latency of upstream.
gboolean answer_latency(GstOcellusBase* self, GstQuery* query);

gboolean propose_allocation(GstOcellusBase* self, GstQuery* query);
/// Removes all pools from the query: the parent class must not allocate output buffers. Pictures
/// come from upstream, and all other memory from the element's own pools.
void decide_allocation(GstQuery* query);

}  // namespace gst_ocellus
