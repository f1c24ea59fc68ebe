// Caps, latency and allocation: what an element agrees on with its neighbors.
#pragma once

#include "base/gstocellusbase.h"

namespace gst_ocellus {

/// False: an error has been posted.
gboolean set_caps(GstOcellusBase* self, GstCaps* incaps);
/// Before new caps: sends out what is held back or in flight, where the caps differ.
void prepare_for_caps(GstOcellusBase* self, GstCaps* caps);

/// Adds the element's own latency to that of upstream.
gboolean answer_latency(GstOcellusBase* self, GstQuery* query);

gboolean propose_allocation(GstOcellusBase* self, GstQuery* query);
/// The parent allocates nothing for the output: pictures are upstream's, and the rest comes from
/// the element's own pools.
void decide_allocation(GstQuery* query);

}  // namespace gst_ocellus
