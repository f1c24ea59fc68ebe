// Items of a record as metas of GStreamer's analytics library, which has them from 1.24 on.
#pragma once

#include <gst/gst.h>

#include "ocellus/frame.h"

namespace gst_ocellus {

struct AnalyticsItem {
  const gchar* kind = "";  ///< such as "digit"
  ocellus::Rect box;       ///< empty: the item is the whole picture
  const gchar* name = "";  ///< of its class; "": it has none
  gfloat confidence = 1.0f;
};

/// Adds an object detection if the item has a box, and a classification if it has a class. The
/// detection contains the classification. They go to the GstAnalyticsRelationMeta of the buffer,
/// which may be that of an element upstream. Without the library, it does nothing.
#ifdef OCELLUS_GST_ANALYTICS
void add_analytics(GstBuffer* buffer, const AnalyticsItem& item);
#else
inline void add_analytics(GstBuffer*, const AnalyticsItem&) {}
#endif

}  // namespace gst_ocellus
