#include "base/gstocellusanalytics.h"

#include <gst/analytics/analytics.h>

namespace gst_ocellus {

void add_analytics(GstBuffer* buffer, const AnalyticsItem& item) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) meta = gst_buffer_add_analytics_relation_meta(buffer);
  const bool has_class = item.name[0] != '\0';
  // Elements that draw or filter know the class of a detection as its type.
  const GQuark type = g_quark_from_string(has_class ? item.name : item.kind);
  GstAnalyticsODMtd detection;
  const bool detected = !item.box.empty() && gst_analytics_relation_meta_add_od_mtd(
                                                 meta, type, item.box.x, item.box.y, item.box.width,
                                                 item.box.height, item.confidence, &detection);
  if (!has_class) return;
  GstAnalyticsClsMtd classification;
  if (!gst_analytics_relation_meta_add_one_cls_mtd(meta, item.confidence, type, &classification) ||
      !detected)
    return;
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, detection.id,
                                           classification.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF,
                                           classification.id, detection.id);
}

}  // namespace gst_ocellus
