#include "meta_reader.h"

#include <ocellus/gst/meta.h>

MetaReading read_meta_in_c(GstBuffer* buffer) {
  MetaReading reading = {FALSE, 0, 0, 0, GST_CLOCK_TIME_NONE, 0.0, 0.0, FALSE};
  const GstOcellusMeta* flow = gst_buffer_get_ocellus_meta(buffer, "flow");
  const GstOcellusPlane *u, *v;
  gint x, y, count = 0;
  gdouble du, dv;

  if (flow == NULL) return reading;
  u = gst_ocellus_meta_get_plane(flow, "u");
  v = gst_ocellus_meta_get_plane(flow, "v");
  if (u == NULL || v == NULL) return reading;
  reading.found = TRUE;
  reading.width = u->width;
  reading.height = u->height;
  reading.flags = flow->flags;
  reading.described_pts = flow->described_pts;
  for (y = u->y; y < u->y + u->height; ++y) {
    for (x = u->x; x < u->x + u->width; ++x) {
      if (!gst_ocellus_plane_get_value(u, x, y, &du)) continue;
      if (!gst_ocellus_plane_get_value(v, x, y, &dv)) continue;
      reading.mean_u += du;
      reading.mean_v += dv;
      ++count;
    }
  }
  if (count > 0) {
    reading.mean_u /= count;
    reading.mean_v /= count;
  }
  reading.outside_is_refused = !gst_ocellus_plane_get_value(u, u->x - 1, u->y, &du) &&
                               !gst_ocellus_plane_get_value(u, u->x, u->y + u->height, &du);
  return reading;
}

DigitsReading read_digits_in_c(GstBuffer* buffer) {
  DigitsReading reading = {FALSE, NULL, 0, 0};
  const GstOcellusMeta* digits = gst_buffer_get_ocellus_meta(buffer, "digits");
  gint x, y, width, height;
  guint i;

  if (digits == NULL) return reading;
  reading.found = TRUE;
  reading.string = digits->string;
  reading.count = digits->n_items;
  for (i = 0; i < digits->n_items; ++i) {
    if (!gst_ocellus_meta_get_box(digits, i, &x, &y, &width, &height)) continue;
    if (x >= 0 && y >= 0 && width > 0 && height > 0) ++reading.boxes_in_picture;
  }
  return reading;
}
